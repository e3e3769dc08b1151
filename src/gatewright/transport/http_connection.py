"""HTTP/1.1 server connection: parses requests, runs the application for each in order, enforces timeouts, upgrades to WebSocket.

httptools parses and calls back; each request becomes an `Exchange`, which runs the application in a task of its own. Requests that come before
the last one was answered wait in line, and nothing more is read meanwhile. What the client did wrong is answered with a status where an answer
can still be understood, and with a closed connection where not; neither is logged, because a stranger decides how many lines that would be.

At most one thing is awaited of a client at a time: a header block begun must end (`header_timeout_s`), a body begun
must end (`body_timeout_s`), the next request must come (`keep_alive_s`), and what was answered before it ended may
linger a little (`LINGER_S`). While we are the ones who do not read, nothing is awaited. Besides, a client that leaves
more than `queue_bytes` unread must read (`Patience`).
"""

from __future__ import annotations

import asyncio
import http
from contextvars import copy_context
from typing import Any, Literal, cast

import httptools

from gatewright.transport.connection_limits import Seat, Silent
from gatewright.transport.deadline import Deadline
from gatewright.transport.http_exchange import HIGH_WATER, Exchange
from gatewright.transport.http_head import (
    Flaw,
    Headers,
    judge,
    new_parser,
    offered,
    refusal,
    request,
    scope_of,
    scope_of_connection,
    split_target,
    status_of,
    weigh,
)
from gatewright.transport.http_server_state import Serving
from gatewright.transport.http_slices import Sliced
from gatewright.transport.request_head_cache import AHEAD_S, KnownHeads
from gatewright.transport.slow_senders import LOOK_S
from gatewright.transport.websocket_connection import WebSocketConnection
from gatewright.transport.write_queue import Patience

__all__ = ["HttpConnection"]

BODY_MARGIN_S = 2.0
"""How much longer than `read_body` the connection itself waits, so that whoever reads the body can answer."""
LINGER_S = 2.0
"""How long input is still read, and forgotten, after it was answered: closing at once could destroy the answer."""
IN_LINE = 256
"""How many requests may come before the first of them is answered; they arrive in one piece, or not at all."""


