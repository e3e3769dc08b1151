"""An ASGI app on a free port of this machine, which says where once it listens."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

__all__ = ["serve"]


class _Listening(uvicorn.Server):
    path = "/mcp"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            print(f"ready http://{host}:{port}{self.path}", flush=True)  # noqa: T201 -- who started it reads this


def serve(app: Any, path: str = "/mcp") -> None:
    """Serve until SIGTERM. Streams that nobody closes do not hold up the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = _Listening(config)
    server.path = path
    server.run(sockets=[listener])
