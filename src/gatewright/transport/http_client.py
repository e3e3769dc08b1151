"""HTTP client for MCP servers on pooled connections: POST, GET of an event stream (SSE), DELETE; errors say whether the request was sent.

The question that matters after a failure is whether the server may have acted: a call that was surely not sent may be
repeated, one that may have been sent only if repeating it harms nobody. So every error says what is known about
that in `not_sent`: True where no byte of the request left (no address, no connection, no trust), False where some may
have, and None for the one case in between, a kept connection that the server closed just as it was used again, which
almost always means that the server never saw the request, and cannot be told from the contrary.

Connections are kept (`http_pool`) for less time than common servers keep theirs, so that this case stays rare. No redirect is followed (the caller decides where its credentials go), no proxy is taken from the environment, no
cookie is kept. Headers and the path of the URL may hold secrets: neither is logged or put into an error.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from gatewright.transport.base import FROM_SERVERS, Limits, Pace
from gatewright.transport.http_answer import Answer
from gatewright.transport.http_dial import Trust
from gatewright.transport.http_fault import Fault, FaultKind
from gatewright.transport.http_pool import MOST, HttpPool, Most
from gatewright.transport.http_request import DELETE, LISTEN, POST, Kind, Target
from gatewright.web.sse import EventTooLarge, SseEvent, SseParser

__all__ = [
    "AnswerTooLarge",
    "BadAnswer",
    "CannotDial",
    "CannotReach",
    "ConnectionBroken",
    "HttpUpstream",
    "OnEvent",
    "OnMessage",
    "OnOpen",
    "Posted",
    "TimedOut",
    "Tls",
    "UpstreamError",
]

log = logging.getLogger(__name__)

EVENT_BYTES = 8192
"""How much of an event stream is looked at in one turn of the loop."""

KEEP_ALIVE_S = 4.0
"""Node's and uvicorn's servers close an idle connection after five seconds."""

Tls = Trust
OnMessage = Callable[[bytes], None]
OnEvent = Callable[[SseEvent], None]
OnOpen = Callable[[int, Mapping[str, str]], None]


class UpstreamError(Exception):
    """No usable answer; what happened is the name of the subclass. `not_sent`: True surely not sent, False perhaps sent, None almost surely not."""

    def __init__(self, message: str, *, not_sent: bool | None = False) -> None:
        super().__init__(message)
        self.not_sent = not_sent


class CannotReach(UpstreamError):  # noqa: N818
    """There is no connection to the server, so nothing was sent."""


class CannotDial(CannotReach):
    """There is none for want of something here, of a socket say, or of the address: that says nothing of the server."""


class ConnectionBroken(UpstreamError):  # noqa: N818
    """The connection was lost before the answer was whole."""


class TimedOut(UpstreamError):  # noqa: N818
    """The answer was not whole in time."""


class AnswerTooLarge(UpstreamError):  # noqa: N818
    """The answer, or one event of it, is longer than the limit. `begins` is how that event does, `past` the id by which it is not sent again,
    empty where none is known; None where it is the answer as a whole."""

    begins: bytes | None = None
    past: str | None = None


class BadAnswer(UpstreamError):  # noqa: N818
    """What came back is not HTTP, or not what its headers say."""


_NAMED: dict[FaultKind, type[UpstreamError]] = {
    "unreachable": CannotReach,
    "broken": ConnectionBroken,
    "bad": BadAnswer,
    "too large": AnswerTooLarge,
}


class Posted(msgspec.Struct, frozen=True):
    """One answer, whatever its status.

    `body` is the whole body, or None where it was an event stream (`streamed`). `last_event_id` and `retry_ms` are what
    the stream said last; `ended` tells whether it came to its end or broke off.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | None = None
    streamed: bool = False
    last_event_id: str = ""
    retry_ms: int | None = None
    ended: Literal["complete", "broken"] = "complete"


