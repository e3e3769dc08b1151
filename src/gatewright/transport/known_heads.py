"""The heads of requests that one connection has sent before, so that none is parsed twice.

A client that keeps its connection sends the same head again and again: the same target, the same headers, nearly
always even the same length. Between two requests the parser remembers nothing, so the same bytes mean the same: what
was found out about a head is true of every later one that is equal to it, byte for byte. Only requests that were
plain in every way are remembered: a POST of HTTP/1.1 with a length, whole in one piece, that closes, upgrades and
expects nothing.
"""

from __future__ import annotations

from typing import Any

from gatewright.transport.http_exchange import Connection, Exchange

__all__ = ["KnownHeads"]

_END = b"\r\n\r\n"
_HEADS = 4
"""How many are remembered; the oldest goes first."""
_BYTES = 2048
"""A longer head is not remembered."""


class KnownHeads:
    """Head → (the ASGI scope of such a request, the length of its body)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[dict[str, Any], int]] = {}

    def request(self, connection: Connection, data: bytes) -> Exchange | None:
        """The request that `data` is, where it is one, whole, and its head is known."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        known = self._known.get(data[:cut])
        if known is None or len(data) - cut != known[1]:
            return None
        exchange = Exchange(connection, known[0].copy(), keep_alive=True, expects=False)
        exchange.body = data[cut:]
        exchange.whole = True
        return exchange

    def learn(self, exchange: Exchange, data: bytes) -> None:
        """Remember the head of `data`, which the parser took for one request and no more than that.
        Ignored where the request is not plain."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        scope = exchange.scope
        size = dict(scope["headers"]).get(b"content-length", b"")
        plain = exchange.keep_alive and not exchange.expecting and scope["http_version"] == "1.1"
        if not (plain and data.startswith(b"POST ") and cut > len(_END) and size.isdigit()):
            return
        if int(size) != len(data) - cut:
            return
        if len(self._known) == _HEADS:
            del self._known[next(iter(self._known))]
        self._known[data[:cut]] = scope.copy(), int(size)
