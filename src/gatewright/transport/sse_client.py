"""Client of the HTTP+SSE transport (MCP 2024-11-05) as a pipe: event stream in, ordered POSTs out.

The stream's first event, `endpoint`, names the URL to post to. It must be of the same origin as the stream: otherwise
any server could have our credentials sent wherever it likes.

Messages are posted in order, each after the one before was accepted, because a server may judge them in the order
in which they arrive. One that a server answers late holds the others up for `ORDER_S` and no longer. A message that
cannot be delivered ends the pipe: a caller learns at once what it otherwise would wait for in vain.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from yarl import URL

from gatewright.transport.base import FROM_SERVERS, SLOW_READER, Limits, Receiver
from gatewright.transport.http_client import BadAnswer, HttpUpstream, Posted, Tls, UpstreamError
from gatewright.transport.pipe_ends import Backlog, End
from gatewright.web.sse import SseEvent

__all__ = ["NoEventStream", "SsePipe", "connect_sse"]

ENDPOINT_CHARS = 8192
ENDPOINT_S = 10.0
"""How long a server may take to name its endpoint."""
POST_S = 30.0
"""How long a server may take to accept a message."""
CLOSE_S = 5.0
"""How long `close` waits for messages to be accepted."""
ORDER_S = 1.0
"""How long a message waits for the one before it to be accepted."""


class NoEventStream(UpstreamError):  # noqa: N818
    """The server answered, but not with an event stream. `answer` has its status, headers and body."""

    def __init__(self, message: str, answer: Posted) -> None:
        super().__init__(message, not_sent=True)
        self.answer = answer


async def connect_sse(
    url: str,
    *,
    receiver: Receiver,
    headers: Mapping[str, str] | None = None,
    limits: Limits = FROM_SERVERS,
    tls: Tls = True,
) -> SsePipe:
    """Open the stream and wait for its endpoint. `headers` go with the stream and with every message.

    Raises `NoEventStream` or another `UpstreamError`, `ValueError` where `url` is none of HTTP.
    """
    upstream = HttpUpstream(url, limits=limits, tls=tls)
    pipe = SsePipe(upstream, receiver, headers or {}, limits)
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
        headers: Mapping[str, str],
        limits: Limits,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._upstream = upstream
        self._end = End(receiver)
        self._headers = headers
        self._backlog = Backlog(limits, lambda: self._held, self._slow)
        self._closing: str | None = None
        self._endpoint: asyncio.Future[HttpUpstream] = loop.create_future()
        self._early: list[bytes] | None = []
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._more = asyncio.Event()
        self._posts: set[asyncio.Task[None]] = set()
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
        loop = asyncio.get_running_loop()
        # Two turns later: whoever opens the pipe has it before its receiver hears of anything.
        loop.call_soon(loop.call_soon, self._release)

    async def abandon(self) -> None:
        """Undo an opening that failed."""
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        await self._upstream.close()

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._held

    def send(self, message: bytes) -> None:
        """Queue one message; see `Pipe.send`."""
        self._backlog.take(len(message), self._closing)
        self._queue.append(message)
        self._held += len(message)
        self._more.set()

    def close(self) -> None:
        """Post what was sent, then close the stream."""
        if self._closing is None:
            self._closing = "closed"
            self._more.set()

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
            told = f"{self._upstream.origin} answered with HTTP {answer.status}, not with an event stream"
            raise NoEventStream(told, answer)

    def _take(self, event: SseEvent) -> None:
        if event.event == "endpoint" and not self._endpoint.done():
            self._set_endpoint(event.data.decode("utf-8", "replace").strip())
        elif event.event == "message" and event.data and self._endpoint.done():
            if self._early is None:
                self._end.deliver(event.data)
            else:
                self._early.append(event.data)

    def _set_endpoint(self, text: str) -> None:
        stream = self._upstream.url
        if len(text) > ENDPOINT_CHARS:  # URLs are remembered by the library, in whatever length
            where = self._upstream.origin
            long = f"{where} names an endpoint of more than {ENDPOINT_CHARS} characters"
            self._endpoint.set_exception(BadAnswer(long, not_sent=True))
            return
        try:
            url = stream.join(URL(text))
            same = url.origin() == stream.origin()
        except ValueError:
            same = False
        if same:
            self._endpoint.set_result(self._upstream.at(str(url)))
        else:
            where = self._upstream.origin
            foreign = BadAnswer(f"{where} names an endpoint of another origin", not_sent=True)
            self._endpoint.set_exception(foreign)

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
                message = self._queue.popleft()
                post = asyncio.create_task(self._post(endpoint, message))
                self._posts.add(post)
                post.add_done_callback(self._posts.discard)
                await asyncio.wait({post}, timeout=ORDER_S)
            if self._closing is not None:
                if self._posts:
                    await asyncio.wait(self._posts, timeout=CLOSE_S)
                self._finish(self._closing)
                return
            self._more.clear()
            await self._more.wait()

    async def _post(self, endpoint: HttpUpstream, message: bytes) -> None:
        try:
            answer = await endpoint.post(message, self._headers, self._end.deliver, timeout=POST_S)
        except UpstreamError as problem:
            self._finish(str(problem))
            return
        self._held -= len(message)
        if not 200 <= answer.status < 300:
            self._finish(f"a message was refused: HTTP {answer.status}")

    def _slow(self) -> None:
        self._finish(SLOW_READER)

    def _finish(self, reason: str) -> None:
        if self._end.reason is not None:
            return
        self._release()  # what came before the end is still delivered
        self._closing = reason
        self._backlog.stop()
        self._queue.clear()
        self._end.finish(reason)
        self._cleaning = asyncio.create_task(self._clean())

    async def _clean(self) -> None:
        current = asyncio.current_task()
        tasks = {self._listening, *self._posts, *([self._posting] if self._posting else [])}
        for task in tasks - {current}:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._upstream.close()
