"""The one `subscriptions/listen` that a modern server has open for everybody: changed lists, and the resources that anybody waits for.

Each asks for more or less than the one before, which ends when the new one is acknowledged and not before: what changed between the
two would be told to nobody, and never again. A server that refuses one for the resource of somebody has the former one still, and
only who asked for that resource hears no.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from gatewright.call import Failure
from gatewright.links.link import Link, UpstreamFailed
from gatewright.wire import jsonrpc

__all__ = ["LISTEN_PAUSE_S", "ListenWay", "Listening"]

log = logging.getLogger("gatewright.upstream")

LISTEN_PAUSE_S = 1.0
"""How long after its end a listening begins anew; doubles up to half a minute."""

_ACKNOWLEDGED_S = 3.0
_LONG_S = 60.0
_GONE = "the connection to server {} ended before it said whether it tells of this"

_Told = asyncio.Future[None]


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
        self._asks: set[str] = set()
        """The resources that the open one asks for."""
        self._waiting: dict[str | None, asyncio.Future[Failure | None]] = {}
        self._turn = asyncio.Lock()
        self._serves = False

    async def tell(self, uri: str | None) -> Failure | None:
        """Listen for one resource more, or with None for what is wanted now and nothing else. Why not, if so."""
        loop = asyncio.get_running_loop()
        told = self._waiting.setdefault(uri, loop.create_future())
        if not self._serves:
            self._serves = True
            self._way.spawn(self._serve())
        return await asyncio.shield(told)

    async def _serve(self) -> None:
        """All who wait, together: each would take a request of its own."""
        batch: dict[str | None, asyncio.Future[Failure | None]] = {}
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, {}
                async with self._turn:
                    await self._told_to(batch)
        finally:
            self._serves = False
            self._give_up(batch)

    def _give_up(self, batch: Mapping[str | None, asyncio.Future[Failure | None]]) -> None:
        waiting, self._waiting = self._waiting, {}
        for told in (*batch.values(), *waiting.values()):
            _settle(told, Failure("upstream_error", _GONE.format(self._way.id)))

    async def _told_to(self, batch: Mapping[str | None, asyncio.Future[Failure | None]]) -> None:
        now = self._wanted()
        more = [uri for uri in batch if uri is not None and uri in now]
        problem = await self._anew(more)
        for uri, told in batch.items():
            found = problem
            if problem is not None and len(more) > 1 and uri in more:
                found = await self._anew([str(uri)])  # another of them may be what it refuses
            _settle(told, found)

    async def renew(self, *, singly: bool = False) -> None:
        """Listen to a new connection. `singly`, where it has refused something: at least for changed lists, and for what is wanted as
        far as it takes that."""
        async with self._turn:
            before, self._open = self._open, None
            await _end(before)
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
        before, self._open = self._open, None
        self._give_up({})
        await _end(before)

    async def _anew(self, more: Sequence[str], *, stays: bool = False) -> Failure | None:
        """Replace the listening by one that asks for more. The former one stays where the server says no, unless this one `stays`."""
        link, before, stays = self._way.link, self._open, stays or not more
        uris = [uri for uri in self._wanted() if uri in self._asks or uri in more]
        self._told.intersection_update(uris)  # whoever asks for another from now on asks the server
        asked = self._asked(link, uris)
        if link is None or not asked:
            self._open = None
            await _end(before)
            return None
        told: _Told = asyncio.get_running_loop().create_future()
        told.add_done_callback(lambda _: self._told.update(uris))
        task = asyncio.ensure_future(self._listens(link, asked, told, stays))
        try:
            either: list[asyncio.Future[Any]] = [told, task]
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(either, timeout=_ACKNOWLEDGED_S, return_when=first)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not (stays or told.done()):
            return await self._refused(task)
        self._open, self._asks = task, set(uris)
        if told.done():
            await _end(before)
        elif before is not None:
            told.add_done_callback(lambda _: before.cancel())
        return None

    async def _refused(self, task: asyncio.Task[str]) -> Failure:
        why = task.result() if task.done() else f"it said nothing for {_ACKNOWLEDGED_S:g} s"
        await _end(task)
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
            except UpstreamFailed as problem:
                log.info("server %s: listening ended: %s", self._way.id, problem)
                if not told.done() and self._ends(asked, str(problem), stays):
                    return str(problem)
            stays = True
            pause_s = LISTEN_PAUSE_S if loop.time() - begun > _LONG_S else min(30.0, pause_s * 2)
            await asyncio.sleep(pause_s)
            # Whatever changed meanwhile was told to nobody.
            told = self._once_more(told)
        return _GONE.format(self._way.id)

    def _once_more(self, before: _Told) -> _Told:
        told: _Told = asyncio.get_running_loop().create_future()
        told.add_done_callback(lambda _: self._way.look())
        if not before.done():  # what waits for a yes waits for this one
            told.add_done_callback(lambda _: _yes(before))
        return told

    def _ends(self, asked: dict[str, Any], problem: str, stays: bool) -> bool:
        """Whether it makes no sense to ask once more for what has just failed. Where a server refuses it, one resource of many may be
        what it does not like: each is asked for by itself then."""
        if not stays:
            return True
        if not problem.startswith("{"):
            return False  # it did not say so: it could not be reached
        if "resourceSubscriptions" in asked:
            self._way.spawn(self.renew(singly=True))
            return True
        return _unknown(problem)


def _yes(told: _Told) -> None:
    if not told.done():
        told.set_result(None)


def _unknown(problem: str) -> bool:
    """Whether a server says that it does not know how to be listened to."""
    try:
        error = jsonrpc.decode(problem.encode())
    except ValueError:
        return False
    return isinstance(error, dict) and error.get("code") == jsonrpc.METHOD_NOT_FOUND


def _settle(told: asyncio.Future[Failure | None], found: Failure | None) -> None:
    if not told.done():
        told.set_result(found)


async def _end(task: asyncio.Task[str] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task])


def _changes(capabilities: Any) -> dict[str, Any]:
    """The changes that a server says it announces."""
    wanted: dict[str, Any] = {}
    for name in ("tools", "prompts", "resources"):
        found = capabilities.get(name)
        if isinstance(found, dict) and found.get("listChanged"):
            wanted[f"{name}ListChanged"] = True
    return wanted
