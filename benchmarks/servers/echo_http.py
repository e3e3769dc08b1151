"""An MCP echo server over Streamable HTTP, as fast as plain Python can be: asyncio, httptools, JSON
answers. It hands out a session on `initialize` and does not ask for it again.

    python -m benchmarks.servers.echo_http [--port N] [--era both|legacy|modern] [--tools N]

When it listens it prints one line `ready URL` on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from typing import cast

import httptools
import msgspec

from benchmarks.servers.echo import Echo

__all__ = ["Connection", "main", "run_server", "serve"]

_JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b"
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
_BAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
_NO_STREAM = b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client connection. Answers leave in the order of their requests, except sleeping ones."""

    _sessions = itertools.count(1)

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, data: bytes) -> None:
        """Asyncio's."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._write(_BAD)

    def on_body(self, body: bytes) -> None:
        """The HTTP parser's."""
        self._body += body

    def on_message_complete(self) -> None:
        """The HTTP parser's."""
        body, self._body = self._body, b""
        if self._parser.get_method() != b"POST":
            self._write(_NO_STREAM)
            return
        try:
            reply = self._echo.answer(body)
        except msgspec.MsgspecError:
            self._write(_BAD)
            return
        if reply is None:
            self._write(_ACCEPTED)
        elif isinstance(reply, bytes):
            self._answer(body, reply)
        else:
            asyncio.get_running_loop().call_later(reply[0], self._answer, body, reply[1])

    def _answer(self, body: bytes, reply: bytes) -> None:
        session = b""
        if b'"initialize"' in body:
            session = b"mcp-session-id: echo-%d\r\n" % next(self._sessions)
        self._write(_JSON % (session, len(reply), reply))

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


async def serve(factory: type[asyncio.Protocol] | None, echo: Echo, port: int) -> None:
    """Listen on loopback until cancelled, and say so. `factory` replaces the MCP connection."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(factory or (lambda: Connection(echo)), "127.0.0.1", port)
    where = server.sockets[0].getsockname()[1]
    print(f"ready http://127.0.0.1:{where}/mcp", flush=True)
    await server.serve_forever()


def run_server(factory: type[asyncio.Protocol] | None, echo: Echo, port: int) -> None:
    """`serve` on the fastest event loop there is."""
    work = serve(factory, echo, port)
    if sys.platform == "win32":
        asyncio.run(work)
        return
    import uvloop  # noqa: PLC0415 - not there on Windows

    uvloop.run(work)


def main(arguments: list[str] | None = None) -> None:
    """Serve until ended from outside."""
    parser = argparse.ArgumentParser(description="echo over Streamable HTTP")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--era", choices=("both", "legacy", "modern"), default="both")
    parser.add_argument("--tools", type=int, default=2)
    options = parser.parse_args(arguments)
    run_server(None, Echo(options.era, options.tools), options.port)


if __name__ == "__main__":
    main()
