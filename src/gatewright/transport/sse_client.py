"""Client of the HTTP+SSE transport (MCP 2024-11-05) as a pipe: event stream in, ordered POSTs out.

The stream's first event, `endpoint`, names the URL to post to. It must be of the same origin as the stream: otherwise
any server could have our credentials sent wherever it likes.

Messages are posted in order, each after the one before was accepted, because a server may judge them in the order
in which they arrive. One that a server answers late holds the others up for `ORDER_S` and no longer: some answer the POST of a call when the
call is done, so requests are given all the time, and a server that is known to do so holds nobody up by them.

What becomes of one message ends no pipe, because all callers share that. Where the server, or who stands before it, says that it does not take
this one, that is the answer to it; where it was lost on its way, or given up by whoever stands between, `lost` hears of that, whose caller would
wait in vain. The pipe ends with its stream, or when nothing is taken any more (`SessionLiveness`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from gatewright.transport.base import FROM_SERVERS, SLOW_READER, Closed, Limits, Receiver
from gatewright.transport.http_client import (
    BadAnswer,
    CannotReach,
    ConnectionBroken,
    HttpUpstream,
    Posted,
    TimedOut,
    Tls,
    UpstreamError,
)
from gatewright.transport.http_pool import MOST, Most
from gatewright.transport.open_posts import OpenPosts, Requests
from gatewright.transport.pipe_ends import Backlog, End
from gatewright.transport.posted_messages import (
    CALL,
    GAVE_UP,
    HEAD_BYTES,
    INITIALIZED,
    MEANS_NOTHING,
    REQUEST,
    RESPONSE,
    UNAVAILABLE,
    error_to,
)
from gatewright.transport.session_liveness import Asked, SessionLiveness
from gatewright.transport.sse_endpoint import endpoint_of
from gatewright.web.redirects import redirect_said
from gatewright.web.sse import SseEvent

__all__ = ["NoEventStream", "SsePipe", "connect_sse"]

log = logging.getLogger(__name__)

ENDPOINT_S = 10.0
"""How long a server may take to name its endpoint."""
POST_S = 30.0
"""How long a server may take to accept a message that is no request."""
CLOSE_S = 5.0
"""How long `close` posts what was sent before, and waits for it to be accepted."""
ORDER_S = 1.0
"""How long a message waits for the one before it to be accepted."""
SOON_S = 0.02
"""How long it waits for a request to a server that accepts those late: until that has left."""
SPARE = 8
"""So many connections are no request's: those of the stream, of other messages and of questions whether anything is taken."""


class NoEventStream(UpstreamError):  # noqa: N818
    """The server answered, but not with an event stream. `answer` has its status, headers and body."""

    def __init__(self, message: str, answer: Posted) -> None:
        super().__init__(message, not_sent=True)
        self.answer = answer


async def connect_sse(
    url: str,
    *,
    receiver: Receiver,
    requests: Requests,
    headers: Mapping[str, str] | None = None,
    limits: Limits = FROM_SERVERS,
    tls: Tls = True,
    most: Most = lambda: MOST,
) -> SsePipe:
    """Open the stream and wait for its endpoint. `headers` go with the stream and with every message; at most `most` connections are
    open at once.

    Raises `NoEventStream` or another `UpstreamError`, `ValueError` where `url` is none of HTTP.
    """
    upstream = HttpUpstream(url, limits=limits, tls=tls, most=most)
    pipe = SsePipe(upstream, receiver, requests, headers or {}, limits=limits, most=most)
    try:
        async with asyncio.timeout(ENDPOINT_S):
            await pipe.opened()
    except TimeoutError:
        await pipe.abandon()
        raise BadAnswer(f"{upstream.origin} did not name its endpoint", not_sent=True) from None
    except BaseException:
        await pipe.abandon()
        raise
    return pipe


