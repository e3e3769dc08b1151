"""An HTTP upstream: one message is one POST, answered by one JSON text or by a stream of events.

The question that matters after a failure is whether the server may have acted: a call that was surely not sent may be
repeated, one that may have been sent only if repeating it harms nobody. So every error says what is known about
that in `not_sent`: True where no byte of the request left (no address, no connection, no trust), False where some may
have, and None for the one case in between, a kept connection that the server closed just as it was used again, which
almost always means that the server never saw the request, and cannot be told from the contrary.

One session an upstream, with connections kept for less time than common servers keep theirs, so that this case stays
rare. No redirect is followed (the caller decides where its credentials go), no proxy is taken from the environment, no
cookie is kept. Headers and the path of the URL may hold secrets: neither is logged or put into an error.
"""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Literal

import aiohttp
import msgspec
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest, ClientResponse
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from gatewright import __version__
from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.wire.sse import EventTooLarge, SseEvent, SseParser

__all__ = [
    "AnswerTooLarge",
    "BadAnswer",
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

KEEP_ALIVE_S = 4.0
"""Node's and uvicorn's servers close an idle connection after five seconds."""
CONNECT_S = 10.0
HEADER_BYTES = 32 * 1024
LARGE_BODY = 1 << 20
"""aiohttp wants a body beyond this as a file, so that it writes it in pieces."""

Tls = ssl.SSLContext | bool
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


class ConnectionBroken(UpstreamError):  # noqa: N818
    """The connection was lost before the answer was whole."""


class TimedOut(UpstreamError):  # noqa: N818
    """The answer was not whole in time."""


class AnswerTooLarge(UpstreamError):  # noqa: N818
    """The answer, or one event of it, is longer than the limit."""


class BadAnswer(UpstreamError):  # noqa: N818
    """What came back is not HTTP, or not what its headers say."""


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


class _Journey:
    """How far one request got."""

    __slots__ = ("connected", "fresh")

    def __init__(self) -> None:
        self.connected = False
        self.fresh = False


_journey: ContextVar[_Journey] = ContextVar("_journey")


class _Connector(aiohttp.TCPConnector):
    """Tells the journey how it got its connection; aiohttp's own tracing costs a tenth of the whole request."""

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own signature
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        _journey.get().connected = True
        return connection

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own signature
    ) -> ResponseHandler:
        made = await super()._create_connection(req, traces, timeout)
        _journey.get().fresh = True
        return made


