"""Builds the table of endpoint URLs of an HTTP gateway by name, as printed on the ready line."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["urls_of"]


def urls_of(base: str, profiles: Iterable[str], *, rooms: bool) -> dict[str, str]:
    """URLs by name; `base` is that of the server, without a path. `mcp/NAME` is the endpoint of a profile."""
    socket = f"ws{base.removeprefix('http')}"
    urls = {
        "mcp": f"{base}/mcp",
        "sse": f"{base}/sse",
        "websocket": f"{socket}/mcp",
        "rpc": f"{base}/rpc",
        "rest": f"{base}/tools",
        "docs": f"{base}/docs",
        "health": f"{base}/readyz",
    }
    if rooms:
        urls["rooms"] = f"{socket}/ws"
    return urls | {f"mcp/{name}": f"{base}/mcp/{name}" for name in profiles}