class SsePipe:
    """A `Pipe`. Made by `connect_sse`.

    Reasons of its end: `closed`, `closed by the peer`, `slow reader`, `a message was refused: HTTP N`, or what
    went wrong with the connection.
    """

    def __init__(
        self,
        upstream: HttpUpstream,
        receiver: Receiver,
        requests: Requests,
        headers: Mapping[str, str],
        *,
        limits: Limits,
        most: Most,
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._lost = requests.lost
        self._upstream = upstream
        self._end = End(receiver)
        self._headers = headers
        self._backlog = Backlog(limits, lambda: self._held, self._slow)
        self._closing: str | None = None
        self._endpoint: asyncio.Future[HttpUpstream] = loop.create_future()
        self._early: list[bytes] | None = []
        self._queue: deque[tuple[float, bytes]] = deque()
        """What is to be posted, and since when."""
        self._held = 0
        self._more = asyncio.Event()
        self._posts = OpenPosts(lambda: most() - SPARE, requests)
        self._liveness = SessionLiveness(
            Asked(self._probe, lambda: upstream.reachable, self._posts.works)
        )
        self._closes: asyncio.TimerHandle | None = None
        self._listening = asyncio.create_task(self._listen())
        self._posting: asyncio.Task[None] | None = None
        self._cleaning: asyncio.Task[None] | None = None

    async def opened(self) -> None:
        """Wait for the endpoint, then begin. `connect_sse` does this."""
        first: set[asyncio.Future[Any]] = {self._listening, self._endpoint}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not self._endpoint.done():
            await self._listening  # raises, since it ended before it began
            raise BadAnswer(f"{self._upstream.origin} did not name its endpoint", not_sent=True)
        self._posting = asyncio.create_task(self._post_all(self._endpoint.result()))
        self._listening.add_done_callback(self._stream_ended)
        # Two turns later: whoever opens the pipe has it before its receiver hears of anything.
        self._loop.call_soon(self._loop.call_soon, self._release)

    async def abandon(self) -> None:
        """Undo an opening that failed."""
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        await self._upstream.close()

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._held + self._posts.held

    def send(self, message: bytes) -> None:
        """Queue one message; see `Pipe.send`."""
        self._backlog.take(len(message), self._closing)
        self._queue.append((self._loop.time(), message))
        self._held += len(message)
        self._more.set()

    def close(self) -> None:
        """Post what was sent, then close the stream."""
        if self._closing is None:
            self._closing = "closed"
            self._more.set()
            self._closes = self._loop.call_later(CLOSE_S, self._finish, "closed")

    async def wait_closed(self) -> str:
        """Wait until everything is closed; the reason."""
        reason = await self._end.wait()
        if self._cleaning is not None:
            await self._cleaning
        return reason

    # -- what comes

    async def _listen(self) -> None:
        # Without a time limit: a server may be silent for as long as nobody asks anything.
        answer = await self._upstream.events(self._headers, self._take)
        if not answer.streamed:
            away = redirect_said(str(self._upstream.url), answer.status, answer.headers)
            told = away or f"answered with HTTP {answer.status}, not with an event stream"
            told = f"{self._upstream.origin} {told}"
            raise NoEventStream(told, answer)

    def _take(self, event: SseEvent) -> None:
        if event.event == "endpoint" and not self._endpoint.done():
            self._set_endpoint(event.data.decode("utf-8", "replace").strip())
        elif event.event == "message" and event.data and self._endpoint.done():
            if b'"ping"' not in event.data[:HEAD_BYTES]:  # a stream that is open, and no more
                self._liveness.got_through()
            if self._early is None:
                self._end.deliver(event.data)
            else:
                self._early.append(event.data)

    def _set_endpoint(self, text: str) -> None:
        try:
            self._endpoint.set_result(self._upstream.at(endpoint_of(self._upstream.url, text)))
        except ValueError as problem:
            named = f"{self._upstream.origin} names an endpoint {problem}"
            self._endpoint.set_exception(BadAnswer(named, not_sent=True))

    def _release(self) -> None:
        early, self._early = self._early or [], None
        for message in early:
            self._end.deliver(message)

    def _stream_ended(self, listening: asyncio.Task[None]) -> None:
        if not listening.cancelled():
            problem = listening.exception()
            self._finish(str(problem) if problem else "closed by the peer")

    # -- what goes

    async def _post_all(self, endpoint: HttpUpstream) -> None:
        while True:
            while self._queue:
                await self._begin(endpoint, self._queue.popleft()[1])
            if self._closing is not None:
                # Nobody waits for what comes of requests any more.
                if others := self._posts.others():
                    await asyncio.wait(others)
                self._finish(self._closing)
                return
            self._more.clear()
            await self._more.wait()

    async def _begin(self, endpoint: HttpUpstream, message: bytes) -> None:
        """Post one message, and wait for a while until it is accepted: the next may have to come after it."""
        asks = (request := REQUEST.match(message[:HEAD_BYTES])) is not None
        taken: asyncio.Future[None] = self._loop.create_future()
        post = self._loop.create_task(self._post(endpoint, message, taken, asks=asks))
        self._posts.begin(post, None if request is None else int(request[1]))
        limit_s = SOON_S if asks and self._posts.accepts_late else ORDER_S
        if (
            asks and self._queue
        ):  # the next has waited already, and many hold nobody up for longer than one
            limit_s = min(limit_s, max(SOON_S, self._queue[0][0] + ORDER_S - self._loop.time()))
        await asyncio.wait({taken, post}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        # What is not accepted by now may be with a server that accepts late. It makes no slow reader of it.
        self._held -= len(message)
        self._posts.late(post, len(message))
        # Of a server that accepts late it is seen when it accepts: not every one is as near as `SOON_S`.
        late = not taken.done() and limit_s > ORDER_S / 2
        if late and CALL.match(message[:HEAD_BYTES]) is not None:
            self._posts.accepted_late()

    async def _post(
        self, endpoint: HttpUpstream, message: bytes, taken: asyncio.Future[None], *, asks: bool
    ) -> None:
        answer: Posted | UpstreamError
        try:
            answer = await self._delivered(endpoint, message, asks=asks)
        except UpstreamError as problem:
            answer = problem
        finally:
            taken.set_result(None)
        self._posts.answered(asyncio.current_task())
        if isinstance(answer, Posted):
            await self._judge(message, answer.status)
            return
        self._undelivered(message, answer)
        if asks and await self._liveness.unreached(answer):
            self._finish(str(answer))

    async def _judge(self, message: bytes, status: int) -> None:
        self._liveness.answered(status)
        if 200 <= status < 300:
            call = CALL.match(message[:HEAD_BYTES]) is not None
            self._posts.accepted(asyncio.current_task(), ORDER_S, call=call)
            return
        why = f"a message was refused: HTTP {status}"
        if await self._liveness.refuses_all(message, status):
            self._finish(why)
            return
        self._refused(message, status)
        if status in UNAVAILABLE and await self._liveness.unavailable():
            self._finish(why)

    async def _probe(self) -> Posted:
        return await self._delivered(self._endpoint.result(), MEANS_NOTHING, asks=False)

    async def _delivered(self, endpoint: HttpUpstream, message: bytes, *, asks: bool) -> Posted:
        """Whatever a server answers. What is no request may come twice, and the connection that was kept may have been closed."""
        limit_s = None if asks else POST_S
        post = partial(endpoint.post, message, self._headers, self._end.deliver, timeout=limit_s)
        if asks:
            return await post()
        try:
            return await post()
        except (ConnectionBroken, CannotReach):
            return await post()

    def _undelivered(self, message: bytes, problem: UpstreamError) -> None:
        """No answer came to a message. All others may go on: the stream is there, and says when the server is not."""
        log.info("a message was not delivered: %s", problem)
        request = REQUEST.match(message[:HEAD_BYTES])
        late = self._posts.accepts_late and isinstance(problem, ConnectionBroken)
        if request is not None and late and problem.not_sent is False:
            return  # it is accepted when it is done, and answered on the stream
        if request is not None:
            self._lost(int(request[1]), str(problem), problem.not_sent is not True)
        elif message.startswith(INITIALIZED) and not isinstance(problem, TimedOut):
            self._finish(str(problem))

    def _refused(self, message: bytes, status: int) -> None:
        """Answer a request in the place of its server, and a question of the server's with an error, which is short; what nobody waits for is
        lost. Who gave a request up from 500 on may have passed it on."""
        head = message[:HEAD_BYTES]
        log.info("%s refused a message: HTTP %d", self._upstream.origin, status)
        if (request := REQUEST.match(head)) is not None:
            if status < 500:
                said = f"the server refused the request before it read it: HTTP {status}"
                self._end.deliver(error_to(request[1], said))
            elif status not in GAVE_UP:
                self._lost(int(request[1]), f"HTTP {status}", True)
        elif (answer := RESPONSE.match(head)) is not None:
            with contextlib.suppress(Closed):
                self.send(error_to(answer[1], f"the answer was refused: HTTP {status}"))

    def _slow(self) -> None:
        self._finish(SLOW_READER)

    def _finish(self, reason: str) -> None:
        if self._end.reason is not None:
            return
        self._release()  # what came before the end is still delivered
        self._closing = reason
        self._backlog.stop()
        self._posts.stop()
        self._queue.clear()
        if self._closes is not None:
            self._closes.cancel()
        self._end.finish(reason)
        self._cleaning = asyncio.create_task(self._clean())

    async def _clean(self) -> None:
        current = asyncio.current_task()
        tasks = {self._listening, *self._posts.all(), *([self._posting] if self._posting else [])}
        for task in tasks - {current}:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._upstream.close()
