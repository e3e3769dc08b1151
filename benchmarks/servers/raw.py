"""The least that any Python process can do: read an HTTP request, answer it, understand nothing.

It copies the ten digits of the id into a prepared answer. What a load generator reaches against it
is the ceiling of this machine for one Python process behind HTTP, and shows that the generator is
not the limit of the other figures.

    python -m benchmarks.servers.raw [--port N]
"""

from __future__ import annotations

import argparse
import asyncio
from typing import cast

from benchmarks.servers.echo import Echo
from benchmarks.servers.echo_http import run_server

__all__ = ["Raw", "main"]

_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 98\r\n\r\n"
    b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"hello %b"}]}}'
)
_ID = b'"id":'


class Raw(asyncio.Protocol):
    """One connection; a request is taken to be whole once its id is there and its last byte is `}`."""

    def __init__(self) -> None:
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, data: bytes) -> None:
        """Asyncio's."""
        self._held += data
        at = self._held.find(_ID)
        if at < 0 or self._held[-1:] != b"}" or self._transport is None:
            return
        number = self._held[at + 5 : at + 15]
        self._held = b""
        self._transport.write(_ANSWER % (number, number))


def main(arguments: list[str] | None = None) -> None:
    """Serve until ended from outside."""
    parser = argparse.ArgumentParser(description="the smallest HTTP responder")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(arguments)
    run_server(Raw, Echo(), options.port)


if __name__ == "__main__":
    main()
