"""Settings of `[mcp.protocol]`, Groundhog's own tables, accepted unchanged: transport, TLS, security, rate limits, audit, performance.

The tables, keys and defaults are those of its specification ("Protocol Configuration"), so that a file
written for it loads unchanged, as the whole of a file or beside our tables. What it says about things that
the gateway has once for everybody (the record and its sinks, limits) is put there (`groundhog_merge`), and what our
own tables say about the same thing wins.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import BYTES, DAYS, SECONDS, EventClass, Name, Seconds, rate

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
PerSecond = Annotated[int, Meta(ge=1, le=2**40, extra=rate("calls"))]
PerMinute = Annotated[int, Meta(ge=1, le=2**40, extra=rate("calls", "min"))]


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """The certificates of Groundhog's own listener."""

    enabled: bool = False
    """Whether TLS is served. The file loads without the certificates; the start names the one that is missing."""
    cert_file: Place = ""
    """The path of the certificate chain, PEM."""
    key_file: Place = ""
    """The path of its private key, PEM."""
    ca_file: Place = ""
    """The path of a CA certificate, PEM. Where it is set, clients have to present a certificate that this CA signed."""
    development: bool = False
    """Whether a listener on a loopback address serves without TLS as long as the files are missing."""


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """Where and over which transport Groundhog's protocol is served."""

    type: Literal["websocket", "http", "tcp"] = "websocket"
    """The transport: WebSocket, HTTP with a POST for each message, or TCP with a line for each message."""
    host: Name = "localhost"
    """The address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    """The TCP port to listen on; 0 takes any free one."""
    path: Annotated[str, Meta(pattern=r"\A/[A-Za-z0-9._~/-]{0,255}\Z", examples=['"/mcp"'])] = (
        "/mcp"
    )
    """The path of the endpoint; `tcp` has none."""
    tls: Tls = Tls()
    """The certificates; see `[mcp.protocol.transport.tls]`."""


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """Who is let in by Groundhog's protocol, and how long sessions last."""

    require_authentication: bool = True
    """Whether callers have to authenticate. `false` needs `anonymous = "allow"` in `[gateway]` too."""
    authentication_timeout: Seconds = 30.0
    """The time that a connection has to present a credential."""
    session_timeout: Annotated[float, Meta(gt=0, le=366 * 86400, extra=SECONDS)] = 3600.0
    """The time that a session lasts, from its beginning."""
    max_concurrent_sessions: Annotated[int, Meta(ge=1, le=100_000)] = 100
    """How many sessions there may be at once."""
    strict_codes: bool = False
    """Whether errors are numbered as MGP §14 numbers them, instead of as in Groundhog's example."""


class RateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How often callers may call by Groundhog's protocol.

    It is short for the table `groundhog` of `[limits.doors]`, which takes precedence where both are written.
    """

    global_requests_per_second: PerSecond = 1000
    """The limit of all callers together."""
    global_requests_per_minute: PerMinute = 60_000
    """The limit of all callers together."""
    user_requests_per_second: PerSecond = 10
    """The limit of each caller."""
    user_requests_per_minute: PerMinute = 600
    """The limit of each caller."""
    tool_requests_per_second: PerSecond = 5
    """The limit of each tool."""
    tool_requests_per_minute: PerMinute = 300
    """The limit of each tool."""


class ProtocolSinks(msgspec.Struct, frozen=True, kw_only=True):
    """Where Groundhog's audit events go, beside the record of the gateway."""

    file_sink: bool = False
    """Whether events are appended to a file, one a line."""
    file_path: Place = ""
    """The path of that file, relative to the state folder."""
    database_sink: bool = False
    """Whether events are written to a database."""
    database_url: Place = ""
    """The URL of the database: `postgresql://…`, with the extra `gatewright[postgres]`, or `sqlite:///PATH`.
    `${secret:NAME}` and `${VARIABLE}` may stand in it."""
    remote_sink: bool = False
    """Whether events are sent by HTTP POST. Calls never wait for it."""
    remote_endpoint: Place = ""
    """The `http` or `https` URL that they are sent to."""

    def __repr__(self) -> str:
        """Without addresses, which may carry passwords: a repr ends in logs."""
        return f"ProtocolSinks(file={self.file_sink}, database={self.database_sink}, remote={self.remote_sink})"


class ProtocolAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Which audit events go to Groundhog's sinks. The record of the gateway has all of them in any case."""

    enabled: bool = True
    """Whether events go to these sinks, and critical violations raise alerts."""
    log_tool_invocations: bool = True
    """Whether calls of tools are among the events."""
    log_security_events: bool = True
    """Whether violations, and changes of keys, grants and permissions, are among the events."""
    log_performance_events: bool = True
    """Whether slow and large calls, and changes of the state of servers, are among the events."""
    log_protocol_errors: bool = True
    """Whether requests that could not be parsed or served are among the events."""
    retention_days: Annotated[int, Meta(ge=0, le=36_500, extra=DAYS)] = 90
    """The age at which records are deleted, and rows of `database_sink`; that of `[audit]` takes precedence where both are
    written. Files and what `remote_endpoint` took are theirs to keep."""
    alert_webhook: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"https://example.com/alerts"'])
    ] = ""
    """A URL that gets a POST for each critical violation. The log of the gateway has each one in any case."""
    sinks: ProtocolSinks = ProtocolSinks()
    """Where the events go; see `[mcp.protocol.audit.sinks]`."""

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
    """From when on a call of a tool counts as slow or large, in `mcp_performance_warnings_total` and as an event."""

    execution_time_warning: Seconds = 5.0
    """The duration of a call above which it counts as slow."""
    memory_usage_warning: Annotated[int, Meta(ge=1, le=2**40, extra=BYTES)] = 256 * 1024 * 1024
    """The memory above which a call counts as large, measured for tools that run in a process of their own."""


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """Groundhog's protocol at an address of its own, beside that of `[gateway]`."""

    version: Annotated[str, Meta(min_length=1, max_length=64)] = "1.0.0"
    """The protocol version that is spoken. A request that names another one is refused."""
    transport: Transport = Transport()
    """Where and how it is served; see `[mcp.protocol.transport]`."""
    security: Security = Security()
    """Authentication and sessions; see `[mcp.protocol.security]`."""
    rate_limits: RateLimits = RateLimits()
    """How often callers may call; see `[mcp.protocol.rate_limits]`."""
    audit: ProtocolAudit = ProtocolAudit()
    """Which events go where; see `[mcp.protocol.audit]`."""
    performance: Performance = Performance()
    """From when on a call counts as slow or large; see `[mcp.protocol.performance]`."""


class McpTable(msgspec.Struct, frozen=True, kw_only=True):
    """Groundhog's own configuration. A file of its specification loads as it is; see docs/groundhog.md."""

    protocol: Protocol | None = None
    """The tables of the protocol; see `[mcp.protocol]`. Without them it has no address of its own."""