class HttpConnection(Sliced):
    """A connection that speaks HTTP, until perhaps it is upgraded."""

    def __init__(self, serving: Serving, seat: Seat) -> None:
        super().__init__(serving.turns)
        self.serving = serving
        self._seat = seat
        self.clogged, self.writable = False, asyncio.Event()
        self._limits = serving.limits
        self._parser = new_parser(self)
        self._running: Exchange | None = None
        self._waiting: list[Exchange] = []
        self._incoming: Exchange | None = None  # the last that began; may be answered already
        self._url = self._target = b""  # that of the request before is nearly always the same
        self._split: tuple[str, bytes, bytes] = ("", b"", b"")
        self._headers: Headers = []
        self._heads = KnownHeads()
        self._whole = True  # between two requests
        self._begun = 0  # requests that began in the data at hand
        self._moved = False  # the data at hand brought a head, a piece of a body, or its end
        self._size = 0  # of the data at hand
        self._held = 0  # bytes of a head that is not whole
        self._hollow = 0  # bytes within a body that are not body: sizes, extensions, trailers
        self._upgrade: Literal["", "websocket", "other"] = ""
        self._in_body = self._replays = self._deaf = self._paused = False
        self._deadline = Deadline(self._missed)

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.context, self._loop = copy_context(), asyncio.get_running_loop()
        self._patience = Patience(self.transport, self._limits)
        self._always = scope_of_connection(transport.get_extra_info)
        self.serving.connections.add(cast("Any", self))
        self._seat.holder = Silent(self._deadline, transport, self._asked, self._limits)
        self._deadline.expect("head", self._limits.header_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._seat.leave()
        self._deadline.stop()
        for exchange in (self._running, *self._waiting):
            if exchange is not None:
                exchange.leave()
        self._running = self._incoming = None
        self._waiting.clear()
        self.resume_writing()  # nobody waits for it any more
        self._parser = cast("Any", None)  # it holds us
        self.forget()
        self.serving.connections.discard(cast("Any", self))
        self.serving.gone()

    def pause_writing(self) -> None:
        self.clogged = True
        self.writable.clear()
        self._patience.paused()

    def resume_writing(self) -> None:
        self.clogged = False
        self.writable.set()
        self._patience.stop()

    def data_received(self, data: bytes) -> None:
        heads, known = self._heads, None
        if self._running is None and self._whole and not (self._held or self._rest or self._deaf):
            # The parser never sees such a request. It may be passed by: between two requests it remembers nothing.
            if heads.ahead:
                data, heads.ahead = heads.ahead + data, b""
            known = heads.request(self, data)
            if known is None and heads.waits(data):
                self._deadline.expect("rest", AHEAD_S)
                return
        if known is None:
            super().data_received(data)
            return
        self._deadline.awaited, self._incoming = "", known
        self._start(known)

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        if self._deaf:
            return
        fresh = self._whole and self._running is None and not self._held
        self._size, self._moved, self._begun = len(data), False, 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._hand_over(data[upgrade.args[0] :])
        except httptools.HttpParserError as problem:
            self._refuse(status_of(problem))
        else:
            if fresh and self._begun == 1 and self._incoming is not None:
                self._heads.learn(self._incoming, data)
            if partial := not (self._whole and self._moved):
                self._partly()
            self.came(self._size, partial=partial and self._deadline.left_s() > LOOK_S)

    def shutdown(self) -> None:
        """The server stops: finish what was asked, then close."""
        self._parse_ahead()
        last = self._waiting[-1] if self._waiting else self._running
        if self.stops_later():
            return
        if last is None:
            self.transport.close()
        else:
            last.keep_alive = False

    # -- the parser's

    def on_message_begin(self) -> None:
        """A request begins."""
        self._whole = False
        self._begun += 1
        self._url = b""

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        # The parser leaves white space behind a value, which is no part of it (RFC 9110 §5.5).
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        headers, self._headers = self._headers, []  # trailers are nobody's
        if self._replays:
            return
        if self._held + self._size > self._limits.header_bytes:
            weigh(self._url, headers, self._limits.header_bytes)
        self._held = self._hollow = 0
        self._in_body = self._moved = True
        self._deadline.awaited = ""
        known = dict(headers)
        keeps = self._parser.should_keep_alive()
        plain = keeps and b"connection" not in known  # then the version is 1.1, without asking
        version = "1.1" if plain else self._parser.get_http_version()
        odd = len(known) != len(headers) or b"host" not in known or b"transfer-encoding" in known
        if not plain or odd or self._url[:1] != b"/":
            judge(headers, known, version, self._url)
        modern = version == "1.1"  # a connection of HTTP/1.0 is never kept (decision 0008)
        expects = b"expect" in known and modern and known[b"expect"].lower() == b"100-continue"
        scope = self._scope(headers, version)
        unusual = expects or scope["method"] == "HEAD"
        self._incoming = Exchange(self, scope, keeps and modern, expects, unusual=unusual)
        if self._parser.should_upgrade():
            self._upgrade = offered(scope["method"], known, self._running)
        if self._upgrade != "websocket":
            self._admit(self._incoming)

    def on_body(self, data: bytes) -> None:
        """A piece of a body."""
        exchange = self._incoming
        self._moved = True
        if exchange is not None and not exchange.done:
            exchange.feed(data)

    def on_message_complete(self) -> None:
        """A request is whole."""
        exchange = self._incoming
        if self._upgrade or exchange is None:
            return  # the parser says so of every upgrade, whatever the length of its body
        self._whole = self._moved = True
        self._in_body = False
        self._deadline.awaited = ""
        exchange.whole = True
        exchange.wake()
        if exchange.done:
            self._deadline.expect("head", self._limits.header_timeout_s)

    def _scope(self, headers: Headers, version: str) -> dict[str, Any]:
        if self._url != self._target:
            self._target, self._split = self._url, split_target(self._url)
        return scope_of(
            self._always, version, self._parser.get_method().decode(), self._split, headers
        )

    def _asked(self) -> bool | None:
        busy = self._running or self._heads.ahead or self._rest
        return None if busy else self._incoming is not None

    # -- the order of requests

    def _admit(self, exchange: Exchange) -> None:
        if self._running is None:
            self._start(exchange)
        elif len(self._waiting) == IN_LINE:
            raise Flaw(http.HTTPStatus.TOO_MANY_REQUESTS)
        else:
            self._waiting.append(exchange)
            self._steer()

    def _start(self, exchange: Exchange) -> None:
        self._running = exchange
        if (head := exchange.head) is None or head.straight is None or not head.straight(exchange):
            exchange.begin(self._loop)

    def taken(self) -> None:
        """The application took what there was of a body."""
        if self._paused:
            self._steer()

    def answered(self, exchange: Exchange) -> None:
        """A response is complete."""
        self._running = None
        if exchange.keep_alive and not (self._waiting or self._in_body):
            if self._paused:  # for a body that came whole, and that nobody took
                self._steer()
            if not self._deadline.awaited:
                self._deadline.expect("idle", self._limits.keep_alive_s)
        elif not exchange.keep_alive:
            self._deaf = True  # who stands in line may ask elsewhere by now (RFC 9112 §9.6)
            (self._part if self._in_body or self._waiting else self.transport.close)()
        elif self._waiting:
            self._start(self._waiting.pop(0))
            self._steer()
        else:
            self._deadline.expect("linger", LINGER_S)
            self._steer()

    def _steer(self) -> None:
        """Read on, or not: more is of no use while requests wait, or a body is not taken."""
        exchange = self._incoming
        full = bool(self._waiting) or (exchange is not None and len(exchange.body) > HIGH_WATER)
        if full == self._paused or self.transport.is_closing():
            return
        self._paused = full
        if full:
            self._deadline.awaited = ""
            self.transport.pause_reading()
        else:
            self.read_on()
            self._await_rest()

    # -- what is awaited of the client

    def _partly(self) -> None:
        """Part of a request arrived, or nothing but empty lines."""
        if self._in_body:
            self._hollow = 0 if self._moved else self._hollow + self._size
            if self._hollow > self._limits.header_bytes:
                self._refuse(http.HTTPStatus.BAD_REQUEST)
                return
        else:
            # How much of data that ended a request is of the next head is unknown; that head's later pieces are counted.
            self._held += 1 if self._moved else self._size
            if self._held > self._limits.header_bytes:
                self._refuse(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return
        self._steer()
        self._await_rest()

    def _await_rest(self) -> None:
        """Whatever was begun must end in time; more time is not given for more pieces."""
        if self._paused or self._deaf:
            return
        if self._in_body:
            if not self._deadline.awaited:
                self._deadline.expect("body", self._limits.body_timeout_s + BODY_MARGIN_S)
        elif self._held and self._deadline.awaited != "head":
            self._deadline.expect("head", self._limits.header_timeout_s)

    def _parse_ahead(self) -> None:
        """A head that came alone is the parser's after all."""
        if self._heads.ahead:
            data, self._heads.ahead = self._heads.ahead, b""
            super().data_received(data)

    def _missed(self, what: str) -> None:
        if what == "rest":
            self._parse_ahead()
        elif self.hurry(in_line=what != "linger"):  # what came may be all that is awaited
            self._deadline.expect(what, LOOK_S)
        elif what == "body" or (what == "head" and self._held):
            self._refuse(http.HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()

    # -- what is refused

    def _refuse(self, status: http.HTTPStatus) -> None:
        """Say `status` where no other answer is on its way, and close."""
        self._deaf = True
        self._deadline.awaited = ""
        running = self._running
        if running is not None and running is self._incoming and not running.whole:
            # What never was a whole request has no other answer; who reads its body learns that nobody waits.
            running.leave()
            if not running.begun:
                self._running = running = None
        if self.transport.is_closing():
            return
        if running is not None:
            self.transport.close()
            return
        self.transport.write(refusal(status))
        self._part()

    def _part(self) -> None:
        """Close when the client has had time to read, and forget what it still says: closing with input unread
        would make the system reset the connection, and lose the answer."""
        self._deaf = True
        if not self.transport.can_write_eof():  # TLS knows no half-closed connection
            self.transport.close()
            return
        self.transport.write_eof()
        self.awake()
        self._deadline.expect("linger", LINGER_S)

    # -- upgrades

    def _hand_over(self, rest: bytes) -> None:
        upgrade, self._upgrade = self._upgrade, ""
        if upgrade == "websocket":
            self._to_websocket(rest)
        else:
            self._decline(rest)

    def _to_websocket(self, rest: bytes) -> None:
        state, scope = self.serving, cast("Exchange", self._incoming).scope
        self._incoming = None  # which has this: no collector is to be needed
        self._deadline.stop()
        self._patience.stop()
        self._parser = cast("Any", None)
        state.connections.discard(cast("Any", self))
        head = request(scope["method"], self._url, scope["http_version"], scope["headers"])
        heir = WebSocketConnection(state.config, state, {}, limits=self._limits, seat=self._seat)
        self.hand_over(heir)
        heir.connection_made(self.transport)
        heir.data_received(head + rest)

    def _decline(self, rest: bytes) -> None:
        """Go on in HTTP/1.1, which every offer of another protocol allows: a new parser is told no more than how
        long the body is."""
        headers = cast("Exchange", self._incoming).scope["headers"]
        framing = [one for one in headers if one[0] in (b"content-length", b"transfer-encoding")]
        self._parser, self._replays = new_parser(self), True
        self._parser.feed_data(request("POST", b"/", "1.1", framing))
        self._replays = False
        if rest:
            self.feed(rest)
        elif not self._whole:
            self._partly()