class HttpUpstream:
    """One URL and the connections to it. To be made on the running loop, and closed.

    `tls` is True (verify with the system's certificates), a context, or False for no verification.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: Limits = FROM_SERVERS,
        tls: Tls = True,
        keep_alive_s: float = KEEP_ALIVE_S,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        self.url = URL(url)
        if self.url.scheme not in {"http", "https"} or not self.url.host:
            raise ValueError("the URL of an upstream begins with http:// or https:// and a host")
        self.origin = str(self.url.origin())
        self._limits = limits
        self._session = session or _session(tls, keep_alive_s)

    def at(self, url: str) -> HttpUpstream:
        """The same server at another URL, over the same connections; only one of the two is to be closed."""
        return HttpUpstream(url, limits=self._limits, session=self._session)

    async def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        on_message: OnMessage,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - one clock of aiohttp's, which closes the connection too
        on_open: OnOpen | None = None,
    ) -> Posted:
        """POST one message. Each message of an event stream goes to `on_message` while it streams.

        `timeout` is seconds for the whole answer. `on_open` gets status and headers as soon as they are there.
        Raises `UpstreamError`; a cancellation closes the response at once.
        """
        own = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **headers,
        }
        data = body if len(body) < LARGE_BODY else io.BytesIO(body)
        on_event = _messages_to(on_message)
        return await self._ask("POST", own, on_event, data=data, timeout=timeout, on_open=on_open)

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
        own = {"Accept": "text/event-stream", "Cache-Control": "no-store", **headers}
        return await self._ask("GET", own, on_event, on_open=on_open)

    async def delete(self, headers: Mapping[str, str], *, timeout: float | None = 5.0) -> Posted:  # noqa: ASYNC109
        """DELETE, which ends a session."""
        return await self._ask("DELETE", headers, _ignore, timeout=timeout)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _ask(
        self,
        method: str,
        headers: Mapping[str, str],
        on_event: OnEvent,
        *,
        data: bytes | io.BytesIO | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        on_open: OnOpen | None = None,
    ) -> Posted:
        journey = _Journey()
        _journey.set(journey)
        try:
            response = await self._session.request(
                method,
                self.url,
                data=data,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_S),
            )
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise self._before_answer(problem, journey) from None
        try:
            if on_open is not None:
                on_open(response.status, response.headers)
            if response.ok and response.content_type == "text/event-stream":
                return await self._stream(response, on_event)
            return Posted(response.status, response.headers, await self._whole(response))
        except (aiohttp.ClientError, OSError) as problem:
            raise self._in_answer(problem) from None
        finally:
            # A response that was read to its end has given its connection back; this closes any other at once.
            response.close()

    async def _whole(self, response: ClientResponse) -> bytes:
        limit = self._limits.frame_bytes
        if (response.content_length or 0) > limit:
            raise AnswerTooLarge(f"{self.origin} answered with more than {limit} bytes")
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > limit:
                raise AnswerTooLarge(f"{self.origin} answered with more than {limit} bytes")
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _stream(self, response: ClientResponse, on_event: OnEvent) -> Posted:
        parser = SseParser(self._limits.frame_bytes)
        ended: Literal["complete", "broken"] = "complete"
        taken = 0
        try:
            async for piece in response.content.iter_any():
                for event in parser.feed(piece):
                    _give(on_event, event)
                    taken += 1
                    if taken % self._limits.turn_messages == 0:
                        await asyncio.sleep(0)  # a flood must not keep the loop
        except EventTooLarge as problem:
            raise AnswerTooLarge(f"{self.origin}: {problem}") from None
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError):
            ended = "broken"
        return Posted(
            response.status,
            response.headers,
            None,
            streamed=True,
            last_event_id=parser.last_event_id,
            retry_ms=parser.retry_ms,
            ended=ended,
        )

    def _before_answer(self, problem: Exception, journey: _Journey) -> UpstreamError:
        where = self.origin
        if isinstance(problem, TimeoutError):
            if journey.connected:
                return TimedOut(f"{where} did not answer in time")
            return CannotReach(f"{where} cannot be reached in time", not_sent=True)
        if isinstance(problem, aiohttp.ClientConnectorError):
            return CannotReach(f"{where} cannot be reached: {_why(problem)}", not_sent=True)
        if isinstance(problem, ValueError) or not journey.connected:
            return CannotReach(f"the request to {where} cannot be sent as it is", not_sent=True)
        if isinstance(problem, (aiohttp.ServerDisconnectedError, OSError)):
            lost = f"{where} closed the connection without an answer"
            return ConnectionBroken(lost, not_sent=False if journey.fresh else None)
        return BadAnswer(f"{where} answered with something that is not HTTP")

    def _in_answer(self, problem: Exception) -> UpstreamError:
        if isinstance(problem, TimeoutError):
            return TimedOut(f"{self.origin} did not finish its answer in time")
        if isinstance(problem, aiohttp.ClientPayloadError) and "encod" in str(problem).lower():
            return BadAnswer(f"{self.origin} answered with a body that cannot be decoded")
        return ConnectionBroken(f"{self.origin} closed the connection in the middle of its answer")


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


def _why(problem: Exception) -> str:
    """What the operating system or the certificate check says. Never a URL or a header."""
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted ({problem.certificate_error})"
    cause = problem.os_error if isinstance(problem, aiohttp.ClientConnectorError) else problem
    if isinstance(cause, OSError):
        return str(cause.strerror or "no connection")
    return (
        "the request cannot be sent as it is" if isinstance(cause, ValueError) else "no connection"
    )


def _session(tls: Tls, keep_alive_s: float) -> aiohttp.ClientSession:
    connector = _Connector(ssl=tls, limit=0, keepalive_timeout=keep_alive_s, socket_factory=_socket)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"gatewright/{__version__}", "Accept-Encoding": "identity"},
        trust_env=False,
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
    )


def _socket(address: Any) -> socket.socket:
    """A socket that notices, within minutes, that the machine at the other end is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
