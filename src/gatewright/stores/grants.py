"""The access table (MGP §5): who may use which server and tool, and why.

A grant on a tool beats a grant on its server, which beats the server's default policy. Within a
level the words for the agent itself and for everybody (`*`) count alike, and deny beats allow.
An expired grant does not count, from the moment it names. One key holds one word: a later grant
for the same agent, server and tool replaces the earlier one.

Everything is in memory and every question is at most four look-ups, so a decision costs the same
with ten grants and with a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Literal

import msgspec

__all__ = ["EVERYBODY", "Decision", "Grant", "Grants", "Permission", "Policy", "Source"]

EVERYBODY = "*"
"""The agent that means all agents. Only configuration and operators may use it."""

Permission = Literal["allow", "deny"]
Policy = Literal["opt-in", "opt-out"]
Source = Literal["tool_grant", "server_grant", "default_policy"]

_Key = tuple[str, str, str | None]


class Grant(msgspec.Struct, frozen=True):
    """One word of the operator. Without `tool` it covers the whole server. Times are Unix seconds."""

    agent: str
    server: str
    tool: str | None = None
    permission: Permission = "allow"
    granted_by: str = "config"
    granted_at: float = 0.0
    expires_at: float | None = None
    justification: str = ""
    permissions: tuple[str, ...] = ()
    """Permissions (MGP §3) that an `allow` brings with it, canonical names."""

    @property
    def entry_type(self) -> Literal["tool_grant", "server_grant"]:
        """The name of the level in MGP §5.3."""
        return "server_grant" if self.tool is None else "tool_grant"

    def holds(self, now: float) -> bool:
        """Whether the grant counts at Unix second `now`."""
        return self.expires_at is None or now < self.expires_at


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What the table says, in the words of `mgp/access/query` (MGP §5.4)."""

    permission: Permission
    source: Source
    granted_by: str | None = None
    granted_at: float | None = None
    expires_at: float | None = None


_DEFAULTS: Mapping[Policy, Decision] = {
    "opt-in": Decision("deny", "default_policy"),
    "opt-out": Decision("allow", "default_policy"),
}


class Grants:
    """The table. Not for several threads at once."""

    def __init__(
        self, grants: Iterable[Grant] = (), defaults: Mapping[str, Policy] | None = None
    ) -> None:
        """`defaults` names each server's policy; a server without one is `opt-in`.

        Two grants for one key in `grants`: deny stays, between equals the later.
        """
        self._table: dict[_Key, Grant] = {}
        self._defaults = dict(defaults or {})
        self._ends: list[tuple[float, int, _Key]] = []  # a heap; the number keeps keys uncompared
        self._numbers = count()
        self._version = 1
        for grant in grants:
            known = self._table.get(_key(grant))
            if known is None or grant.permission in {known.permission, "deny"}:
                self._put(grant)

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._table.values()))

    def __len__(self) -> int:
        return len(self._table)

    def decide(self, agent: str, server: str, tool: str, now: float) -> Decision:
        """May `agent` call `tool` on `server` at Unix second `now`?"""
        found = self._word(agent, server, tool, now)
        if found is None:
            found = self._word(agent, server, None, now)
        if found is None:
            return _DEFAULTS[self._defaults.get(server, "opt-in")]
        return Decision(
            found.permission,
            found.entry_type,
            found.granted_by,
            found.granted_at,
            found.expires_at,
        )

    def permissions_of(
        self, agent: str, server: str, now: float, tool: str | None = None
    ) -> frozenset[str]:
        """The permissions that go with the grants of `agent` on `server`, and on `tool` if named.

        A level on which deny holds brings none.
        """
        given = self._permissions(agent, server, None, now)
        return given if tool is None else given | self._permissions(agent, server, tool, now)

    def grant(self, grant: Grant, *, may_name_everybody: bool = False) -> None:
        """Put one word into the table, in place of the one with the same key.

        Raises `ValueError` for a grant to everybody unless `may_name_everybody`, and for one
        without a name.
        """
        if not grant.agent or not grant.server or grant.tool == "":
            raise ValueError("a grant names an agent and a server, and no empty tool")
        if grant.agent == EVERYBODY and not may_name_everybody:
            raise ValueError("only configuration and operators may grant to everybody (*)")
        self._put(grant)
        self._version += 1

    def revoke(self, agent: str, server: str, tool: str | None = None) -> Grant | None:
        """Take one word out of the table and return it; None where there was none."""
        gone = self._table.pop((agent, server, tool), None)
        if gone is not None:
            self._version += 1
        return gone

    def set_default(self, server: str, policy: Policy) -> None:
        """Set the policy of `server` for agents without a grant."""
        self._defaults[server] = policy
        self._version += 1

    def version(self, now: float) -> int:
        """A number that changes with every change of the table, expiry included.

        What was decided under one version holds as long as the version does. Grants that have
        expired by Unix second `now` leave the table here.
        """
        while self._ends and self._ends[0][0] <= now:
            known = self._table.get(key := heappop(self._ends)[2])
            if known is not None and not known.holds(now):
                del self._table[key]
                self._version += 1
        return self._version

    def _put(self, grant: Grant) -> None:
        key = _key(grant)
        self._table[key] = grant
        if grant.expires_at is None:
            return
        heappush(self._ends, (grant.expires_at, next(self._numbers), key))
        if len(self._ends) > 2 * len(self._table) + 64:  # mostly ends of grants since replaced
            self._ends = [
                (each.expires_at, next(self._numbers), key)
                for key, each in self._table.items()
                if each.expires_at is not None
            ]
            heapify(self._ends)

    def _word(self, agent: str, server: str, tool: str | None, now: float) -> Grant | None:
        """What one level says: the deny of the two that hold, or the agent's own, or everybody's."""
        own = self._table.get((agent, server, tool))
        if own is not None and not own.holds(now):
            own = None
        if own is not None and own.permission == "deny":
            return own
        shared = self._table.get((EVERYBODY, server, tool))
        if shared is None or not shared.holds(now):
            return own
        return shared if own is None or shared.permission == "deny" else own

    def _permissions(self, agent: str, server: str, tool: str | None, now: float) -> frozenset[str]:
        word = self._word(agent, server, tool, now)
        if word is None or word.permission == "deny":
            return frozenset()
        held = (self._table.get((name, server, tool)) for name in (agent, EVERYBODY))
        return frozenset(
            name
            for grant in held
            if grant is not None and grant.holds(now)
            for name in grant.permissions
        )


def _key(grant: Grant) -> _Key:
    return grant.agent, grant.server, grant.tool
