"""`Endpoint`: how to reach one tool server (command, URL or HTTP API), with its headers, timeouts and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from gatewright.mcp.protocol.negotiate import Face
from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.transport.isolation.rules import Isolation

__all__ = ["ApiPlace", "Endpoint"]


class ApiPlace(msgspec.Struct, frozen=True):
    """An HTTP API that is described by an OpenAPI document: a path or URL of that, where calls go (empty:
    where the document says, as far as that may count), and credentials by security scheme."""

    document: str
    base_url: str = ""
    credentials: Mapping[str, str] = {}
    digest: str = ""
    """SHA-256 of the only content that a file may have, in hex; empty: any."""

    def __repr__(self) -> str:
        """Without credentials: a repr ends in logs."""
        return f"ApiPlace({self.document!r}, {self.base_url!r})"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One server as its connections see it. Times are seconds."""

    id: str
    transport: Literal["stdio", "http", "sse", "websocket", "openapi", "python"] = "stdio"
    """`python`: in this process, over pipes in memory; whoever has the server makes that connection."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """What the child gets besides the little that every program needs (`transport.launch`)."""
    cwd: str | None = None
    isolation: Isolation | None = None
    """What a child is kept to; None: it sees and does what the gateway's user may."""
    url: str = ""
    headers: Mapping[str, str] = {}
    api: ApiPlace | None = None
    """With transport `openapi`."""
    era: Literal["auto", "legacy", "modern"] = "auto"
    face: Face | None = None
    """What we offer of MGP; None: then the server never hears of it."""
    connect_s: float = 20.0
    """From start to hello, and from the loss of a session to the next. Package runners download on their first start."""
    probe_s: float = 2.0
    """How long a stdio server may leave `server/discover` unanswered before it is asked the old way."""
    methods: tuple[str, ...] | None = None
    """Which messages besides those of MCP and MGP it may send, by name or by beginning and `*`; None: any."""
    in_flight: int = 1024
    limits: Limits = FROM_SERVERS

    def __repr__(self) -> str:
        """Environment and headers are left out: they carry secrets, and a repr ends in logs."""
        return f"{type(self).__name__}(id={self.id!r}, transport={self.transport!r})"
