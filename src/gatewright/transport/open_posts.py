"""`OpenPosts`: the POSTs of an HTTP+SSE client that are not accepted yet; ends those of requests that are over, and bounds the others.

A server that does not accept a call soon is one that accepts calls when they are done (`accepts_late`). One that was slow for a moment, or whose
tools differ, shows itself by calls that run on after they were accepted: by `_SOON` of them, so that calls of both kinds do not make it the one
and the other in turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gatewright.transport.http_pool import Most

__all__ = ["OVER_S", "OpenPosts", "Requests"]

OVER_S = 1.0
"""How often it is looked which requests are over: a POST that is found twice to be of one is ended. A server may just be about to accept it."""
_SMALL = 4096
"""So many bytes of each message are not counted."""
_SOON = 3
_KEPT = 64
_RUNS_ON_S = 0.1
"""A call that is answered sooner after it was accepted was done by then: the answer of a server that accepts late is on its stream."""


class Requests(msgspec.Struct, frozen=True):
    """Whose they are, each by its number."""

    waits: Callable[[int], bool]
    """Whether anybody waits for the answer."""
    lost: Callable[[int, str, bool], None]
    """Hears of one of which no word will come: why, and whether it may have reached the server."""
    late: Callable[[int, bool], None]
    """Hears of a long one when it is not accepted soon, and of each when its POST has ended."""


class _Open(msgspec.Struct, eq=False):
    ident: int | None
    """The number of the request, where it is one."""
    since: float
    held: int = 0
    over: bool = False
    answered: bool = False


class OpenPosts:
    """At most `most()` of requests are open. `requests.lost` hears of one whose POST was ended though somebody waits for the answer, because there were too many."""

    def __init__(self, most: Most, requests: Requests) -> None:
        self.held = 0
        """The bytes of long messages that are with a server which has not accepted them."""
        self.accepts_late = False
        self._soon = 0
        """So many calls ran on after they were accepted, since one was not accepted soon."""
        self._most = most
        self._of = requests
        self._posts: dict[asyncio.Task[None], _Open] = {}
        self._running: dict[int, float] = {}
        """Requests that were accepted, and when their posting began."""
        self._kept = _KEPT
        self._requests = 0
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, post: asyncio.Task[None], ident: int | None) -> None:
        """One more, which ends when it is accepted."""
        if ident is not None:
            if self._requests >= self._most():
                self._make_room()
            self._requests += 1
            self._look_later()
        self._posts[post] = _Open(ident, self._loop.time())
        post.add_done_callback(self._ended)

    def late(self, post: asyncio.Task[None], size: int) -> None:
        """The next message waits no longer for this one, which may be accepted all the same."""
        found = self._posts.get(post)
        if found is not None and size > _SMALL:
            found.held = size
            self.held += size
            if found.ident is not None:
                self._of.late(found.ident, True)

    def accepted_late(self) -> None:
        """A call was not accepted soon."""
        self.accepts_late, self._soon = True, 0

    def accepted(self, post: asyncio.Task[None] | None, late_s: float, *, call: bool) -> None:
        """A POST was accepted: soon where that took less than `late_s`; it is looked then whether the `call` runs on."""
        found = None if post is None else self._posts.get(post)
        if found is None or found.ident is None:
            return
        self._running[found.ident] = found.since
        if len(self._running) > self._kept:
            self._running = {one: at for one, at in self._running.items() if self._of.waits(one)}
            self._kept = max(_KEPT, 2 * len(self._running))
        if not (call and self.accepts_late):
            return
        if self._loop.time() - found.since >= late_s:
            self._soon = 0
        else:
            self._loop.call_later(_RUNS_ON_S, self._runs_on, found.ident)

    def _runs_on(self, ident: int) -> None:
        if self._of.waits(ident):
            self._soon += 1
            self.accepts_late = self.accepts_late and self._soon < _SOON

    def works(self, for_s: float) -> bool:
        """Whether a request that somebody waits for is being posted, or with the server, for so long."""
        begun = self._loop.time() - for_s
        if any(since <= begun and self._of.waits(one) for one, since in self._running.items()):
            return True
        return any(one.since <= begun and self._asks(one) for one in self._posts.values() if not one.answered)  # fmt: skip

    def answered(self, post: asyncio.Task[None] | None) -> None:
        """One has its status. It is not ended any more: what follows from that is everybody's."""
        if post is not None and (found := self._posts.get(post)) is not None:
            found.answered = True

    def all(self) -> list[asyncio.Task[None]]:
        """Those that are open."""
        return list(self._posts)

    def others(self) -> list[asyncio.Task[None]]:
        """Those of them that are of no request."""
        return [post for post, one in self._posts.items() if one.ident is None]

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ended(self, post: asyncio.Task[None]) -> None:
        ended = self._posts.pop(post)
        self.held -= ended.held
        if ended.ident is not None:
            self._requests -= 1
            self._of.late(ended.ident, False)

    def _make_room(self) -> None:
        """End the oldest whose request is over, or the oldest at all; one that is being ended already makes room as well, and so does one that
        has its status, which holds no connection any more."""
        asking = [
            (post, one)
            for post, one in self._posts.items()
            if one.ident is not None and not one.answered
        ]
        if len(asking) < self._most():
            return
        idle = next((post for post, one in asking if not self._asks(one)), None)
        if idle is not None:
            idle.cancel()
            return
        post, oldest = asking[0]
        post.cancel()
        if oldest.ident is not None:
            self._of.lost(oldest.ident, "too many others wait to be accepted", True)

    def _asks(self, one: _Open) -> bool:
        return one.ident is not None and self._of.waits(one.ident)

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(OVER_S, self._look)

    def _look(self) -> None:
        self._timer = None
        for post, one in self._posts.items():
            if one.ident is None or one.answered or self._asks(one):
                continue
            if one.over:
                post.cancel()
            one.over = True
        if self._requests:
            self._look_later()
