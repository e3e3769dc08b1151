"""`Exchange`: one HTTP request on the server: runs the ASGI app or a task-free shortcut, frames and writes the response; 500 if it fails.

Most requests are whole before the application asks, and most answers are one piece: then `receive` returns at once,
and head and body leave in one write. The head waits for the first piece of the body, so that an application that
breaks in between can still be answered for, and so that the length is known where the first piece is the last.
"""

from __future__ import annotations

import asyncio
import http
import logging
import sys
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, Protocol, cast

import msgspec

from gatewright.transport.http_head import KnownHead, end_of_head, refusal, spell, whole_head
from gatewright.transport.http_server_state import Serving
from gatewright.transport.taskless import Started, Taskless

__all__ = ["ENOUGH", "HIGH_WATER", "Connection", "Exchange"]

log = logging.getLogger(__name__)

HIGH_WATER = 64 * 1024
"""How much of a body is held for an application that does not read it, before the connection is not read any more."""

ENOUGH = 4096
"""So much of a body is handed over at once, besides its first piece and its last: a client that sends single bytes costs no turn of the
application for each."""

_DISCONNECT = "http.disconnect"
_NOT_BEGUN = "the response has not begun: http.response.start comes first"
_OTHER_LENGTH = "the body has another length than the response declared"
_NO_BODY = frozenset((204, 304))
_REQUEST_TIMEOUT = 408
_UNUSUAL = _NO_BODY | {_REQUEST_TIMEOUT}


class Connection(Protocol):
    """What an exchange needs of its connection."""

    transport: asyncio.Transport
    serving: Serving
    context: Context
    """In which its requests are served."""
    clogged: bool
    """The client does not read; wait until `writable`."""
    writable: asyncio.Event

    def taken(self) -> None:
        """The application took what there was of the body."""

    def answered(self, exchange: Exchange) -> None:
        """The response is complete."""


