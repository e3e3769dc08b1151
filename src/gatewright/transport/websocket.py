"""`Pipe`s of WebSocket text frames: `Accepted` (ASGI server), `Connected` (client, by `connect`); cuts slow readers; `refuse`: HTTP answer.

Both sides are the same thing turned round: a queue that a writer task empties, judged by the slow-reader rule, and a
reader that hands frames on. Close codes (RFC 6455 §7.4): 1000 when we close, 1003 for a binary frame, 1007 for text
that is no UTF-8, 1008 for a client whose credential counts no more, 1009 for a frame over the limit, 1013 for a slow reader (it
may come again when it can read faster). A peer that does not read cannot take a closing frame either; its connection is
cut.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from websockets.asyncio.client import connect as dial
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from gatewright import __version__
from gatewright.transport.base import (
    FROM_CLIENTS,
    FROM_SERVERS,
    SLOW_READER,
    Limits,
    Pace,
    Receiver,
)
from gatewright.transport.http_dial import client_context, reach_host
from gatewright.transport.pipe_ends import Backlog, End
from gatewright.transport.websocket_client import CLOSE_S, ClientSide
from gatewright.web.redirects import redirect_said

__all__ = [
    "BROKEN_TEXT",
    "NOT_UTF8",
    "POLICY_VIOLATION",
    "Accepted",
    "CannotConnect",
    "Connected",
    "closing_reason",
    "connect",
    "refuse",
]

log = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

NORMAL = 1000
UNSUPPORTED_DATA = 1003
NOT_UTF8 = 1007
POLICY_VIOLATION = 1008
TOO_BIG = 1009
TRY_AGAIN_LATER = 1013

OPEN_S = 10.0
"""How long a connection and its handshake may take."""
_REASON_BYTES = 123


def closing_reason(reason: str) -> str:
    """As much of a reason as a closing frame has room for (RFC 6455 §5.5)."""
    return reason.encode("utf-8", "replace")[:_REASON_BYTES].decode(errors="ignore")


CLOSED = "closed"
"""The reason of a pipe that was closed here, for no other reason."""
BROKEN_TEXT = "a text frame that is not UTF-8"


class CannotConnect(Exception):  # noqa: N818 - named after what happened
    """No WebSocket connection. `status` is the HTTP status where the server answered with one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


