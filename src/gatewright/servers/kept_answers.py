"""`KeptAnswers`: whether what a tool, prompt, resource, task or server gave a caller is kept back, because a grant was taken back since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gatewright.call import KERNEL, Caller, Target
from gatewright.mcp.server.kept_answers import About
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.declared_methods import declaring
from gatewright.servers.server_set import ServerSet
from gatewright.servers.task_store import ServerTask
from gatewright.servers.task_subject import sees_tool

__all__ = ["KeptAnswers", "Tasks"]


class Tasks(Protocol):
    """Knows tasks that servers made (`MadeTasks`)."""

    def known(self, id: str) -> ServerTask | None:
        """The task of this id, whoever's it is."""


class KeptAnswers:
    """Those of all callers. `fleet` are the servers that serve now."""

    def __init__(self, fleet: Callable[[], ServerSet], tasks: Tasks) -> None:
        self._fleet = fleet
        self._tasks = tasks
        self.own: Callable[[str], About | None] = lambda _: None
        """What a task of the gateway itself is of, by its id; None of others."""

    def meant(self, caller: Caller, profile: str, about: About) -> About:
        """The same with the tool that is meant now; of a task and of a server's own method what those are of."""
        fleet = self._fleet()
        catalogue = fleet.catalogue
        if about.target is not None or not about.name or not catalogue.knows(profile):
            return about
        if about.kind == "tool":
            return about._replace(target=_target(catalogue, profile, about))
        if about.kind == "task":
            return self._task(caller, profile, about)
        if about.kind == "method":
            visible = catalogue.servers(profile, caller)
            having = declaring(fleet.specs, visible, about.name, about.inner or None)
            return About("server", having[0]) if len(having) == 1 else about
        return about

    def withheld(self, caller: Caller, profile: str, about: About) -> bool:
        """Whether it is. What is not offered just now is judged by what it was; of what nobody knows any more, nothing is handed out."""
        about = self.meant(caller, profile, about)
        judge = _JUDGES.get(about.kind)
        if judge is None or not (about.name or about.target):
            return False
        catalogue = self._fleet().catalogue
        return not (catalogue.knows(profile) and judge(catalogue, caller, profile, about))

    def _task(self, caller: Caller, profile: str, about: About) -> About:
        own = self.own(about.name)
        if own is not None:
            return self.meant(caller, profile, own)
        made = self._tasks.known(about.name)
        if made is None:
            return about
        return About("tool", "", target=made.of) if made.tool else About("server", made.server)


def _target(catalogue: Catalogue, profile: str, about: About) -> Target | None:
    tool = catalogue.tool(profile, about.name)
    if tool is None:
        return catalogue.view(profile).missing.get(about.name)
    if tool.target.server == KERNEL and about.inner:
        return _target(catalogue, profile, About("tool", about.inner))
    return tool.target


def _tool(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    outer = catalogue.tool(profile, about.name) if about.inner else None
    through = outer is not None and outer.target.server == KERNEL
    if about.target is None or (
        outer is not None and through and not catalogue.sight.tool(caller, outer)
    ):
        return False
    return sees_tool(catalogue, caller, profile, about.target)


def _prompt(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    found = catalogue.prompt(profile, about.name, there=False)
    return found is not None and catalogue.sight.server(caller, found.server)


def _resource(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    return _read(catalogue, caller, profile, about, catalogue.resource(profile, about.name, caller))


def _template(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    return _read(catalogue, caller, profile, about, catalogue.template(profile, about.name, caller))


def _read(
    catalogue: Catalogue, caller: Caller, profile: str, about: About, found: Target | None
) -> bool:
    if found is None:
        return catalogue.away(profile, about.name, caller) is not None
    sight = catalogue.sight
    whole = about.kind == "template"  # whose values are completed: no resource of it is named
    return sight.server(caller, found.server) and (whole or sight.resource(caller, found))


def _server(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    return about.name in catalogue.servers(profile, caller)  # which makes no view for it


def _nobodys(*_: object) -> bool:
    """A task that nobody knows."""
    return False


_JUDGES: Mapping[str, Callable[[Catalogue, Caller, str, About], bool]] = {
    "tool": _tool,
    "prompt": _prompt,
    "resource": _resource,
    "template": _template,
    "server": _server,
    "task": _nobodys,
}