class Exchange(msgspec.Struct, eq=False):
    """One request and its response. The connection adds to `body`, sets `whole` at its end, and `gone` when the client left.

    A struct, because one is made for every request.
    """

    connection: Connection
    _scope: dict[str, Any] | None
    keep_alive: bool
    expects: bool
    """The client waits for `100 Continue`."""
    body: bytes | bytearray = b""
    whole: bool = False
    head: KnownHead | None = None
    """Where it is one that the connection remembers."""
    size: int = 0
    """Of the body, where the head is such a one and `_scope` was not made."""
    gone: bool = False
    begun: bool = False
    """Bytes of the answer were written."""
    done: bool = False
    """All of them were."""
    task: asyncio.Task[None] | None = None
    straight: Taskless | None = None
    """What goes on with it without a task, and has read its body."""
    unusual: bool = False
    """Something was said or has happened that `answer` does not know how to go on from."""
    _taken: bool = False
    _given: bool = False
    """Whether the application has a piece of the body."""
    _news: asyncio.Event | None = None
    _tell: Callable[[], None] | None = None
    _head: bytes | None = None
    _bare: bool = False
    _chunked: bool = False
    _length: int | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """ASGI's; made once somebody asks for it."""
        scope = self._scope
        if scope is None:
            self._scope = scope = cast("KnownHead", self.head).scope(self.size)
        return scope

    # -- for the connection

    def go_on(self, work: Awaitable[None]) -> None:
        """Answer in a task what was begun without one: in the context of its connection, whoever had it go on."""
        self._taken, self.body = True, b""
        self.straight, context = None, self.connection.context.copy()
        running = Started(self.run(work))
        self.task = task = asyncio.get_running_loop().create_task(running, context=context)
        self.connection.serving.tasks.add(task)

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have it run in a task (`run`)."""
        self.task = task = loop.create_task(self.run())
        self.connection.serving.tasks.add(task)

    async def run(self, work: Awaitable[None] | None = None) -> None:
        """Run the application for this request, or the `work` that is left of it, and answer for it if it does not."""
        serving = self.connection.serving
        try:
            if work is not None:
                await work
            elif self.head is not None and self.head.serve is not None:
                await self.head.serve(self)
            elif serving.takes_exchange:
                await serving.app(self.scope, self.receive, self.send, self)
            else:
                # It may change its scope, which is that of every request with this head.
                scope = self.scope if self.head is None else self.scope.copy()
                await serving.app(scope, self.receive, self.send)
            if not self.done and not self.gone:
                log.error("the application returned without a complete response")
                self._give_up()
        except asyncio.CancelledError:
            self._give_up()
            raise
        except Exception:  # the application's; its request ends here, the server goes on
            log.exception("the application broke on a request")
            self._give_up()
        finally:
            if self.task is not None:
                serving.tasks.discard(self.task)

    def feed(self, data: bytes) -> None:
        """A piece of the body arrived."""
        if not self.body:
            self.body = data
        elif isinstance(self.body, bytearray):
            self.body += data
        else:
            self.body = bytearray(self.body)
            self.body += data
        if self._news is not None and self._has_some:
            self._news.set()

    @property
    def _has_some(self) -> bool:
        """Whether a piece of the body is worth handing over."""
        return len(self.body) >= (ENOUGH if self._given else 1)

    def wake(self) -> None:
        """Something changed that `receive` may wait for."""
        if self._news is not None:
            self._news.set()

    def leave(self) -> None:
        """There is nobody to answer any more."""
        self.gone = self.unusual = True
        self.wake()
        if self.straight is not None:
            asyncio.get_running_loop().call_soon(self.straight.left)
            self.straight = None
        if self._tell is not None:
            asyncio.get_running_loop().call_soon(self._tell)

    # -- for the application

    def take_whole(self, most: int = sys.maxsize) -> bytes | None:
        """The body, where all of it is there and nobody has taken any; `receive` has the rest of the cases,
        and a body of more than `most` bytes."""
        if not self.whole or self._taken or self.gone or self.done or len(self.body) > most:
            return None
        self._taken = True
        body, self.body = self.body, b""
        if len(body) > HIGH_WATER:
            self.connection.taken()  # which has perhaps paused for it
        return body if type(body) is bytes else bytes(body)

    def answer(self, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes) -> bool:
        """Send a whole response at once. False where that is not the usual case: then `send` it."""
        connection = self.connection
        if self.unusual or connection.clogged or not self.keep_alive or status in _UNUSUAL:
            return False
        head = whole_head(status, connection.serving.date, headers)
        if head is None:
            return False
        self._write_whole(head, body)
        return True

    def answer_json(self, body: bytes) -> bool:
        """The same for what most answers are: 200, with JSON and no other header."""
        connection = self.connection
        if self.unusual or connection.clogged or not self.keep_alive:
            return False
        self.begun = self.done = self.unusual = True
        # A connection has its last request for as long as it is kept.
        self.straight, self.body = None, b""
        transport = connection.transport
        if not transport.is_closing():
            transport.write(b"%b%d\r\n\r\n%b" % (connection.serving.json_head, len(body), body))
        if self._news is not None:
            self._news.set()
        connection.answered(self)
        return True

    def when_gone(self, tell: Callable[[], None]) -> None:
        """Call `tell`, in a turn of its own, should the client leave before it was answered. One can be told."""
        self._tell = tell
        if self.gone:
            asyncio.get_running_loop().call_soon(tell)

    def _write_whole(self, head: bytes, body: bytes) -> None:
        self.begun = self.done = self.unusual = True
        self.body = b""
        transport = self.connection.transport
        if not transport.is_closing():
            transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        if self._news is not None:
            self._news.set()
        self.connection.answered(self)

    async def receive(self) -> dict[str, Any]:
        """ASGI's."""
        whole = self.take_whole()
        if whole is not None:
            return {"type": "http.request", "body": whole, "more_body": False}
        if self.expects and not self.whole:
            self._invite()
        news = self._news = self._news or asyncio.Event()
        while not (self.gone or self.done):
            if self._has_some or (self.whole and not self._taken):
                self._taken, self._given = self.whole, True
                body, self.body = bytes(self.body), b""
                self.connection.taken()
                return {"type": "http.request", "body": body, "more_body": not self.whole}
            news.clear()
            await news.wait()
        return {"type": _DISCONNECT}

    async def send(self, message: dict[str, Any]) -> None:
        """ASGI's. Waits while the client does not read; what is said to nobody is dropped."""
        connection = self.connection
        if connection.clogged:
            await connection.writable.wait()
        if self.gone:
            return
        kind = message["type"]
        if kind == "http.response.body":
            self._send_body(message.get("body", b""), message.get("more_body", False))
        elif kind == "http.response.start":
            self._begin(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"an ASGI message of the type {kind!r} answers no HTTP request")

    def _begin(self, status: int, headers: Any) -> None:
        if self.begun or self._head is not None:
            raise RuntimeError("the response began before")
        self._head, self._length, close = spell(status, self.connection.serving.date, headers)
        self.unusual = True
        if (
            close or status == _REQUEST_TIMEOUT
        ):  # RFC 9110 §15.5.9: the rest of the request is not waited for
            self.keep_alive = False
        if status in _NO_BODY:
            self._length = None
            self._bare = True
        elif self.scope["method"] == "HEAD":
            self._bare = True

    def _send_body(self, body: bytes, more: bool) -> None:
        if not (more or self.begun or self._bare or self.expects or not self.keep_alive):
            # The usual: all of it at once.
            if self._head is None:
                raise RuntimeError(_NOT_BEGUN)
            if self._length is not None and self._length != len(body):
                raise RuntimeError(_OTHER_LENGTH)
            self._write_whole(self._head, body)
            return
        data = self._piece(body, more)
        self.begun = True
        transport = self.connection.transport
        if data and not transport.is_closing():
            transport.write(data)
        if not more:
            self.done = True
            self.body = b""
            self.wake()
            self.connection.answered(self)

    def _piece(self, body: bytes, more: bool) -> bytes:
        if self.done:
            raise RuntimeError("the response is complete already")
        data = b"" if self.begun else self._whole_head(body, more)
        if self._chunked:
            return data + self._chunk(body, more)
        if self._bare:
            return data
        if self._length is not None:
            self._count(len(body), more)
        return data + body

    def _whole_head(self, body: bytes, more: bool) -> bytes:
        if self._head is None:
            raise RuntimeError(_NOT_BEGUN)
        if self._length is None and not self._bare:
            if not more:
                self._length = len(body)
            elif self.scope["http_version"] == "1.1":
                self._chunked = True
            else:
                self.keep_alive = False  # the end of the connection is the end of the body
        if self.expects and not self.whole:
            # Not told to go on, the client may send its body or its next request: only it knows which.
            self.keep_alive = False
        return self._head + end_of_head(
            self._length, chunked=self._chunked, close=not self.keep_alive
        )

    def _count(self, size: int, more: bool) -> None:
        left = (self._length or 0) - size
        if left < 0 or (left and not more):
            raise RuntimeError(_OTHER_LENGTH)
        self._length = left

    @staticmethod
    def _chunk(body: bytes, more: bool) -> bytes:
        last = b"" if more else b"0\r\n\r\n"
        return b"%x\r\n%b\r\n%b" % (len(body), body, last) if body else last

    def _invite(self) -> None:
        self.expects = False
        transport = self.connection.transport
        # Left out once the body is on its way, as RFC 9110 §10.1.1 allows.
        if not (self.body or self.begun or self.gone or transport.is_closing()):
            transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _give_up(self) -> None:
        """The application ended without an answer, or in the middle of one."""
        transport = self.connection.transport
        if self.done or self.gone or transport.is_closing():
            return
        self.keep_alive = False
        if self.begun:
            transport.close()
            return
        self.begun = self.done = self.unusual = True
        transport.write(refusal(http.HTTPStatus.INTERNAL_SERVER_ERROR))
        self.wake()
        self.connection.answered(self)
