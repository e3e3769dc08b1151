"""Table of the gateway's endpoints: name in the audit trail, path, dialect, and the methods of those that do not speak MCP."""

from __future__ import annotations

from typing import Literal

import msgspec

from gatewright.mcp.protocol import ggen
from gatewright.mcp.wire import groundhog

__all__ = ["DOORS", "SPEAKING_MCP", "Door"]

Dialect = Literal["MCP", "ggen", "REST", "Groundhog", "MCPx"]


class Door(msgspec.Struct, frozen=True):
    """One endpoint. `takes` are the requests of a dialect in which callers are only answered; empty for MCP
    (`mcp/wire/methods`), and for MCPx, whose messages are envelopes (`mcpx/envelope`)."""

    name: str
    place: str
    dialect: Dialect
    takes: tuple[str, ...] = ()


DOORS = (
    Door("http", "`/mcp`", "MCP"),
    Door("stdio", "standard input and output", "MCP"),
    Door("websocket", "`/mcp`, upgraded", "MCP"),
    Door("sse", "`/sse` and `/messages`", "MCP"),
    Door("ggen", "`/rpc`, upgraded or not, and `/mcp` with `auth`", "ggen", tuple(ggen.METHODS)),
    Door("rest", "`/tools` and `/tools/NAME`", "REST", ("tools/list", "tools/call")),
    Door("groundhog", "`/mcp`, upgraded, and its own address", "Groundhog", groundhog.METHODS),
    Door("room", "`/ws`", "MCPx"),
)
"""Whatever becomes a call comes in at one of these."""

SPEAKING_MCP = frozenset(one.name for one in DOORS if one.dialect == "MCP")
"""Those at which hosts speak MCP."""
