"""Settings of `[audit]`, `[approvals]`, `[flow]`, `[permissions]` and `[telemetry]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import Count, EventClass, Seconds

__all__ = [
    "Approvals",
    "Audit",
    "AuditSink",
    "Flow",
    "PermissionPolicy",
    "Permissions",
    "Telemetry",
]


class AuditSink(msgspec.Struct, frozen=True, kw_only=True):
    """Where else the record goes. `url`, `headers`, `address` and `dsn` are as written, references to
    secrets and all: they are looked up when the sink is made, and stand nowhere else."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z0-9][a-z0-9-]{0,63}\Z",
            description="small letters, digits and '-', at most 64 of them",
            examples=['"siem"'],
        ),
    ]
    type: Literal["file", "http", "syslog", "postgres", "sqlite", "mgp", "alert"]
    format: Literal["jsonl", "cloudevents", "ocsf", "groundhog"] = "jsonl"
    classes: tuple[EventClass, ...] = ()
    """Only events of these classes, as Groundhog divides them; empty: everything."""
    path: str = ""
    """Of a `file` or `sqlite`; from the state folder unless absolute."""
    rotate_bytes: Count = 100 * 1024 * 1024
    rotate_s: Annotated[float, Meta(gt=0, le=366 * 86_400)] = 86_400.0
    keep_files: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """How many full files stay; 0 keeps all."""
    url: str = ""
    headers: dict[str, str] = {}
    address: Annotated[
        str,
        Meta(pattern=r"\A((udp|tcp|tls)://\S+|unix:///\S+)?\Z", examples=['"tls://logs.example"']),
    ] = ""
    dsn: str = ""
    table: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z_][a-z0-9_]{0,47}(\.[a-z_][a-z0-9_]{0,47})?\Z",
            examples=['"gatewright_audit"'],
        ),
    ] = "gatewright_audit"
    server: str = ""
    """Of an `mgp` sink: the audit server, one of the configured ones."""

    def __repr__(self) -> str:
        """Without addresses and headers: they may carry secrets, and a repr ends in logs."""
        return f"AuditSink(name={self.name!r}, type={self.type!r})"


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """How the record is kept."""

    sync: Literal["process", "always"] = "process"
    """`process` survives the death of the gateway, `always` also that of the machine."""
    retention_days: Annotated[int, Meta(ge=0, le=36_500)] = 90
    """Older records go, once every sink has them. 0 keeps everything."""
    sinks: tuple[AuditSink, ...] = ()


class Approvals(msgspec.Struct, frozen=True, kw_only=True):
    """How calls wait for a person."""

    approver: Literal["caller", "operator", "either"] = "either"
    """Who has to agree to a dangerous call: the user of the calling host, an operator, or whoever can be asked."""
    hints: Literal["ask", "off"] = "ask"
    """Whether a person is asked about tools whose annotations say that they destroy or reach out, where nobody vouched for them."""
    open_world_s: Annotated[float, Meta(ge=0, le=30 * 86_400)] = 28_800.0
    """For how long a yes to a tool that only reaches out holds for its further calls; 0 asks each time."""
    quorum: Annotated[int, Meta(ge=1, le=16)] = 1
    """How many different operators have to."""
    hold_s: Annotated[float, Meta(ge=0, le=3600)] = 45.0
    """How long a call waits for an operator before its caller is told to repeat it later."""
    expires_s: Seconds = 3600.0
    """How long a request waits before it ends undecided, and an approval before it ends unused."""
    webhook: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"https://example.com/hook"'])
    ] = ""
    """A URL that is told of each new request."""


PermissionPolicy = Literal["interactive", "auto_approve", "deny_all", "config_only"]


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """What happens where a session that has read what strangers wrote and what is private wants to send."""

    then: Literal["ask", "refuse", "off"] = "ask"
    per: Literal["session", "caller"] = "session"
    lasts_s: Annotated[float, Meta(gt=0, le=30 * 86_400)] = 3600.0
    """For how long it counts that something was read."""


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """What servers may have (MGP §3.3)."""

    policy: PermissionPolicy = "interactive"
    """Who decides on a permission that a server declares: an operator, nobody (yes to all, or no), or this file."""


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Spans and metrics by OTLP."""

    enabled: bool = False
    endpoint: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"http://localhost:4318"'])
    ] = ""
    """Where to, over HTTP; empty: what `OTEL_EXPORTER_OTLP_ENDPOINT` says, else this machine."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """The share of calls whose spans are exported where nothing went wrong and the caller's trace says nothing."""
    interval_s: Annotated[float, Meta(ge=1, le=3600)] = 60.0
    """How often metrics are exported."""