class HttpUpstream:
    """One URL and the connections to it. To be made on the running loop, and closed.

    `tls` is True (verify with the system's certificates), a context, or False for no verification. At most `most()` requests are
    under way at once.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: Limits = FROM_SERVERS,
        tls: Tls = True,
        keep_alive_s: float = KEEP_ALIVE_S,
        pool: HttpPool | None = None,
        most: Most = lambda: MOST,
    ) -> None:
        self._target = Target(url)
        self.url = self._target.url
        self.origin = self._target.origin
        self._limits = limits
        self._pool = pool or HttpPool(self._target, tls, keep_alive_s, most)

    def at(self, url: str) -> HttpUpstream:
        """The same server at another URL, over the same connections; only one of the two is to be closed."""
        other = HttpUpstream(url, limits=self._limits, pool=self._pool)
        if other.origin != self.origin:
            raise ValueError("the URL is one of another server")
        return other

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        on_message: OnMessage,
        *,
        timeout: float | None = None,
        on_open: OnOpen | None = None,
    ) -> Coroutine[Any, Any, Posted]:
        """POST one message. Each message of an event stream goes to `on_message` while it streams.

        `timeout` is seconds for the whole answer. `on_open` gets status and headers as soon as they are there.
        Raises `UpstreamError`; a cancellation closes the response at once.
        """
        on_event = _messages_to(on_message)
        return self._ask(POST, headers, on_event, body=body, timeout=timeout, on_open=on_open)

    async def listen(
        self,
        headers: Mapping[str, str],
        on_message: OnMessage,
        *,
        last_event_id: str | None = None,
        on_open: OnOpen | None = None,
    ) -> Posted:
        """GET the server's own stream of messages, for as long as it lasts, from `last_event_id` on."""
        again = {"Last-Event-ID": last_event_id} if last_event_id else {}
        return await self.events({**headers, **again}, _messages_to(on_message), on_open=on_open)

    async def events(
        self, headers: Mapping[str, str], on_event: OnEvent, *, on_open: OnOpen | None = None
    ) -> Posted:
        """GET a stream of events of any kind, for as long as it lasts."""
        return await self._ask(LISTEN, headers, on_event, on_open=on_open)

    async def delete(self, headers: Mapping[str, str], *, timeout: float | None = 5.0) -> Posted:  # noqa: ASYNC109
        """DELETE, which ends a session."""
        return await self._ask(DELETE, headers, _ignore, timeout=timeout)

    @property
    def reachable(self) -> bool:
        """Whether any connection is open, and no others have been refused for long."""
        return self._pool.reachable

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def _ask(
        self,
        kind: Kind,
        headers: Mapping[str, str],
        on_event: OnEvent,
        *,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        on_open: OnOpen | None = None,
    ) -> Posted:
        try:
            head = self._target.spell(kind, headers, None if body is None else len(body))
        except ValueError:
            what = f"the request to {self.origin} cannot be sent as it is"
            raise CannotReach(what, not_sent=True) from None
        until = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            caller = self._pool.ready() or await self._pool.take(until)
            try:
                answer = caller.ask(head, body or b"", self._limits.frame_bytes)
                if until is None:
                    return await self._read(answer, on_event, on_open)
                return await self._read_until(until, answer, on_event, on_open)
            finally:
                # An answer that was read to its end leaves a connection to use again; any other is closed at once.
                self._pool.give(caller)
        except Fault as fault:
            named = CannotDial if fault.here else _NAMED[fault.kind]
            raise named(str(fault), not_sent=fault.not_sent) from None

    async def _read_until(
        self, until: float, answer: Answer, on_event: OnEvent, on_open: OnOpen | None
    ) -> Posted:
        try:
            async with asyncio.timeout_at(until):
                return await self._read(answer, on_event, on_open)
        except TimeoutError:
            what = "finish its answer" if answer.status else "answer"
            raise TimedOut(f"{self.origin} did not {what} in time") from None

    async def _read(self, answer: Answer, on_event: OnEvent, on_open: OnOpen | None) -> Posted:
        if on_open is not None:
            await answer.head()
            on_open(answer.status, answer.headers)
        await answer.settled()
        if answer.streams:
            return await self._stream(answer, on_event)
        body = await answer.unpacked() if answer.packed() else answer.body()
        return Posted(answer.status, answer.headers, body)

    async def _stream(self, answer: Answer, on_event: OnEvent) -> Posted:
        parser = SseParser(self._limits.frame_bytes)
        ended: Literal["complete", "broken"] = "complete"
        try:
            await self._follow(answer, parser, on_event)
        except EventTooLarge as problem:
            large = AnswerTooLarge(f"{self.origin}: {problem}")
            large.begins, large.past = problem.begins, problem.id
            raise large from None
        except Fault:
            ended = "broken"
        return Posted(
            answer.status,
            answer.headers,
            None,
            streamed=True,
            last_event_id=parser.last_event_id,
            retry_ms=parser.retry_ms,
            ended=ended,
        )

    async def _follow(self, answer: Answer, parser: SseParser, on_event: OnEvent) -> None:
        pace = Pace(self._limits)
        while (pieces := await answer.some()) is not None:
            looked_at = 0
            for piece in _cut(pieces):
                looked_at += len(piece) or EVENT_BYTES
                if looked_at > min(self._limits.turn_bytes, EVENT_BYTES):
                    looked_at = 0
                    await asyncio.sleep(0)  # a little, unpacked, can be much
                for event in parser.feed(piece):
                    began = time.perf_counter()
                    _give(on_event, event)
                    if pace.over(time.perf_counter() - began):
                        await asyncio.sleep(0)  # a flood must not keep the loop


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in small pieces: one read can hold thirty thousand events of a byte."""
    for piece in pieces:
        for at in range(0, max(1, len(piece)), EVENT_BYTES):
            yield piece[at : at + EVENT_BYTES]


def _messages_to(on_message: OnMessage) -> OnEvent:
    def on_event(event: SseEvent) -> None:
        # An event without data only carries an id; other kinds of events are no messages.
        if event.data and event.event == "message":
            on_message(event.data)

    return on_event


def _ignore(event: SseEvent) -> None:
    """Events that nobody asked for."""


def _give(on_event: OnEvent, event: SseEvent) -> None:
    try:
        on_event(event)
    except Exception:
        log.exception("the taker of an event raised; the event is lost")
