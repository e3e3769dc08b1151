"""Method `mgp/discovery/list` (MGP §15.2): lists servers with state and tools as the caller may see them, with more for operators.

A server that is not connected yet is described by its configuration (§15.3). Only servers that exist for
the caller are listed, and of their tools only those that the caller may see.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.identity.rights import administers
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import State
from gatewright.transport.slices import in_slices

__all__ = ["Discovery"]

_SHOWN = 100
"""So many tools that nobody sees are named; a server may list any number."""


class Discovery:
    """`standing` gives a server's configuration, state and last hello by its id. `reason` says why it is
    not connected, `permissions` what it asked for and how that stands; only operators are told either."""

    def __init__(
        self,
        catalogue: Catalogue,
        standing: Callable[[str], tuple[ServerSpec, State, Hello] | None],
        reason: Callable[[str], str],
        permissions: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        self._catalogue = catalogue
        self._reason = reason
        self._permissions = permissions
        self._standing = standing

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one `mgp/discovery/list`."""
        mgp = call.client.mgp
        if mgp is None or "discovery" not in mgp.extensions:
            return Failure("method_not_found", f"Method not found: {call.method}")
        wanted = call.params.get("filter") or {}
        flaw = _flaw(wanted)
        if flaw:
            return Failure("invalid_params", flaw)
        return Answer(jsonrpc.encode({"servers": await in_slices(self._entries(call, wanted))}))

    def _entries(
        self, call: Call, wanted: Mapping[str, Any]
    ) -> Generator[None, None, list[dict[str, Any]]]:
        tools, found = (yield from self._tools(call)), []
        for server in self._servers(call):
            standing = self._standing(server)
            if standing is not None and _fits(standing, wanted):
                found.append(self._entry(call, tools.get(server, []), *standing))
                yield
        return found

    def _tools(self, call: Call) -> Generator[None, None, dict[str, list[str]]]:
        """The tools that the caller may see, by server; a step for each, and one pass for all servers."""
        may, every = self._catalogue.sight.tool, _reads_all(call)
        found: dict[str, list[str]] = {}
        for item in self._catalogue.view(call.profile).items("tools/list"):
            yield
            if item.tool is not None and (every or may(call.caller, item.tool)):
                found.setdefault(item.server, []).append(item.tool.exposed)
        return found

    def _servers(self, call: Call) -> Sequence[str]:
        """Those that exist for the caller; all of them for one that may read the whole registry."""
        if _reads_all(call):
            return self._catalogue.view(call.profile).servers
        return self._catalogue.servers(call.profile, call.caller)

    def _entry(
        self, call: Call, tools: list[str], spec: ServerSpec, state: State, hello: Hello
    ) -> dict[str, Any]:
        entry: dict[str, Any] = {"id": spec.id, "status": state, "tools": tools}
        version, extensions = _mgp(spec, hello)
        entry["mgp_version"] = version  # null for who speaks plain MCP
        entry["extensions"] = list(extensions)
        entry["trust_level"] = spec.trust_level or "standard"
        if spec.created_by:
            entry["created_by"] = spec.created_by
        if call.caller.kind == "operator" and (reason := self._reason(spec.id)):
            entry["reason"] = reason
        if call.caller.kind == "operator" and (found := self._permissions(spec.id)):
            entry["permissions"] = dict(found)
        if call.caller.kind == "operator":
            # Operators only: an agent that hears of a held back tool could ask its user to accept it (0042).
            entry |= self._unseen(spec.id)
        return entry

    def _unseen(self, server: str) -> dict[str, Any]:
        """The tools that the server lists and nobody sees: how many, and the first of them with why."""
        shelf, why = self._catalogue.shelf(server), self._catalogue.sight.held
        held = [(tool.target.name, why(tool)) for tool in shelf.tools]
        found = {"held_back": [one for one in held if one[1]], "left_out": shelf.left_out}
        return {
            name: {
                "count": len(some),
                "tools": [{"name": tool, "why": said} for tool, said in some[:_SHOWN]],
            }
            for name, some in found.items()
            if some
        }


def _reads_all(call: Call) -> bool:
    """Whether the caller was given the right to read all registrations (ggen's `AdminRead`)."""
    return bool(call.caller.user) and administers(call.caller, "read")


def _mgp(spec: ServerSpec, hello: Hello) -> tuple[str | None, tuple[str, ...]]:
    if hello.mgp is not None:
        return hello.mgp.version, hello.mgp.extensions
    if spec.face is not None and not hello.revision:
        return spec.face.version, spec.face.extensions
    return None, ()


def _fits(standing: tuple[ServerSpec, State, Hello], wanted: Mapping[str, Any]) -> bool:
    spec, state, hello = standing
    extensions = _mgp(spec, hello)[1]
    if not set(wanted.get("extensions", ())) <= set(extensions):
        return False
    if not set(wanted.get("permissions", ())) <= {*spec.permissions, *spec.asked}:
        return False
    return bool(wanted.get("status", state) == state)


def _flaw(wanted: Any) -> str:
    if not isinstance(wanted, dict):
        return "params.filter must be an object"
    for name in ("extensions", "permissions"):
        found = wanted.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            return f"params.filter.{name} must be an array of strings"
    if not isinstance(wanted.get("status", ""), str):
        return "params.filter.status must be a string"
    return ""
