"""OAuth callback listener on loopback: receives the browser's redirect of one login and checks its path and `state`.

Any web page can make a browser ask here as well, and so can another authorization server. So an arrival counts only at the
redirect URI of the login that waits and with the `state` that it made up; everything else is turned away, and the wait goes on.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
from types import TracebackType
from urllib.parse import SplitResult, parse_qs, urlsplit

__all__ = ["Landing", "LandingTaken"]

_HEAD_BYTES = 16 * 1024
_PATIENCE_S = 10.0
_PATH = "/callback"
"""Each issuer has a path of its own below this one."""


class LandingTaken(OSError):  # noqa: N818 - what happened
    """The port is in use, or may not be used."""


def _addresses(host: str) -> tuple[str, ...]:
    """Where a browser goes that is sent to a loopback host: `localhost` is either."""
    if host == "localhost":
        return "127.0.0.1", "::1"
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (str(mapped or address),)


class Landing:
    """The listener, as an async context manager. `host` is a loopback address or `localhost`; `port` 0 takes any that is free
    at its first address. `localhost` needs the port at both its addresses: a program that listens at one would get the code."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._port = port
        self._addresses = _addresses(host)
        self._servers: list[asyncio.Server] = []
        self._connected: set[asyncio.StreamWriter] = set()
        self._state = self._redirect_uri = ""
        self._arrived: asyncio.Future[str] | None = None

    @property
    def url(self) -> str:
        """Below which redirect URIs are: an address, not a name, as RFC 8252 §7.3 advises."""
        first = self._addresses[0]
        return f"http://{f'[{first}]' if ':' in first else first}:{self._port}{_PATH}"

    async def __aenter__(self) -> Landing:
        try:
            for address in self._addresses:
                await self._listen(address)
            if not self._servers:
                raise OSError(errno.EADDRNOTAVAIL, "this machine has no such address")
        except OSError as problem:
            await self._close()
            why = problem.strerror or str(problem)
            raise LandingTaken(problem.errno, f"port {self._port}: {why}") from None
        return self

    async def _listen(self, address: str) -> None:
        try:
            server = await asyncio.start_server(self._serve, address, self._port, limit=_HEAD_BYTES)
        except OSError as problem:
            if problem.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                return  # no IPv6, for instance: then no browser goes there either
            raise
        self._servers.append(server)
        self._port = server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        # What is written still leaves; a browser's spare connection would be waited for (Python 3.12 and later).
        for writer in list(self._connected):
            writer.close()
        for server in self._servers:
            await server.wait_closed()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

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
        self._connected.add(writer)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # a browser that went away, or something else that is none
        finally:
            self._connected.discard(writer)
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        place = urlsplit(self._redirect_uri).path
        asked = _split(words[1]) if len(words) == 3 and words[0] == "GET" else None
        # Each issuer has a redirect URI of its own: what another authorization server sends is not taken (RFC 9700 §4.4).
        if asked is None or not place or asked.path != place:
            return _page(404, "No login waits for an answer here.")
        query = asked.query
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
        # `state` ties the answer to this login (RFC 6749 §10.12); before one is expected it is empty and fits nothing.
        return bool(self._state) and any(
            hmac.compare_digest(one.encode(), self._state.encode()) for one in states
        )


def _split(target: str) -> SplitResult | None:
    """The parts of a request's target; None where it is none (`http://[`)."""
    try:
        return urlsplit(target)
    except ValueError:
        return None


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
