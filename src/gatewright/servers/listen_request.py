"""Keeps one `subscriptions/listen` open to a modern server for all clients: replaces it on change, bisects refusals, reopens it.

Each asks for more or less than the one before, which ends when the new one is acknowledged and not before: what changed between
the two would be told to nobody, and never again. A server that refuses one for the resource of somebody has the former one
still, and only who asked for that resource hears no: what it refuses together is asked for in halves, and requests made
meanwhile are asked for in between. What its acknowledgement does not name the server does not tell of.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol

from gatewright.call import Failure
from gatewright.command_text import to_type
from gatewright.mcp.client.link import Link, ServerFailed, ServerRefused
from gatewright.mcp.wire import jsonrpc

__all__ = ["LISTEN_PAUSE_S", "ListenWay", "Listening"]

log = logging.getLogger("gatewright.servers")

LISTEN_PAUSE_S = 1.0
"""How long after its end a listening begins anew; doubles up to half a minute."""

_ACKNOWLEDGED_S = 3.0
_LONG_S = 60.0
_AWAY = "upstream_unavailable"
_GONE = "the connection to server {} ended before it said whether it tells of this"

_Told = asyncio.Future[Any]
"""Gets what the server says that it honours."""

_Part = dict[str | None, asyncio.Future[Failure | None]]
"""Who waits for the same request, by resource."""


class ListenWay(Protocol):
    """What listening needs of its connection."""

    id: str

    @property
    def link(self) -> Link | None:
        """The connection, while it is there."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    def look(self) -> None:
        """Fetch the lists anew."""


