"""`withheld`: whether what a tool, prompt, resource or server gave a caller is kept back now, because that one may not see it any more."""

from __future__ import annotations

from gatewright.call import KERNEL, Caller
from gatewright.mcp.server.kept_answers import About
from gatewright.servers.catalogue import Catalogue

__all__ = ["withheld"]


def withheld(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    """Whether it is. What is not offered just now is judged by its server; of what nobody knows any more, nothing is handed out."""
    judge = _JUDGES.get(about.kind)
    if judge is None or not about.name:
        return False
    return not (catalogue.knows(profile) and judge(catalogue, caller, profile, about))


def _tool(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    tool = catalogue.tool(profile, about.name)
    if tool is None:
        missing = catalogue.view(profile).missing.get(about.name)
        return missing is not None and catalogue.sight.server(caller, missing.server)
    if tool.target.server == KERNEL and about.inner:
        inner = About("tool", about.inner)
        return catalogue.sight.tool(caller, tool) and _tool(catalogue, caller, profile, inner)
    return catalogue.sight.tool(caller, tool)


def _prompt(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    found = catalogue.prompt(profile, about.name, there=False)
    return found is not None and catalogue.sight.server(caller, found.server)


def _resource(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    found = catalogue.resource(profile, about.name, caller)
    if found is None:
        return catalogue.away(profile, about.name, caller) is not None
    sight = catalogue.sight
    return sight.server(caller, found.server) and sight.resource(caller, found)


def _server(catalogue: Catalogue, caller: Caller, profile: str, about: About) -> bool:
    return about.name in catalogue.servers(profile, caller)


_JUDGES = {"tool": _tool, "prompt": _prompt, "resource": _resource, "server": _server}
