"""`Grants`: in-memory access table (MGP §5) of configured and issued grants (`Layer`): `decide` by agent, server, tool; the no-grant refusal.

A grant on a tool beats a grant on its server, which beats the server's default policy. Grants have two
origins: the configuration, which is what somebody intends, and those that operators issue while a
gateway runs. Within a level the words of both, for the agent itself and for everybody (`*`), count
alike, and deny beats allow: what a file forbids nobody can issue, and what it allows can be taken away.

An expired grant does not count, from the moment it names. An `allow` that was given for one definition
of a tool does not count for another one. In each origin one key holds one word: a later grant for the
same agent, server and tool replaces the earlier one.

A name that is written in another Unicode form is the same name.

Everything is in memory and every question is at most eight look-ups (of names that are not ASCII, eight more), so a decision costs the same
with ten grants and with a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Literal

import msgspec

from gatewright.call import Call, Refusal
from gatewright.command_text import to_type
from gatewright.schemas.lookalikes import barred_as, spellings
from gatewright.standing import Rest, attribute

__all__ = [
    "EVERYBODY",
    "Decision",
    "Digest",
    "Grant",
    "Grants",
    "Key",
    "Layer",
    "Permission",
    "Policy",
    "Source",
    "granting",
    "is_about",
    "no_grant",
]

EVERYBODY = "*"
"""The agent that means all agents. Only configuration and operators may use it."""

Permission = Literal["allow", "deny"]
Policy = Literal["opt-in", "opt-out"]
Source = Literal["tool_grant", "server_grant", "default_policy"]

Key = tuple[str, str, str | None]
"""Agent, server and tool; None for the whole server."""

Digest = Callable[[], str]
"""The digest of a tool's present definition, asked for only where a grant names one. May raise `ValueError`
for a definition that has none."""


class Grant(msgspec.Struct, frozen=True):
    """One entry of the access table, allow or deny. Without `tool` it covers the whole server. Times are Unix seconds."""

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
    tool_digest: str | None = None
    """Of the definition that an `allow` was given for (`servers.definition_digest`); None for any."""

    @property
    def key(self) -> Key:
        """What one origin has at most one word about."""
        return self.agent, self.server, self.tool

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
    outdated: bool = False
    """A grant of the tool does not count because the tool is not what it was given for."""


_DEFAULTS: Mapping[Policy, Decision] = {
    "opt-in": Decision("deny", "default_policy"),
    "opt-out": Decision("allow", "default_policy"),
}


class Layer:
    """The grants of one origin. Not for several threads at once."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._table: dict[Key, Grant] = {}
        self._forms: dict[Key, dict[Key, None]] = {}
        """Of agents that are not ASCII: the key with the agent in one form → those that there are."""
        self.ends: list[tuple[float, int, Key]] = []
        """When grants end, a heap; the number keeps keys uncompared."""
        self._numbers = count()
        self.changes = 1
        """What `version` says where nothing has ended meanwhile."""
        for grant in grants:
            self._put(grant)

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._table.values()))

    def __len__(self) -> int:
        return len(self._table)

    def get(self, key: Key, now: float) -> Grant | None:
        """The word for this key, if it holds at Unix second `now`."""
        found = self._table.get(key)
        return found if found is not None and found.holds(now) else None

    def denies(self, agent: str, server: str, tool: str | None, now: float) -> Iterator[Grant]:
        """The denies that hold at Unix second `now` for an agent, a token's subject as well, because of another spelling of it."""
        form = barred_as(agent)
        if agent.isascii() and not self._forms:
            return
        other = (form, server, tool)
        for key in dict.fromkeys((other, *self._forms.get(other, ()))):
            found = self.get(key, now) if key[0] != agent else None
            if found is not None and found.permission == "deny":
                yield found

    def put(self, grant: Grant) -> None:
        """Put one word in, in place of the one with the same key. Raises `ValueError` for one without
        a name."""
        if not grant.agent or not grant.server or grant.tool == "":
            raise ValueError("a grant names an agent and a server, and no empty tool")
        self._put(grant)
        self.changes += 1

    def remove(self, key: Key) -> Grant | None:
        """Take one word out and return it; None where there was none."""
        gone = self._table.pop(key, None)
        if gone is not None:
            self._gone(key)
            self.changes += 1
        return gone

    def replace(self, grants: Iterable[Grant]) -> None:
        """From now on these are all. Read again without another word among them they change nothing: what was decided holds."""
        before, self._table, self._forms, self.ends = self._table, {}, {}, []
        for grant in grants:
            self._put(grant)
        if self._table != before:
            self.changes += 1

    def version(self, now: float) -> int:
        """A number that changes with every change, expiry included. Grants that have expired by Unix
        second `now` leave the layer here."""
        while self.ends and self.ends[0][0] <= now:
            known = self._table.get(key := heappop(self.ends)[2])
            # The heap has ends of grants that were replaced since; only what has really ended goes.
            if known is not None and not known.holds(now):
                del self._table[key]
                self._gone(key)
                self.changes += 1
        return self.changes

    def _put(self, grant: Grant) -> None:
        key = grant.key
        self._table[key] = grant
        if form := _form_of(key):
            self._forms.setdefault(form, {})[key] = None
        if grant.expires_at is None:
            return
        heappush(self.ends, (grant.expires_at, next(self._numbers), key))
        if len(self.ends) > 2 * len(self._table) + 64:  # mostly ends of grants since replaced
            self.ends = [
                (each.expires_at, next(self._numbers), key)
                for key, each in self._table.items()
                if each.expires_at is not None
            ]
            heapify(self.ends)

    def _gone(self, key: Key) -> None:
        form = _form_of(key)
        known = self._forms.get(form) if form else None
        if form and known:
            known.pop(key, None)
            if not known:
                del self._forms[form]


