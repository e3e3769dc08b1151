"""Resolves which tool or server `tasks/*`, `completion/complete` and `resources/subscribe` concern, for the gates; checks a task's visibility.

Policy decides about it as about what it means: the tool whose call a task is, the server whose prompt is completed or whose
resource is followed. What spans servers (`tasks/list`, `logging/setLevel`) means none.
"""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import Call, Caller, Target, Tool
from gatewright.mcp.server.shown_rights import has_all_of
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.task_owners import MadeTasks
from gatewright.servers.task_screening import METHODS
from gatewright.servers.task_store import ServerTask

__all__ = ["FOLLOWED", "away", "completed", "led", "member_of", "sees", "sees_tool", "tool_of"]

FOLLOWED = frozenset({"resources/subscribe", "resources/unsubscribe"})


def led(call: Call, catalogue: Catalogue, made: MadeTasks, ended: Target | None) -> Call:
    """The call with what it means; as it is where it means nothing that there is for its caller. `ended` is what it
    unsubscribes from (`subscription_targets`)."""
    if call.method in METHODS:
        task = made.of(call)
        if task is None:
            return call
        tool = tool_of(catalogue, call.profile, task)
        facts = {**call.facts, "task_of": task.of}
        return replace(call, target=task.of, task_tool=tool, facts=facts)
    target = ended or _other(call, catalogue)
    return call if target is None else replace(call, target=target)


def _other(call: Call, catalogue: Catalogue) -> Target | None:
    if call.method == "completion/complete":
        return completed(call, catalogue)
    uri = call.params.get("uri")
    if call.method not in FOLLOWED or not isinstance(uri, str):
        return None
    return catalogue.resource(call.profile, uri, call.caller)


def member_of(call: Call) -> str:
    """The member of the reference of a `completion/complete` that names what is completed."""
    return "name" if call.params["ref"].get("type") == "ref/prompt" else "uri"


def completed(call: Call, catalogue: Catalogue) -> Target | None:
    """Whose argument is to be completed, of the servers that the caller may see."""
    ref = call.params.get("ref")
    if not isinstance(ref, dict):
        return None
    member = member_of(call)
    name = ref.get(member)
    if not isinstance(name, str):
        return None
    if member == "name":
        target = catalogue.prompt(call.profile, name)
    else:
        # `ref/resource` names a template or a URI (MCP, completion).
        target = catalogue.template(call.profile, name, call.caller)
    if target is None or target.server not in catalogue.servers(call.profile, call.caller):
        return None
    return target


def away(call: Call, catalogue: Catalogue) -> str | None:
    """The server that is not there and that a completion or the word of a resource is of, or may turn out to be of."""
    ref = call.params.get("ref") if call.method == "completion/complete" else call.params
    if not isinstance(ref, dict):
        return None
    of_prompt = ref.get("type") == "ref/prompt"
    name = ref.get("name" if of_prompt else "uri")
    if not isinstance(name, str):
        return None
    if not of_prompt:
        return catalogue.away(call.profile, name, call.caller)
    found = catalogue.prompt(call.profile, name, there=False)
    if found is None or catalogue.prompt(call.profile, name) is not None:
        return None
    return found.server if found.server in catalogue.servers(call.profile, call.caller) else None


def tool_of(catalogue: Catalogue, profile: str, task: ServerTask) -> Tool | None:
    """The tool whose call a task is, as it is offered now."""
    if not task.tool or not catalogue.knows(profile):
        return None
    return catalogue.tool(profile, f"{task.server}/{task.tool}")


def sees(catalogue: Catalogue, caller: Caller, profile: str, task: ServerTask) -> bool:
    """Whether somebody may know of a task of its own: who has the limits with which it was asked for, and may use the tool, or the
    server where it is not known of which one it is."""
    if not has_all_of(caller, task.maker):
        return False
    if not catalogue.knows(profile):
        return False
    if task.tool:
        return sees_tool(catalogue, caller, profile, task.of)
    return task.server in catalogue.servers(profile, caller)


def sees_tool(catalogue: Catalogue, caller: Caller, profile: str, target: Target) -> bool:
    """Whether somebody may have what a tool gave: who may use it, also while its server is away or does not list it any more."""
    tool = catalogue.tool(profile, f"{target.server}/{target.name}")
    if tool is not None:
        return catalogue.sight.tool(caller, tool)
    view = catalogue.view(profile)
    # Where its server lists it all the same, it is the profile that does not show it.
    if target.server not in (*view.servers, *view.gone) or catalogue.present(target) is not None:
        return False
    return catalogue.sight.unlisted(caller, target)