async def refuse(
    receive: Receive,
    send: Send,
    status: int,
    body: bytes,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Answer the upgrade with an HTTP status and a JSON body instead of a WebSocket (decision C-27)."""
    await receive()
    own = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    start = {"type": "websocket.http.response.start", "status": status}
    await send({**start, "headers": [*own, *headers]})
    await send({"type": "websocket.http.response.body", "body": body})


class _FramePipe:
    """What both sides share. Subclasses say how a frame and a goodbye are sent."""

    def __init__(self, receiver: Receiver, limits: Limits) -> None:
        self._limits = limits
        self._end = End(receiver)
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._more = asyncio.Event()
        self._closing: str | None = None
        self._code = NORMAL
        self._backlog = Backlog(limits, lambda: self._held, self._slow)
        self._writing: asyncio.Task[None] | None = None
        self._pace = Pace(limits)

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
        """Close in an orderly way: what was queued still leaves."""
        self._shut(NORMAL, CLOSED)

    def leave(self, code: int, reason: str) -> None:
        """Close in the same way, with a code of RFC 6455 §7.4 and as much of the reason as there is room for."""
        self._shut(code, closing_reason(reason))

    async def wait_closed(self) -> str:
        """Wait for the end; the reason."""
        return await self._end.wait()

    async def _put(self, text: str) -> None:
        raise AssertionError("a side says how it sends")

    async def _goodbye(self, code: int, reason: str) -> None:
        raise AssertionError("a side says how it closes")

    def _slow(self) -> None:
        self._queue.clear()
        self._shut(TRY_AGAIN_LATER, SLOW_READER)
        if self._writing is not None:
            # It is stuck behind what the peer does not take. A new one says goodbye.
            self._writing.cancel()
            self._writing = asyncio.create_task(self._write())

    def _shut(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._code, self._closing = code, reason
            self._backlog.stop()
            self._more.set()

    async def _write(self) -> None:
        try:
            await self._write_on()
        except OSError:
            self._queue.clear()  # the peer is gone, which the reader tells
        except Exception:
            log.exception("a WebSocket cannot be written to")
            self._shut(NORMAL, "cannot write")
            raise

    async def _write_on(self) -> None:
        while True:
            while self._queue:
                message = self._queue.popleft()
                # JSON text is UTF-8; what is not may become unreadable, but never a broken frame.
                await self._put(message.decode("utf-8", "replace"))
                self._held -= len(message)
            if self._closing is not None:
                await self._goodbye(self._code, self._closing)
                return
            self._more.clear()
            await self._more.wait()

    async def _hand_on(self, text: str) -> None:
        if self._closing is not None:
            return  # whoever sent it could not be answered any more
        began = time.perf_counter()
        self._end.deliver(text.encode())
        if self._pace.over(time.perf_counter() - began):
            await asyncio.sleep(0)  # a flood must not keep the loop

    def _finish(self, reason: str) -> None:
        self._shut(NORMAL, reason)
        self._end.finish(self._closing or reason)

    def _lost(self, code: int | None) -> str:
        if code == TOO_BIG:
            return f"a message longer than {self._limits.frame_bytes} bytes"
        return BROKEN_TEXT if code == NOT_UTF8 else "closed by the peer"


class Accepted(_FramePipe):
    """The server's side of one connection: a `Pipe`, alive while `serve` runs.

    Reasons of its end: `closed`, `closed by the peer`, `slow reader`, `a message longer than N bytes`,
    `a binary frame; messages are text`, `a text frame that is not UTF-8`.
    """

    def __init__(
        self, receive: Receive, send: Send, receiver: Receiver, limits: Limits = FROM_CLIENTS
    ) -> None:
        super().__init__(receiver, limits)
        self._receive = receive
        self._send = send

    async def serve(self, subprotocol: str | None) -> str:
        """Accept, carry messages both ways until either side closes, and return the reason."""
        await self._receive()
        reason = "closed by the peer"
        try:
            await self._send({"type": "websocket.accept", "subprotocol": subprotocol})
            self._writing = asyncio.create_task(self._write())
            reason = await self._read()
        finally:
            self._finish(reason)
            await self._stop_writing()
        return self._end.reason or reason

    async def _stop_writing(self) -> None:
        # A task that was cancelled keeps where that was, and with it this pipe: for the collector, if this kept the task.
        writing, self._writing = self._writing, None
        if writing is None:
            return
        writing.cancel()
        await asyncio.wait([writing])
        if not writing.cancelled():
            writing.exception()  # it was logged

    async def _read(self) -> str:
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                return self._lost(event.get("code"))
            text = event.get("text")
            if text is not None:
                await self._hand_on(text)
            else:
                self._shut(UNSUPPORTED_DATA, "a binary frame; messages are text")

    async def _put(self, text: str) -> None:
        await self._send({"type": "websocket.send", "text": text})

    async def _goodbye(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})


class _Dial(dial):
    """Follows no redirect: the headers may hold secrets, and are for the configured server alone."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def _refusal(status: int) -> str:
    return f"refused the connection: HTTP {status}"


async def connect(
    url: str,
    *,
    receiver: Receiver,
    subprotocol: str | None = "mcp",
    headers: Mapping[str, str] | None = None,
    limits: Limits = FROM_SERVERS,
    tls: ssl.SSLContext | None = None,
) -> Connected:
    """Open a WebSocket (`ws:` or `wss:`) as a client. `headers` may hold secrets; they are not logged.

    `subprotocol` is what the server has to choose, None where there is nothing to choose. Goes straight to the
    address, whatever the environment says about proxies, and follows no redirect. Raises `CannotConnect`.
    """
    try:
        where = parse_uri(url)
        # The library takes `ssl` for `wss:` alone, and there no None.
        secure: dict[str, Any] = (
            {"ssl": tls or await client_context(verify=True)} if where.secure else {}
        )
        async with asyncio.timeout(OPEN_S):
            reached = await reach_host(where.host, where.port)
        try:
            connection = await _Dial(
                url,
                sock=reached,
                subprotocols=None if subprotocol is None else [Subprotocol(subprotocol)],
                additional_headers=dict(headers or {}),
                user_agent_header=f"gatewright/{__version__}",
                compression=None,
                proxy=None,
                open_timeout=OPEN_S,
                close_timeout=CLOSE_S,
                ping_interval=limits.ping_interval_s,
                ping_timeout=limits.ping_interval_s,
                max_size=limits.frame_bytes,
                create_connection=ClientSide,
                **secure,
            )
        except BaseException:
            reached.close()
            raise
    except InvalidStatus as refused:
        status = refused.response.status_code
        named = refused.response.headers.get_all("Location")
        away = redirect_said(url, status, {"Location": named[0]} if named else {})
        raise CannotConnect(f"{url} {away or _refusal(status)}", status) from None
    except (OSError, TimeoutError, WebSocketException, ValueError) as problem:
        raise CannotConnect(f"{url} cannot be reached: {str(problem) or 'no answer'}") from problem
    pipe = Connected(cast("ClientSide", connection), receiver, limits)
    if connection.subprotocol != subprotocol:
        connection.transport.abort()
        raise CannotConnect(f"{url} does not speak the WebSocket subprotocol {subprotocol!r}")
    pipe.start()
    return pipe


class Connected(_FramePipe):
    """The client's side of one connection: a `Pipe`. Made by `connect`. Its server has the limits of `websocket_intake`."""

    def __init__(self, connection: ClientSide, receiver: Receiver, limits: Limits) -> None:
        super().__init__(receiver, limits)
        self._connection = connection

    def start(self) -> None:
        """Begin to carry messages. `connect` does this."""
        self._writing = asyncio.create_task(self._write())
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        for _ in range(2):
            await asyncio.sleep(
                0
            )  # whoever connects holds the pipe before its receiver hears of anything
        reason = CLOSED
        try:
            while True:
                frame = await self._connection.recv()
                if isinstance(frame, str):
                    await self._hand_on(frame)
                else:
                    self._shut(UNSUPPORTED_DATA, "a binary frame; messages are text")
        except ConnectionClosed as closed:
            # What we sent says why: 1009 is how the library answers a message over `max_size`.
            reason = self._connection.guilt or self._lost(closed.sent.code if closed.sent else None)
            if closed.rcvd is not None and closed.rcvd.reason not in ("", CLOSED):
                reason += f": {closed.rcvd.reason}"
        finally:
            self._finish(reason)

    async def _put(self, text: str) -> None:
        try:
            await self._connection.send(text)
        except ConnectionClosed:
            self._queue.clear()

    async def _goodbye(self, code: int, reason: str) -> None:
        if code == TRY_AGAIN_LATER:
            self._connection.transport.abort()
        else:
            await self._connection.close(code, reason)
