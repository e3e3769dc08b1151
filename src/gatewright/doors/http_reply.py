"""How one HTTP request is answered: plain JSON, or an event stream from the moment something has to go
before the answer.

On the common way (no events, no questions) this costs two ASGI messages and no task. The first event
starts a writer task; from then on messages are handed over without waiting and a client that does not
read loses its connection, not the kernel its turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from gatewright.protocol.replay import Stream, Streams
from gatewright.protocol.verdicts import Spelled
from gatewright.wire import jsonrpc, sse

__all__ = [
    "EVENT_STREAM",
    "HttpReply",
    "Send",
    "StreamWriter",
    "one_line",
    "send_json",
    "send_plain",
]

Send = Callable[[dict[str, Any]], Awaitable[None]]

EVENT_STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

_JSON = (b"content-type", b"application/json")
_KEEP_ALIVE_S = 15.0
_RETRY_MS = 1000
_CANCELLED = (-32800, "the request was cancelled")


async def send_json(
    send: Send, body: bytes, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """One whole JSON response."""
    length = (b"content-length", b"%d" % len(body))
    await send(
        {"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})


async def send_plain(
    send: Send,
    status: int,
    body: bytes = b"",
    headers: tuple[tuple[bytes, bytes], ...] = (),
    content_type: bytes = b"text/plain; charset=utf-8",
) -> None:
    """A response without JSON; without a body it has no content type either."""
    kind = ((b"content-type", content_type),) if body else ()
    length = (b"content-length", b"%d" % len(body))
    await send(
        {"type": "http.response.start", "status": status, "headers": [*kind, length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})


def one_line(message: bytes) -> bytes:
    """The message without raw line breaks, which in JSON can only be white space."""
    if b"\n" in message or b"\r" in message:
        return message.replace(b"\r", b" ").replace(b"\n", b" ")
    return message


class StreamWriter:
    """Writes server-sent events to one response; `put` never waits."""

    def __init__(
        self, send: Send, limit_bytes: int, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        self._send = send
        self._limit = limit_bytes
        self._headers = headers
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._more = asyncio.Event()
        self._ended = False
        self.task: asyncio.Task[None] | None = None

    def put(self, chunk: bytes) -> None:
        """Queue one chunk. One beyond the limit is taken; the next ends the stream."""
        if self._ended:
            return
        if self._held > self._limit:
            self.end()  # a slow reader: a resumable stream can be taken up again later
            return
        self._queue.append(chunk)
        self._held += len(chunk)
        self._more.set()
        self.start()

    def start(self) -> None:
        """Begin the response, also before anything is to be said."""
        if self.task is None:
            self.task = asyncio.create_task(self._write())

    def end(self) -> None:
        """No more will come; what is queued is still written."""
        self._ended = True
        self._more.set()

    async def closed(self) -> None:
        """Wait until everything is written."""
        if self.task is not None:
            await self.task

    async def _write(self) -> None:
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [*EVENT_STREAM, *self._headers],
        }
        await self._send(start)
        if not self._queue and not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        while True:
            if self._queue:
                chunk = b"".join(self._queue)
                self._queue.clear()
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
                self._held -= len(chunk)
                continue
            if self._ended:
                break
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), _KEEP_ALIVE_S)
            except TimeoutError:
                self._queue.append(b": still here\n\n")
                self._held += len(self._queue[-1])
        await self._send({"type": "http.response.body", "body": b""})


class HttpReply:
    """The answer to one POST.

    `streams` are the session's, where events can be resumed; `primed` says that the stream opens with
    an empty event that carries an id (MCP 2025-11-25). Where the client does not read event streams,
    events go to `aside` (the session's own stream) or, without one, nowhere.
    """

    def __init__(
        self,
        send: Send,
        *,
        readable: bool,
        limit_bytes: int,
        streams: Streams | None = None,
        primed: bool = False,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        modern: bool = False,
    ) -> None:
        self._send = send
        self._readable = readable
        self._limit = limit_bytes
        self._streams = streams
        self._primed = primed
        self._headers = headers
        self._modern = modern
        self._writer: StreamWriter | None = None
        self._stream: Stream | None = None
        self.done = False
        self._finished: asyncio.Future[None] | None = None

    # -- events

    def event(self, frame: bytes) -> None:
        """Send a message before the answer."""
        if self.done:
            return
        if not self._readable:
            if self._streams is not None:
                self._streams.own.add(frame)
            return
        self._open()
        self._put(frame)

    def reconnect(self, retry_ms: int) -> None:
        """End the response here; the answer waits in the session's streams. Only where it can be resumed."""
        if not self._primed or not self._readable or self.done or self._streams is None:
            return
        writer = self._open()
        writer.put(
            sse.encode(b"", id=self._stream.primer() if self._stream else None, retry=retry_ms)
        )
        if self._stream is not None:
            self._stream.detach(self._sink)
        writer.end()

    def _open(self) -> StreamWriter:
        if self._writer is None:
            self._writer = StreamWriter(self._send, self._limit, self._headers)
            if self._streams is not None:
                self._stream = self._streams.open()
                self._stream.attach(self._sink)
                if self._primed:
                    self._writer.put(sse.encode(b"", id=self._stream.primer(), retry=_RETRY_MS))
            self._writer.start()
        return self._writer

    def _sink(self, ident: str, message: bytes) -> None:
        if self._writer is not None:
            self._writer.put(sse.encode(one_line(message), event="message", id=ident))

    def _put(self, frame: bytes, *, last: bool = False) -> None:
        if self._stream is not None:
            self._stream.add(frame, last=last)
        elif self._writer is not None:
            self._writer.put(sse.encode(one_line(frame), event="message"))

    # -- the answer

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        """Send the answer: on the stream where one is open, else as plain JSON."""
        if self.done:
            return
        frame = self._frame(ident, spelled)
        if self._writer is None:
            self.done = True
            await send_json(self._send, frame, spelled.http, self._headers)
        else:
            self._put(frame, last=True)
            self.done = True
            self._writer.end()
            await self._writer.closed()
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    def _frame(self, ident: bytes, spelled: Spelled) -> bytes:
        if self._modern and ident == b"null" and spelled.error:
            # In the modern schema an error without a request has no id at all.
            return b'{"jsonrpc":"2.0","error":' + spelled.error + b"}"
        return spelled.frame(ident)

    async def abandon(self, ident: bytes) -> None:
        """The request was cancelled: close the response with an error that says so."""
        error = jsonrpc.encode({"code": _CANCELLED[0], "message": _CANCELLED[1]})
        await self.finish(ident, Spelled(error=error))

    async def finished(self) -> None:
        """Wait until somebody else has answered (a parked call taken up again)."""
        if not self.done:
            self._finished = asyncio.get_running_loop().create_future()
            await self._finished