def _form_of(key: Key) -> Key | None:
    """The key with the agent in one form, where it is not ASCII."""
    agent, server, tool = key
    return None if agent.isascii() else (barred_as(agent), server, tool)


class Grants:
    """The table: what one configuration says, and what was issued. Not for several threads at once."""

    def __init__(
        self,
        grants: Iterable[Grant] = (),
        defaults: Mapping[str, Policy] | None = None,
        issued: Layer | None = None,
    ) -> None:
        """`defaults` names each server's policy; a server without one is `opt-in`. `issued` is shared
        with whoever changes it, and with the tables of other configurations.

        Two grants for one key in `grants`: deny stays, between equals the later.
        """
        kept: dict[Key, Grant] = {}
        for grant in grants:
            known = kept.get(grant.key)
            if known is None or grant.permission in {known.permission, "deny"}:
                kept[grant.key] = grant
        self._intended = Layer(kept.values())
        self._issued = Layer() if issued is None else issued
        self._defaults = dict(defaults or {})

    def __iter__(self) -> Iterator[Grant]:
        yield from self._intended
        yield from self._issued

    def decide(
        self, agent: str, server: str, tool: str, now: float, digest: Digest | None = None
    ) -> Decision:
        """May `agent` call `tool`, which is of this digest, on `server` at Unix second `now`?"""
        words, outdated = self._level(agent, server, tool, now, digest)
        if not words:  # MGP §5.3: tool before server before default
            words, _ = self._level(agent, server, None, now)
        if not words:
            found = _DEFAULTS[self._defaults.get(server, "opt-in")]
            return msgspec.structs.replace(found, outdated=True) if outdated else found
        word = next((one for one in words if one.permission == "deny"), words[0])
        return Decision(
            word.permission,
            word.entry_type,
            word.granted_by,
            word.granted_at,
            word.expires_at,
            outdated,
        )

    def permissions_of(
        self,
        agent: str,
        server: str,
        now: float,
        tool: str | None = None,
        digest: Digest | None = None,
    ) -> frozenset[str]:
        """The permissions that go with the grants of `agent` on `server`, and on `tool` if named.

        A level on which deny holds brings none.
        """
        levels = [self._level(agent, server, None, now)[0]]
        if tool is not None:
            levels.append(self._level(agent, server, tool, now, digest)[0])
        return frozenset(
            name
            for words in levels
            if all(word.permission == "allow" for word in words)
            for word in words
            for name in word.permissions
        )

    def version(self, now: float) -> int:
        """A number that changes with every change of the table, expiry included.

        What was decided under one version holds as long as the version does.
        """
        one, other = self._intended, self._issued
        if one.ends or other.ends:  # both only grow, so the sum repeats for no two states
            return one.version(now) + other.version(now)
        return one.changes + other.changes  # nothing ends: asked with every call

    def rests(self, clock: Callable[[], float]) -> tuple[Rest, ...]:
        """What a decision of now rests on; `clock` gives Unix seconds."""
        layers = self._intended, self._issued
        changes = tuple(attribute(one, "changes") for one in layers)
        if not any(one.ends for one in layers):  # a grant that ends is a change when it comes
            return changes
        version = self.version(clock())
        return (lambda: self.version(clock()) == version, True), *changes

    def _level(
        self, agent: str, server: str, tool: str | None, now: float, digest: Digest | None = None
    ) -> tuple[list[Grant], bool]:
        """The words of one level, the closest first, and whether one is left out because it was given
        for another definition of the tool."""
        words: list[Grant] = []
        outdated = False
        # The first is the one that is shown as the source: the agent's own before everybody's, issued before configured.
        for name in (*spellings(agent), EVERYBODY):
            for layer in (self._issued, self._intended):
                word = layer.get((name, server, tool), now)
                if word is None:
                    continue
                if _fits(word, digest):
                    words.append(word)
                else:
                    outdated = True
        for layer in (self._issued, self._intended):
            words.extend(layer.denies(agent, server, tool, now))
        return words, outdated


def is_about(grant: Grant, agent: str) -> bool:
    """Whether a grant is asked about where `agent` calls: one for everybody, for it in whatever Unicode form, or a deny that names the
    subject of its token in another."""
    if grant.agent == EVERYBODY or grant.agent in spellings(agent):
        return True
    return grant.permission == "deny" and barred_as(grant.agent) == barred_as(agent)


def _fits(grant: Grant, digest: Digest | None) -> bool:
    """What takes something away holds for every definition."""
    if grant.tool_digest is None or grant.permission == "deny":
        return True
    try:
        return digest is not None and digest() == grant.tool_digest
    except ValueError:  # a definition that cannot be read is not the one
        return False


def no_grant(call: Call) -> Refusal:
    """What a caller hears who may not use what it calls, and also one who calls what there is not, where it could not know
    that: nothing in it tells the one from the other."""
    what = "tool" if call.kind == "tool" else call.kind
    name = call.name[:100] or call.method[:100]
    return Refusal(
        "access_denied",
        f"{call.caller.id} may not use the {what} {name}: it needs a grant from the operator, `{granting(call)}`",
    )


def granting(call: Call) -> str:
    """The command that grants what was called, by the name that the caller knows. Only tools have one that says whose they are."""
    if call.kind != "tool":
        return to_type("grant add {} SERVER", call.caller.id)
    return to_type("grant add {} {}", call.caller.id, call.name[:100])
