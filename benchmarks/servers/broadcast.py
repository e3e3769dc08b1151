"""The peer of rooms: the `websockets` library, which sends what one connection says to all, by its own `broadcast`.

python -m benchmarks.servers.broadcast PORT
"""

from __future__ import annotations

import asyncio
import logging
import sys

import uvloop
from websockets.asyncio.server import ServerConnection, broadcast, serve

__all__ = ["main"]


async def _serve(port: int) -> None:
    connected: set[ServerConnection] = set()

    async def one(connection: ServerConnection) -> None:
        connected.add(connection)
        try:
            async for message in connection:
                broadcast(connected, message)
        finally:
            connected.discard(connection)

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # readers leave without a goodbye
    async with serve(one, "127.0.0.1", port, compression=None, ping_interval=None):
        await asyncio.get_running_loop().create_future()


def main(port: int) -> None:
    """Serve until ended."""
    uvloop.run(_serve(port))


if __name__ == "__main__":
    main(int(sys.argv[1]))
