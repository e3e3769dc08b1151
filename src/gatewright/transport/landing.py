"""The place on this machine to which a browser comes back after a login: one redirect URI at a time, one arrival.

Any web page can make a browser ask here as well, and so can another authorization server. So an arrival counts only at the
redirect URI of the login that waits and with the `state` that it made up; everything else is turned away, and the wait goes on.
"""

from __future__ import annotations

import asyncio
import hmac
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

__all__ = ["Landing", "LandingTaken"]

_HEAD_BYTES = 16 * 1024
_PATIENCE_S = 10.0
_PATH = "/callback"
"""Each issuer has a path of its own below this one."""


class LandingTaken(OSError):  # noqa: N818 - what happened
    """The port is in use, or may not be used."""


class Landing:
    """Use as an async context manager. `port` 0 takes any free one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._state = self._redirect_uri = ""
        self._arrived: asyncio.Future[str] | None = None

    @property
    def url(self) -> str:
        """Below which redirect URIs are: an address, not a name, as RFC 8252 §7.3 advises."""
        return f"http://127.0.0.1:{self._port}{_PATH}"

    async def __aenter__(self) -> Landing:
        try:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self._port, limit=_HEAD_BYTES
            )
        except OSError as problem:
            raise LandingTaken(problem.errno, f"port {self._port}: {problem.strerror}") from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def expect(self, visited: str) -> asyncio.Future[str]:
        """Expect the browser to come back from `visited`, the authorization URL: the address that it
        will be sent to. The caller bounds the wait."""
        asked = parse_qs(urlsplit(visited).query)
        self._state, self._redirect_uri = (
            asked.get(one, [""])[0] for one in ("state", "redirect_uri")
        )
        self._arrived = asyncio.get_running_loop().create_future()
        return self._arrived

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # a browser that went away, or something else that is none
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        place = urlsplit(self._redirect_uri).path
        if len(words) != 3 or words[0] != "GET" or not place or urlsplit(words[1]).path != place:
            return _page(404, "No login waits for an answer here.")
        query = urlsplit(words[1]).query
        arrived = self._arrived
        if arrived is None or arrived.done() or not self._expected(query):
            return _page(400, "This does not belong to the login that is waiting.")
        arrived.set_result(f"{self._redirect_uri}?{query}")
        return _page(200, "Gatewright has the answer. Close this window and look at the terminal.")

    def _expected(self, query: str) -> bool:
        try:
            states = parse_qs(query, max_num_fields=50).get("state", [])
        except ValueError:
            return False
        return bool(self._state) and any(
            hmac.compare_digest(one.encode(), self._state.encode()) for one in states
        )


def _page(status: int, text: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>Gatewright</title><p>{text}</p>".encode()
    head = (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'No'}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Content-Security-Policy: default-src 'none'\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
