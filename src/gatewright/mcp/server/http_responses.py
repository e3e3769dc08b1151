"""Sends whole ASGI responses, for all HTTP endpoints: JSON, JSON in pieces, plain text; headers of a 401 or 403 that challenge (Bearer)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from gatewright.transport.http_head import JSON

__all__ = ["Send", "Whole", "challenge", "send_json", "send_pieces", "send_plain", "step_up"]

Send = Callable[[dict[str, Any]], Awaitable[None]]


if TYPE_CHECKING:  # a server over stdio loads no HTTP server
    from gatewright.transport.http_exchange import Exchange as Whole
else:
    Whole = Any
"""What our own HTTP server offers besides ASGI, for requests and answers that are one piece."""

_JSON = JSON[0]
_PIECE = 64 * 1024


async def send_json(
    send: Send, body: bytes, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """One whole JSON response."""
    length = (b"content-length", b"%d" % len(body))
    await send(
        {"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})


async def send_pieces(
    send: Send, body: bytes, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    """A JSON response that leaves in pieces where it is long: the next one once the client has room for
    it, so that a large answer is not held a second time in our buffers."""
    if len(body) <= _PIECE:
        await send_json(send, body, status, headers)
        return
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, *headers]})
    left = memoryview(body)
    while left:
        piece, left = bytes(left[:_PIECE]), left[_PIECE:]
        await send({"type": "http.response.body", "body": piece, "more_body": bool(left)})


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


def challenge(reason: str, scope: str = "") -> tuple[tuple[bytes, bytes], ...]:
    """The header that goes with a 401: how to say who asks. `reason` is a refusal's; for a token that is
    not enough `scope` is what would be."""
    if scope:
        return step_up(scope)
    if reason == "issuer_unavailable":
        return ()
    error = b"" if reason == "auth_required" else b', error="invalid_token"'
    return ((b"www-authenticate", b'Bearer realm="gatewright"' + error),)


def step_up(scope: str) -> tuple[tuple[bytes, bytes], ...]:
    """The header that goes with a 403 to a token that is not enough: which scopes are."""
    error = f'error="insufficient_scope", scope="{scope}"'.encode()
    return ((b"www-authenticate", b'Bearer realm="gatewright", ' + error),)
