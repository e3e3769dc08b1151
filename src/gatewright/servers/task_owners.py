"""Registry of tasks that servers made: gives each an id, binds it to owner, server and connection, persists and bounds them.

To a server all callers are one client, so the gateway has to know whose a task is: an id is a handle and no credential (MCP
2025-11-25, tasks: whoever receives requests of several requestors must bind tasks to them). A task belongs to the caller for
whom it was made, at the endpoint and in the profile where it was made; another key of that caller with other limits has none of it
(`mcp.server.shown_rights`). Where callers have no name, it belongs to the session,
and without one whoever knows its id has it: that id is the gateway's own, long and random, so that no server's numbering locks
out another's or tells anybody anything.

What is not known here is nobody's. So it is kept (`Keep`) before its caller hears of it, and known again after a restart.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import msgspec

from gatewright.call import Call, Caller
from gatewright.mcp.server.shown_rights import has_all_of
from gatewright.servers.task_store import ServerTask
from gatewright.servers.top_counts import TopCounter

__all__ = [
    "EACH",
    "KEPT",
    "LASTS_S",
    "NOWHERE",
    "PREFIX",
    "Keep",
    "MadeTasks",
    "Owner",
    "has",
    "is_nameless",
    "owner_of",
    "place_of",
]

EACH = 1000
"""So many tasks of one caller: whoever makes more pushes out only its own."""
KEPT = 65_536
"""So many of all: then whoever has the most makes room."""
LASTS_S = 86_400.0
"""How long a task is known whose server does not say how long it keeps it; and the longest of all."""
PREFIX = "task_"

Owner = tuple[str, str, str]
"""Kind and id of a caller, and `place_of`."""


_NOBODYS: Owner = ("", "", "")


class Keep(Protocol):
    """Where tasks are remembered beyond this process."""

    def all(self) -> Iterable[ServerTask]:
        """What was kept, oldest first. Raises `OSError` or the like."""

    async def add(self, one: ServerTask) -> None:
        """Return once it is kept. Raises `OSError` or the like where it cannot be."""

    async def drop(self, ids: Collection[str]) -> None:
        """They are not needed any more."""


class _Nowhere:
    def all(self) -> Iterable[ServerTask]:
        """Nothing was kept."""
        return ()

    async def add(self, one: ServerTask) -> None:
        """Nothing outlives the process."""

    async def drop(self, ids: Collection[str]) -> None:
        """Nothing was kept."""


NOWHERE: Keep = _Nowhere()
"""Tasks end with this process."""


class MadeTasks:
    """One for all configurations of a gateway. `clock` gives Unix seconds, `random(n)` n bytes; what `keep` has is known."""

    def __init__(
        self,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
        keep: Keep = NOWHERE,
    ) -> None:
        self._clock = clock
        self._random = random
        self._keep = keep
        self.process = random(8).hex()
        """Of this run of the gateway: connections that end with it are called by it."""
        self._told_on: dict[str, int] = {}
        """Which connection or session each was told on, of those that were in this process."""
        self._made: OrderedDict[str, ServerTask] = OrderedDict()
        self._known: dict[tuple[str, str, str], ServerTask] = {}
        self._of_owner: dict[Owner, OrderedDict[str, None]] = {}
        self._who: TopCounter[tuple[str, str]] = TopCounter()
        self._places: dict[tuple[str, str], TopCounter[Owner]] = {}
        """How many each caller has, and where."""
        self._making = asyncio.Lock()
        """Two calls that a server answers with one name, at once: the second is judged when the first is known."""
        for one in keep.all():
            self._put(one)

    async def make(
        self,
        call: Call,
        server: str,
        connection: str,
        task: str,
        lasts_s: float | None,
        told_on: int = 0,
    ) -> ServerTask | None:
        """The task that a server says it made for a call, on the connection or session of the number `told_on`. None where it
        is another caller's already: nobody takes over what somebody has by being told the same name. Where that caller was told
        it on another, the server may have begun to count anew: then it is nobody's."""
        async with self._making:
            known = self._known.get((server, connection, task))
            if known is not None and known.ends > self._clock():
                return await self._same(known, call, told_on)
            if known is not None:
                await self.forget(known)
            lasts = LASTS_S if lasts_s is None else min(lasts_s, LASTS_S)
            made = ServerTask(
                PREFIX + self._random(16).hex(),
                server,
                connection,
                task,
                owner_of(call),
                "" if call.tool is None else call.tool.target.name,
                self._clock() + lasts,
                ServerTask.rights_of(call.caller),
            )
            # On disk before its caller hears of it (0041): after a restart nobody else may be told of it.
            await self._keep.add(made)
            gone = self._put(made)
            self._told_on[made.id] = told_on
        await self._keep.drop(gone)
        return made

    def of(self, call: Call) -> ServerTask | None:
        """The task that a call is about, where it is the caller's."""
        return self.named(call, call.params.get("taskId"))

    def named(self, call: Call, name: object) -> ServerTask | None:
        """The task that its caller calls by a name."""
        made = self._made.get(name) if isinstance(name, str) else None
        if made is None or not has(call, made) or made.ends <= self._clock():
            return None
        return made

    def known(self, id: str) -> ServerTask | None:
        """The task of this id, whoever's it is."""
        made = self._made.get(id)
        return made if made is not None and made.ends > self._clock() else None

    def all_of(self, call: Call) -> list[ServerTask]:
        """The caller's tasks, oldest first. None is told to whoever has neither name nor session."""
        owner, now = owner_of(call), self._clock()
        if is_nameless(call):
            return []
        every = (self._made[name] for name in self._of_owner.get(owner, ()))
        return [one for one in every if one.ends > now and has_all_of(call.caller, one.maker)]

    def heard(self, server: str, connection: str, task: object) -> ServerTask | None:
        """The task that a server speaks of, where it is known yet."""
        made = self._known.get((server, connection, task)) if isinstance(task, str) else None
        return made if made is not None and made.ends > self._clock() else None

    def any_at(self, server: str) -> bool:
        """Whether anybody has a task at a server. Linear in the tasks."""
        now = self._clock()
        return any(one.server == server and one.ends > now for one in self._made.values())

    async def forget(self, made: ServerTask) -> None:
        """It is not there any more."""
        if self._made.get(made.id) is made:
            self._remove(made.id)
            await self._keep.drop([made.id])

    async def _same(self, known: ServerTask, call: Call, told_on: int) -> ServerTask | None:
        """What a task is to a caller that is told its name, which is known. Callers without a name are not told apart: what one
        has, another is not given."""
        if has(call, known) and not is_nameless(call):
            self._told_on[known.id] = told_on
            return known
        anew = not told_on or self._told_on.get(known.id) != told_on
        if known.owner != _NOBODYS and anew:
            await self.forget(known)
            gone = self._put(msgspec.structs.replace(known, owner=_NOBODYS))  # its name stays taken
            await self._keep.drop(gone)
        return None

    def _put(self, made: ServerTask) -> list[str]:
        """Know one more; the ids of those that had to go."""
        mine = self._of_owner.setdefault(made.owner, OrderedDict())
        self._who.add(made.owner[:2])
        self._places.setdefault(made.owner[:2], TopCounter()).add(made.owner)
        self._made[made.id], self._known[made.key], mine[made.id] = made, made, None
        gone = []
        if len(mine) > EACH and not _is_nameless(made.owner):
            # Nameless callers without a session are not bounded so: one of them would push out what another has.
            gone.append(next(iter(mine)))
        elif len(self._made) > KEPT:
            gone.append(self._of_the_greediest())
        for name in gone:
            self._remove(name)
        return gone

    def _of_the_greediest(self) -> str:
        """The oldest task of whoever has the most, of all its sessions and doors together: where there are too many of all,
        nobody pushes out those of somebody who has fewer."""
        owner = self._places[self._who.first()].first()
        return next(iter(self._of_owner[owner]))

    def _remove(self, name: str) -> None:
        made = self._made.pop(name, None)
        if made is None:
            return
        if self._known.get(made.key) is made:
            del self._known[made.key]
        self._told_on.pop(name, None)
        who = made.owner[:2]
        self._who.remove(who)
        self._places[who].remove(made.owner)
        if not self._places[who]:
            del self._places[who]
        mine = self._of_owner[made.owner]
        del mine[name]
        if not mine:
            del self._of_owner[made.owner]


def has(call: Call, made: ServerTask) -> bool:
    """Whether a task is of whoever makes a call."""
    return made.owner == owner_of(call) and has_all_of(call.caller, made.maker)


def owner_of(call: Call) -> Owner:
    """Whose the tasks of a call are."""
    caller = call.caller
    return caller.kind, caller.id, place_of(caller, call.door, call.profile, call.session)


def place_of(caller: Caller, door: str, profile: str, session: str | None) -> str:
    """Where tasks of a caller are asked about: door and profile, and the session where callers have no name."""
    return f"{door} {profile} {(session or '') if caller.kind == 'anonymous' else ''}"


def _is_nameless(owner: Owner) -> bool:
    """Whether it is all those who have neither a name nor a session: one of them is not to push out what another has."""
    return owner[0] == "anonymous" and owner[2].endswith(" ")


def is_nameless(call: Call) -> bool:
    """Whether a caller has neither a name nor a session by which its tasks could be told."""
    return call.caller.kind == "anonymous" and not call.session
