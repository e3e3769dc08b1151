"""Small ASGI applications for the tests of HTTP."""

from __future__ import annotations

from typing import Any

from gatewright.transport.http_server import BodyTimeout, BodyTooLarge, ClientGone, read_body

__all__ = ["answer", "echo", "echo_at_most"]


async def answer(send: Any, status: int, body: bytes) -> None:
    """One whole response."""
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body."""
    await answer(send, 200, await read_body(receive, 1 << 24))


def echo_at_most(limit: int, timeout_s: float) -> Any:
    """Answer with the body, or with what is wrong with it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await read_body(receive, limit, timeout_s)
        except BodyTooLarge:
            await answer(send, 413, b"too large")
        except BodyTimeout:
            await answer(send, 408, b"too slow")
        except ClientGone:
            return
        else:
            await answer(send, 200, body)

    return app
