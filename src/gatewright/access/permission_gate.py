"""Gate `permission` (MGP §3): refuses calls to barred servers, and to tools needing permissions that the server or the caller lacks.

A permission is a server's and a caller's. What the server was denied, or waits for, nobody can have done by it.

A caller holds what grants give it, or what is said of the caller itself: of whom a key, the configuration or a token says what
it holds, holds that and nothing else. Of whom neither says anything, it may use what the server was approved for. Where nothing was
ever decided about the server, somebody has to say it.

The operator holds everything that the server has: whoever owns the process could do with
the server whatever it does here. What a dangerous tool needs on top of that is asked by `confirm`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from gatewright.access.grants import EVERYBODY, Grants
from gatewright.call import Back, Call, Caller, Refusal, Tool
from gatewright.command_text import to_type
from gatewright.identity.rights import rights_of
from gatewright.mcp.wire.permissions import STANDARD, Value
from gatewright.schemas.lookalikes import spellings
from gatewright.servers.definition_digest import definition_digest
from gatewright.standing import Standing

__all__ = ["Permission"]

_NOBODY: Mapping[str, Refusal] = {}


class Permission:
    """Gate `permission`. Writes what the tool needs into the fact `permissions_used`."""

    name = "permission"

    def __init__(
        self,
        grants: Grants,
        clock: Callable[[], float],
        *,
        barred: Mapping[str, Refusal] = _NOBODY,
        value: Callable[[str, str], Value | None] = lambda *_: None,
    ) -> None:
        """`clock` gives Unix seconds; `barred` says at any time why no call of a server may pass; `value`
        how a permission of a server stands."""
        self._grants = grants
        self._clock = clock
        self._barred = barred
        self._value = value

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        # Most tools need nothing, and mostly no server is barred.
        if tool is not None and not tool.security.permissions_required and not self._barred:
            return call
        return self.judge(call) or call

    def stands(self, call: Call) -> Standing | None:
        """Nothing is said of a tool that needs nothing, as long as no server is barred."""
        tool = call.tool
        if tool is None or tool.security.permissions_required or self._barred:
            return None
        return Standing(((partial(len, self._barred), 0),))

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not pass as things stand now; None where it may."""
        tool = call.tool or call.task_tool
        # Whatever the call needs: the whole server lacks what it declared to need.
        if self._barred and call.target is not None and call.target.server in self._barred:
            return self._barred[call.target.server]
        if tool is None or not tool.security.permissions_required:
            return None
        return self._of_the_server(tool) or self._of_the_caller(call, tool)

    def _of_the_server(self, tool: Tool) -> Refusal | None:
        server, needs = tool.target.server, tool.security.permissions_required
        values = {name: self._value(server, name) for name in needs}
        denied = [name for name, value in values.items() if value == "denied"]
        if denied:
            return Refusal(
                "permission_denied",
                f"{tool.exposed} needs the permission {', '.join(denied)}, which the server {server} does not "
                f"have: an operator gives it with `{to_type('server permit {}' + ' {}' * len(denied), server, *denied)}`",
                {"missing_permissions": denied},
            )
        waiting = [name for name, value in values.items() if value == "deferred"]
        if waiting:
            return Refusal(
                "permission_deferred",
                f"{tool.exposed} needs the permission {', '.join(waiting)}, on which an operator has not decided "
                f"yet for the server {server}. `{to_type('approve')}` shows what waits; "
                f"`{to_type('server permit {}' + ' {}' * len(waiting), server, *waiting)}` gives it",
                {"missing_permissions": waiting, "status": "pending_approval"},
            )
        return None

    def _of_the_caller(self, call: Call, tool: Tool) -> Refusal | None:
        missing = self.missing(call.caller, tool, call.requested)
        if not missing:
            call.facts["permissions_used"] = list(tool.security.permissions_required)
            return None
        where = f"{tool.target.server}/{tool.target.name}"
        options = " --permission {}" * len(missing)
        granted = to_type("grant add {} {}" + options, call.caller.id, where, *missing)
        return Refusal(
            "permission_denied",
            f"{tool.exposed} needs the permission {', '.join(missing)}, which {call.caller.id} does "
            f"not {'use here' if call.requested is not None else 'hold'}: an operator gives it with `{granted}`, or with a key",
            {"missing_permissions": missing},
        )

    def missing(
        self, caller: Caller, tool: Tool, requested: frozenset[str] | None = None
    ) -> list[str]:
        """What a tool needs and a caller does not hold, of what it wants to use; None is whatever it holds.
        What it wants and does not hold gives it nothing (decision C-47)."""
        needed = tool.security.permissions_required
        lacking = [] if caller.kind == "operator" else self._lacking(caller, tool)
        return [
            name
            for name in needed
            if name in lacking or (requested is not None and name not in requested)
        ]

    def held(self, caller: Caller) -> list[str]:
        """Every permission that a caller holds for one tool or another."""
        if caller.kind == "operator":
            return list(STANDARD)
        rights = rights_of(caller.user)
        now, names = self._clock(), {*spellings(caller.id), EVERYBODY}
        given = {
            name
            for grant in self._grants
            if grant.agent in names and grant.permission == "allow" and grant.holds(now)
            for name in grant.permissions
        }
        said = {name: rights.holds(name) for name in {*given, *rights.permissions}}
        return sorted(name for name, one in said.items() if one or (one is None and name in given))

    def _lacking(self, caller: Caller, tool: Tool) -> list[str]:
        target, definition = tool.target, tool.definition
        held = self._grants.permissions_of(
            caller.id,
            target.server,
            self._clock(),
            target.name,
            lambda: definition_digest(definition),
        )
        rights = rights_of(caller.user) if caller.user else None

        def holds(name: str) -> bool:
            said = None if rights is None else rights.holds(name)
            if said is not None:
                return said
            # A grant that names permissions is meant as all of them; without one the caller has what the server has.
            return name in held if held else self._value(target.server, name) == "approved"

        return [name for name in tool.security.permissions_required if not holds(name)]
