"""Tools of other gateways (MGP §10.1): find them, and call them from here.

    python examples/patterns/federation.py NAME=URL …  # the key for each, if any, is in FEDERATION_KEY_NAME

Each gateway judges and records what it is asked, ours by the name of this server and the other by the key that it gave out; the trace is
the same in both. Where all tools of another gateway are wanted under names of their own, write it into mgp.toml as a server instead.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gatewright.mcp.protocol.negotiate import Face
from gatewright.sdk import Client, Context, Server, ToolError
from gatewright.sdk.client import Options, ToolResult

server = Server("federation", "1.0.0", face=Face(("audit",)))  # to be told traces


def remotes() -> dict[str, str]:
    """Name → URL, as the command line says."""
    return dict(one.split("=", 1) for one in sys.argv[1:])


def remote(name: str) -> Client:
    """A connection to another gateway."""
    known = remotes()
    if name not in known:
        raise ToolError(f"no gateway is called {name!r}; there are {', '.join(known)}")
    return Client(
        known[name], Options(mgp=None, bearer=os.environ.get(f"FEDERATION_KEY_{name.upper()}"))
    )


@server.tool(read_only=True)
async def federated_discover(gateway: str = "") -> list[dict[str, str]]:
    """The tools of other gateways, or of one."""
    found: list[dict[str, str]] = []
    for name in [gateway] if gateway else remotes():
        async with remote(name) as client:
            found += [
                {"gateway": name, "tool": one.name, "description": one.description or ""}
                for one in await client.list_tools()
            ]
    return found


@server.tool
async def federated_call(
    context: Context, gateway: str, tool: str, arguments: dict[str, Any]
) -> Any:
    """Call a tool of another gateway. What it refuses is refused here, in its own words."""
    async with remote(gateway) as client:
        asked = {"name": tool, "arguments": arguments, "trace_id": context.trace_id}
        result = ToolResult((await client.request("tools/call", asked)).raw)
    if result.is_error:
        raise ToolError(f"{gateway}: {result.text}")
    return result.structured if result.structured is not None else result.text


if __name__ == "__main__":
    server.run()