class Listening:
    """See the module's text. `wanted` gives the resources that are wanted now, `told` has those that are listened for."""

    def __init__(
        self, way: ListenWay, wanted: Callable[[], list[str]], told: set[str], *, changes: bool
    ) -> None:
        self._way = way
        self._wanted = wanted
        self._told = told
        self._changes = changes
        self._open: asyncio.Task[str] | None = None
        self._former: set[asyncio.Task[str]] = set()
        """What tells as long as the open one is not acknowledged."""
        self._asks: set[str] = set()
        """The resources that the open one asks for."""
        self._waiting: _Part = {}
        self._parts: deque[_Part] = deque()
        """Halves of what was refused together."""
        self._trial: asyncio.Task[str] | None = None
        """What is asked for at the moment."""
        self._turn = asyncio.Lock()
        self._round = 0
        self._serves = False

    async def tell(self, uri: str | None) -> Failure | None:
        """Listen for one resource more, or with None for what is wanted now and nothing else. Why not, if so."""
        loop = asyncio.get_running_loop()
        told = self._waiting.setdefault(uri, loop.create_future())
        if not self._serves:
            self._serves = True
            self._way.spawn(self._serve())
        # Several wait for this one: a caller that gives up must not end it for the others.
        return await asyncio.shield(told)

    async def _serve(self) -> None:
        """All who wait, together: each would take a request of its own. Between two who wait for the first time a half of what
        was refused has its turn, and the other way round: neither holds the other up for more than a request."""
        part: _Part = {}
        halves = False
        try:
            while self._waiting or self._parts:
                if self._parts and (halves or not self._waiting):
                    part, halves = self._parts.popleft(), False
                else:
                    part, self._waiting, halves = self._waiting, {}, True
                async with self._turn:
                    await self._told_to(part)
        finally:
            self._serves = False
            self._give_up(part)

    def _give_up(self, part: _Part) -> None:
        every = [part, self._waiting, *self._parts]
        self._waiting = {}
        self._parts.clear()
        for told in (told for one in every for told in one.values()):
            _settle(told, Failure("upstream_error", _GONE.format(self._way.id)))

    async def _told_to(self, part: _Part) -> None:
        """Ask for what is still wanted of it: what nobody wants any more takes no request."""
        now, wanted = self._round, frozenset(self._wanted())
        more = [uri for uri in part if uri in wanted and uri is not None]
        problem = await self._anew(more) if more or None in part else None
        if more and now != self._round:
            self._parts.append(part)  # a new connection came in between
        # A refusal names no resource. Halves find the bad one among n in about 2·log n requests.
        elif problem is not None and len(more) > 1 and problem.reason != _AWAY:
            self._halve(part, more)
        else:
            for uri, told in part.items():
                released = uri in wanted and uri not in self._told
                _settle(told, problem or (self._unnamed(uri) if released else None))

    def _halve(self, part: _Part, more: list[str]) -> None:
        """One of them may be what the server refuses."""
        middle, several = len(more) // 2, frozenset(more)
        for uris in (more[:middle], more[middle:]):
            self._parts.append({uri: part[uri] for uri in uris})
        for uri, told in part.items():
            if uri not in several:  # nobody wants it any more: that was told as far as it could be
                _settle(told, None)

    def _unnamed(self, uri: str | None) -> Failure:
        said = (
            f"server {self._way.id} does not tell of {uri!r}: its acknowledgement does not name it"
        )
        return Failure("upstream_error", said)

    async def renew(self, *, singly: bool = False) -> None:
        """Listen to a new connection. Returns after one request at most. `singly`, where it has refused something: at least for
        changed lists, and for what is wanted as far as it takes that."""
        # Before the lock: whoever has the turn waits for an answer on a connection that is over.
        self._round += 1
        self._give_way()
        async with self._turn:
            await self._end_all()
            self._told.clear()
            self._asks.clear()
            wanted = self._wanted()
            await self._anew([] if singly else wanted, stays=True)
        for uri in wanted if singly else ():
            self._way.spawn(self._told_again(uri))

    async def _told_again(self, uri: str) -> None:
        problem = await self.tell(uri)
        if problem is not None:
            log.warning("%s", problem.message)

    async def close(self) -> None:
        """Listen no more. Returns when that has ended."""
        self._give_up({})
        self._give_way()
        await self._end_all()

    def _give_way(self) -> None:
        """Wait for no answer to what is asked for at the moment: it is over, or will be asked for again."""
        if self._trial is not None:
            self._trial.cancel()

    async def _end_all(self) -> None:
        before, self._open = self._open, None
        former, self._former = self._former, set()
        await _end(former if before is None else {before, *former})

    async def _anew(self, more: Collection[str], *, stays: bool = False) -> Failure | None:
        """Replace the listening by one that asks for more. The former one stays where the server says no, unless this one
        `stays`."""
        link, stays = self._way.link, stays or not more
        if more and (link is None or link.hello is None):
            shows = to_type("server list")
            said = f"server {self._way.id} is not connected; `{shows}` says why"
            return Failure(_AWAY, said)
        also = frozenset(more)
        uris = [uri for uri in self._wanted() if uri in self._asks or uri in also]
        self._told.intersection_update(uris)  # whoever asks for another from now on asks the server
        asked = self._asked(link, uris)
        if link is None or not asked:
            await self._end_all()
            return None
        told: _Told = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(self._listens(link, asked, told, stays))
        await self._acknowledged_in_time(task, told)
        if task.cancelled() or not (stays or told.done()):
            return await self._refused(task)
        if self._open is not None:
            self._former.add(self._open)
        self._open, self._asks = task, set(uris)
        if told.done():
            await _end(self._honoured(task, uris, told))
        else:
            told.add_done_callback(partial(self._late, task, uris))
        return None

    async def _acknowledged_in_time(self, task: asyncio.Task[str], told: _Told) -> None:
        """Wait for the acknowledgement, so long and no longer."""
        self._trial = task
        try:
            either: list[asyncio.Future[Any]] = [told, task]
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(either, timeout=_ACKNOWLEDGED_S, return_when=first)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._trial = None

    def _honoured(
        self, task: asyncio.Task[str], uris: list[str], told: _Told
    ) -> set[asyncio.Task[str]]:
        """Take an acknowledgement. Those that have to end for it; none where it is not that of the open one."""
        if task is not self._open:
            return set()
        self._told.clear()
        self._told.update(_named(told.result(), uris))
        former, self._former = self._former, set()
        return former

    def _late(self, task: asyncio.Task[str], uris: list[str], told: _Told) -> None:
        for one in self._honoured(task, uris, told):
            one.cancel()

    async def _refused(self, task: asyncio.Task[str]) -> Failure:
        said_nothing = f"it said nothing for {_ACKNOWLEDGED_S:g} s"
        why = task.result() if task.done() and not task.cancelled() else said_nothing
        await _end({task})
        said = f"server {self._way.id} does not tell of what was asked for: {why}"
        return Failure("upstream_error", said)

    def _asked(self, link: Link | None, uris: list[str]) -> dict[str, Any]:
        """What the server is asked to tell."""
        if link is None or link.hello is None:
            return {}
        changes = _changes(link.hello.capabilities) if self._changes else {}
        return {**changes, "resourceSubscriptions": uris} if uris else changes

    async def _listens(self, link: Link, asked: dict[str, Any], told: _Told, stays: bool) -> str:
        """Listen, again and again. Returns why the server refuses it, at once where it is not one that `stays`."""
        loop = asyncio.get_running_loop()
        pause_s = LISTEN_PAUSE_S
        while link.open:
            begun = loop.time()
            try:
                await link.listen({"notifications": asked}, told)
            except ServerFailed as problem:
                log.info("server %s: listening ended: %s", self._way.id, problem)
                if not told.done() and self._ends(asked, problem, stays):
                    return str(problem)
            # It was acknowledged or may still be: from now on it begins anew when it ends.
            stays = True
            pause_s = LISTEN_PAUSE_S if loop.time() - begun > _LONG_S else min(30.0, pause_s * 2)
            await asyncio.sleep(pause_s)
            # Whatever changed meanwhile was told to nobody.
            told = self._once_more(told, asked.get("resourceSubscriptions", []))
        return _GONE.format(self._way.id)

    def _once_more(self, before: _Told, uris: list[str]) -> _Told:
        told: _Told = asyncio.get_running_loop().create_future()
        told.add_done_callback(lambda _: self._way.look())
        task = asyncio.current_task()
        if task is not None and before.done():
            told.add_done_callback(partial(self._late, task, uris))
        else:  # what waits for a yes waits for this one
            told.add_done_callback(lambda _: _settle(before, told.result()))
        return told

    def _ends(self, asked: dict[str, Any], problem: ServerFailed, stays: bool) -> bool:
        """Whether it makes no sense to ask once more for what has just failed. Where a server refuses it, one resource of many
        may be what it does not like: each is asked for by itself then."""
        if not stays:
            return True
        if not isinstance(problem, ServerRefused):
            return False  # it did not say so: it could not be reached
        if "resourceSubscriptions" in asked:
            self._way.spawn(self.renew(singly=True))
            return True
        return problem.code == jsonrpc.METHOD_NOT_FOUND  # it does not know how to be listened to


def _named(honoured: Any, uris: list[str]) -> Iterable[str]:
    """Which of them an acknowledgement names: it has what the server agreed to, and leaves out what it did not, the whole list,
    too. One that lacks the object itself, which MCP requires, says nothing of what it leaves out."""
    if not isinstance(honoured, dict):
        return uris
    named = honoured.get("resourceSubscriptions")
    if not isinstance(named, list):
        return ()
    there = {one for one in named if isinstance(one, str)}
    return [uri for uri in uris if uri in there]


def _settle(told: asyncio.Future[Any], found: Any) -> None:
    if not told.done():
        told.set_result(found)


async def _end(tasks: Collection[asyncio.Task[str]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _changes(capabilities: Any) -> dict[str, Any]:
    """The changes that a server says it announces."""
    wanted: dict[str, Any] = {}
    for name in ("tools", "prompts", "resources"):
        found = capabilities.get(name)
        if isinstance(found, dict) and found.get("listChanged"):
            wanted[f"{name}ListChanged"] = True
    return wanted
