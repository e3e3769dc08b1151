"""Cache of 4 HTTP/1.1 POST heads of one client connection, parsed once for any `Content-Length`; a lone head waits 50 ms for its body.

A client that keeps its connection sends the same head again and again: the same target, the same headers, and only the length is
another one. Between two requests the parser remembers nothing, so the same bytes mean the same: what was found out about a head is
true of every later one that is equal to it, byte for byte, but for the digits of its length. Only requests that were
plain in every way are remembered: a POST of HTTP/1.1 with a length, whose head came in one piece, that closes, upgrades and
expects nothing.

Some clients write head and body one after the other, so a head often comes alone. A known one waits `AHEAD_S` for its body; then, or
where something else follows, the parser gets it as if it came just now.
"""

from __future__ import annotations

from gatewright.transport.http_exchange import Connection, Exchange
from gatewright.transport.http_head import KnownHead

__all__ = ["AHEAD_S", "KnownHeads"]

AHEAD_S = 0.05
"""How long a head that came alone is kept from the parser."""

_END = b"\r\n\r\n"
_HEADS = 4
"""How many are remembered; the oldest goes first."""
_BYTES = 2048
"""A longer head is not remembered."""


class KnownHeads:
    """The heads of one connection. Each ends with its empty line and has no other, so what begins with it has no
    other head."""

    __slots__ = ("_known", "_last", "ahead")

    def __init__(self) -> None:
        self.ahead = b""
        """A known head that came alone, as long as it waits for its body."""
        self._known: list[KnownHead] = []
        self._last: KnownHead | None = None

    def request(self, connection: Connection, data: bytes) -> Exchange | None:
        """The request that `data` is, where it is one, whole, and its head is known."""
        known = self._last
        if known is not None and 102 < (size := len(data) - known.size) < 1003:
            # As `KnownHead.body` has it, of what is nearly always sent: the same head, with a length of three digits.
            rest = data.removeprefix(known.form % (size - 3))
            if rest is not data:
                return Exchange(connection, None, True, False, rest, True, known, size - 3)
        for known in self._known:
            body = known.body(data)
            if body is not None:
                self._last = known
                return Exchange(connection, None, True, False, body, True, known, len(body))
        return None  # more, or less, than one request, too: the parser's

    def waits(self, data: bytes) -> bool:
        """Whether `data` is a known head whose body has not come, which is kept `ahead`; the usual ones are short."""
        if data.endswith(_END) and any(one.declared(data) for one in self._known):
            self.ahead = data
        return bool(self.ahead)

    def learn(self, exchange: Exchange, data: bytes) -> None:
        """Remember the head of `data`, which the parser took for one request, or the beginning of one. Ignored where the request is
        not plain."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        scope, head = exchange.scope, data[:cut]
        size = dict(scope["headers"]).get(b"content-length", b"")
        plain = exchange.keep_alive and not exchange.expects and scope["http_version"] == "1.1"
        if not (plain and data.startswith(b"POST ") and cut > len(_END) and size.isdigit()):
            return
        if int(size) < len(data) - cut:
            return
        for one in self._known:
            if one.declared(head) is not None:
                exchange.head = one
                return
        try:
            exchange.head = self._last = KnownHead(head, size, scope)
        except ValueError:
            return
        if len(self._known) == _HEADS:
            del self._known[0]
        self._known.append(exchange.head)
