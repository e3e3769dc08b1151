"""Settings of `[mcp.protocol]`: Groundhog's own configuration tables, accepted unchanged.

The tables, keys and defaults are those of its specification ("Protocol Configuration"), so that a file
written for it loads unchanged, as the whole of a file or beside our tables. What it says about things that
the gateway has once for everybody (the record and its sinks, limits) is put there (`joining`), and what our
own tables say about the same thing wins.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import Count, EventClass, Name, Seconds

__all__ = [
    "McpTable",
    "Performance",
    "Protocol",
    "ProtocolAudit",
    "ProtocolSinks",
    "RateLimits",
    "Security",
    "Tls",
    "Transport",
]

Place = Annotated[str, Meta(max_length=4096)]


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.transport.tls]`"""

    enabled: bool = False
    cert_file: Place = ""
    key_file: Place = ""
    ca_file: Place = ""
    """Where it is given, clients must have a certificate of it."""
    development: bool = False
    """Serve without TLS, on loopback only, while the files are not there."""


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.transport]`"""

    type: Literal["websocket", "http", "tcp"] = "websocket"
    host: Name = "localhost"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    path: Annotated[str, Meta(pattern=r"\A/[A-Za-z0-9._~/-]{0,255}\Z", examples=['"/mcp"'])] = (
        "/mcp"
    )
    tls: Tls = Tls()


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.security]`"""

    require_authentication: bool = True
    authentication_timeout: Seconds = 30.0
    session_timeout: Annotated[float, Meta(gt=0, le=366 * 86400)] = 3600.0
    max_concurrent_sessions: Annotated[int, Meta(ge=1, le=100_000)] = 100
    strict_codes: bool = False


class RateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.rate_limits]`"""

    global_requests_per_second: Count = 1000
    global_requests_per_minute: Count = 60_000
    user_requests_per_second: Count = 10
    user_requests_per_minute: Count = 600
    tool_requests_per_second: Count = 5
    tool_requests_per_minute: Count = 300


class ProtocolSinks(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.audit.sinks]`"""

    file_sink: bool = False
    file_path: Place = ""
    database_sink: bool = False
    database_url: Place = ""
    remote_sink: bool = False
    remote_endpoint: Place = ""

    def __repr__(self) -> str:
        """Without addresses, which may carry passwords: a repr ends in logs."""
        return f"ProtocolSinks(file={self.file_sink}, database={self.database_sink}, remote={self.remote_sink})"


class ProtocolAudit(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.audit]`"""

    enabled: bool = True
    log_tool_invocations: bool = True
    log_security_events: bool = True
    log_performance_events: bool = True
    log_protocol_errors: bool = True
    retention_days: Annotated[int, Meta(ge=0, le=36_500)] = 90
    alert_webhook: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"https://example.com/alerts"'])
    ] = ""
    """A URL that is told of each critical violation."""
    sinks: ProtocolSinks = ProtocolSinks()

    @property
    def classes(self) -> tuple[EventClass, ...]:
        """The classes of events that go to its sinks."""
        switches: dict[EventClass, bool] = {
            "performance_events": self.log_performance_events,
            "protocol_errors": self.log_protocol_errors,
            "security_events": self.log_security_events,
            "tool_invocations": self.log_tool_invocations,
        }
        return tuple(name for name, on in switches.items() if on and self.enabled)


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol.performance]`"""

    execution_time_warning: Seconds = 5.0
    memory_usage_warning: Count = 256 * 1024 * 1024


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp.protocol]`"""

    version: Annotated[str, Meta(min_length=1, max_length=64)] = "1.0.0"
    transport: Transport = Transport()
    security: Security = Security()
    rate_limits: RateLimits = RateLimits()
    audit: ProtocolAudit = ProtocolAudit()
    performance: Performance = Performance()


class McpTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp]`"""

    protocol: Protocol | None = None
