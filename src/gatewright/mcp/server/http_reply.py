"""The response to one POST of MCP over HTTP: a JSON body, or server-sent events (`HttpReply`) written without waiting (`StreamWriter`).

On the common way (no events, no questions) this costs two ASGI messages and no task. The first event
starts a writer task; from then on messages are handed over without waiting and a client that does not
read loses its connection, not the kernel its turn.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import Callable

import msgspec

from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.replay import Stream, Streams
from gatewright.mcp.server.event_limits import fitting
from gatewright.mcp.server.http_responses import Send, Whole, send_json, step_up
from gatewright.mcp.server.kept_answers import About, of_request
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.server.shown_rights import same_rights
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.base import Limits
from gatewright.transport.http_head import JSON
from gatewright.transport.pipe_ends import Backlog
from gatewright.web import sse

__all__ = [
    "HttpReply",
    "Meant",
    "StreamWriter",
    "elsewhere",
    "one_line",
]

log = logging.getLogger("gatewright.mcp.server")

_EVENT_STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back until its buffer is full
)

_JSON = JSON[0]
_KEEP_ALIVE_S = 15.0
_PIECE = 64 * 1024
_RETRY_MS = 1000
_CANCELLED = (-32800, "the request was cancelled")  # LSP's number: neither JSON-RPC nor MCP has one


def one_line(message: bytes) -> bytes:
    """The message without raw line breaks, which in JSON can only be white space."""
    if message.find(b"\n") >= 0 or message.find(b"\r") >= 0:
        return message.replace(b"\r", b" ").replace(b"\n", b" ")
    return message


Meant = Callable[[About], About]
"""`Kept.meant`, for who asks."""


class StreamWriter:
    """Writes server-sent events to one response; `put` never waits.

    A client that does not read (see `transport.base`) is cut: nothing more is written, `cut` is called,
    and the response ends unfinished; the server closes its connection. What a session owes can be taken
    up on another one.
    """

    def __init__(
        self,
        send: Send,
        limit_bytes: int,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        cut: Callable[[], None] | None = None,
    ) -> None:
        self._send = send
        self._headers = headers
        self._when_cut = cut
        self._queue: deque[bytes] = deque()
        self.waiting = 0
        self._more = asyncio.Event()
        self._ended = False
        self._task: asyncio.Task[None] | None = None
        burst = max(Limits().burst_bytes, limit_bytes)
        limits = Limits(queue_bytes=limit_bytes, burst_bytes=burst)
        self._backlog = Backlog(limits, lambda: self.waiting, self.cut)

    def put(self, chunk: bytes) -> None:
        """Queue one chunk; without effect after the end."""
        if self._ended:
            return
        if not self._backlog.admit(len(chunk)):
            self.cut()
            return
        self._queue.append(chunk)
        self.waiting += len(chunk)
        self._more.set()
        self.start()

    @property
    def ended(self) -> bool:
        """Whether nothing more will be taken."""
        return self._ended

    def start(self) -> None:
        """Begin the response, also before anything is to be said."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def end(self) -> None:
        """No more will come; what is queued is still written."""
        self._ended = True
        self._more.set()

    def cut(self) -> None:
        """Give the connection up."""
        self._ended, self.waiting = True, 0
        self._queue.clear()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            if self._when_cut is not None:
                self._when_cut()

    async def closed(self) -> None:
        """Wait until everything is written, or the connection was given up."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._write()
        except OSError:
            self._queue.clear()  # the client is gone
        except Exception:
            log.exception("an event stream broke")
        finally:
            self._ended, self.waiting = True, 0
            self._backlog.stop()

    async def _write(self) -> None:
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [*_EVENT_STREAM, *self._headers],
        }
        await self._send(start)
        if not self._queue and not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        while self._queue or not self._ended:
            if self._queue:
                await self._flush()
                continue
            self._more.clear()
            try:
                # Not `wait_for`, which in Python 3.11 may swallow a cancellation.
                async with asyncio.timeout(_KEEP_ALIVE_S):
                    await self._more.wait()
            except TimeoutError:
                self.put(b": still here\n\n")
        await self._send({"type": "http.response.body", "body": b""})

    async def _flush(self) -> None:
        """Write what is queued, in pieces, so that it shows how much the client takes."""
        waiting = memoryview(b"".join(self._queue))
        self._queue.clear()
        while waiting:
            piece = bytes(waiting[:_PIECE])
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            self.waiting -= len(piece)
            waiting = waiting[_PIECE:]


class HttpReply(msgspec.Struct, eq=False, weakref=True):
    """The answer to one POST.

    `streams` are the session's, where events can be resumed; `primed` says that the stream opens with
    an empty event that carries an id (MCP 2025-11-25). Where the client does not read event streams,
    events go to the session's own stream or, without one, nowhere.
    """

    send: Send
    readable: bool
    limit_bytes: int
    whole: Whole | None = None
    streams: Streams | None = None
    primed: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()
    modern: bool = False
    small: bool = False
    """Whether the client gives up on a large event (`HttpHeaders.small_events`). What is only told then goes on the session's own
    stream where somebody reads that, so that the answer is still free to be plain JSON of any size."""
    done: bool = False
    shown: Presented | None = None
    """Who asked, and with what: nobody else is given what is kept for who comes back."""
    inbound: Inbound | None = None
    """What was asked, where that is a call."""
    meant: Meant | None = None
    """What that means when it begins."""
    _of: About | None = None
    _writer: StreamWriter | None = None
    _stream: Stream | None = None

    @property
    def resumable(self) -> bool:
        """Whether a client whose connection breaks can come back for the answer."""
        return self.primed and self.readable and self.streams is not None

    # -- events

    @property
    def behind(self) -> int:
        """Bytes that the client has not taken yet."""
        return 0 if self._writer is None else self._writer.waiting

    def event(self, frame: bytes) -> bool:
        """Send a message before the answer."""
        if self.done:
            return False
        if not self.readable:
            return elsewhere(self.streams, self.shown, frame, self._about)
        if not self._beside(frame):
            self._open()
            self._put(frame)
        return True

    def recall(self, frame: bytes) -> None:
        """Take a question back: behind the answer on the session's own stream, since this one has ended with it."""
        if not self.event(frame):
            elsewhere(self.streams, self.shown, frame, self._about)

    def _beside(self, frame: bytes) -> bool:
        """Whether a notification went on the session's own stream, before anything went on this one."""
        own = None if self.streams is None else self.streams.own
        if not self.small or own is None or self._writer is not None or not own.attached:
            return False
        if not jsonrpc.is_notification(frame) or not same_rights(own.whose, self.shown):
            return False
        own.add(frame, about=self._about)
        return True

    @property
    def _about(self) -> About | None:
        if self._of is None and self.inbound is not None:
            of = of_request(self.inbound)
            self._of = of if self.meant is None else self.meant(of)
        return self._of

    def commit(self) -> None:
        """Begin the stream now, where the client could resume it; nothing has gone before the answer."""
        answered = self.done or (self.whole is not None and self.whole.done)
        if self.resumable and not answered:
            self._open()

    def commit_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """The same, as late as a silent connection allows: for who reads large answers as plain JSON alone. Nothing is held for it."""
        if self.resumable:
            loop.call_later(_KEEP_ALIVE_S, _commit, weakref.ref(self))

    def reconnect(self, retry_ms: int) -> None:
        """End the response here; the answer waits in the session's streams. Only where it can be resumed."""
        if not self.resumable or self.done:
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
            self._writer = StreamWriter(self.send, self.limit_bytes, self.headers, self._cut)
            if self.streams is not None:
                self._stream = self.streams.open(self.shown)
                self._stream.about = self._about
                self._stream.attach(self._sink)
                if self.primed:
                    self._writer.put(sse.encode(b"", id=self._stream.primer(), retry=_RETRY_MS))
            self._writer.start()
        return self._writer

    def _cut(self) -> None:
        if self._stream is not None:
            self._stream.detach(self._sink)

    def _sink(self, ident: str, message: bytes) -> None:
        if self._writer is not None:
            self._writer.put(sse.encode(one_line(message), event="message", id=ident))

    def _put(self, frame: bytes, *, last: bool = False) -> None:
        if self._stream is not None:
            self._stream.add(frame, last=last)
        elif self._writer is not None:
            self._writer.put(sse.encode(one_line(frame), event="message"))

    # -- the answer

    def say(self, ident: bytes, result: bytes) -> bool:
        """Send a result at once, where nothing went before it and the server can; else False, and it is to `finish`."""
        whole = self.whole
        if self._writer is not None or whole is None or self.headers or self.done:
            return False
        self.done = whole.answer_json(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (ident, result))
        return self.done

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        """Send the answer: on the stream where one is open, else as plain JSON."""
        if self.done:
            return
        self.done = True
        frame = self._frame(ident, spelled) if spelled.error else spelled.frame(ident)
        writer = self._writer
        if writer is None:
            whole, headers = self.whole, self.headers
            said = (_JSON, *headers) if headers else JSON
            if whole is None or spelled.scope or not whole.answer(spelled.http, said, frame):
                more = step_up(spelled.scope) if spelled.scope else ()
                await send_json(self.send, frame, spelled.http, (*headers, *more))
            return
        self._put(fitting(ident, frame) if self.small else frame, last=True)
        if self._stream is not None:
            self._stream.detach(self._sink)
        writer.end()
        await writer.closed()

    def _frame(self, ident: bytes, spelled: Spelled) -> bytes:
        if self.modern and ident == b"null":
            # In the modern schema an error without a request has no id at all.
            return b'{"jsonrpc":"2.0","error":' + spelled.error + b"}"
        return spelled.frame(ident)

    async def abandon(self, ident: bytes, why: Spelled | None = None) -> None:
        """The request was cancelled: close the response with an error that says so, or `why` there is nothing else to say."""
        error = jsonrpc.encode({"code": _CANCELLED[0], "message": _CANCELLED[1]})
        await self.finish(ident, why or Spelled(error=error))


def elsewhere(
    streams: Streams | None, shown: Presented | None, frame: bytes, about: About | None = None
) -> bool:
    """Send on a session's own stream what has no place on a response. False where there is none, or somebody with other rights carries
    it: only they could be told."""
    if streams is None or not same_rights(streams.own.whose, shown):
        return False
    streams.own.add(frame, about=about)
    return True


def _commit(one: weakref.ref[HttpReply]) -> None:
    reply = one()
    if reply is not None:
        reply.commit()
