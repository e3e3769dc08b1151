"""Settings of `[audit]` and its sinks, `[approvals]`, `[flow]`, `[results]`, `[permissions]`, `[registration]`, `[telemetry]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import BYTES, DAYS, SECONDS, Bytes, EventClass, Seconds

__all__ = [
    "Approvals",
    "Audit",
    "AuditSink",
    "Flow",
    "Injection",
    "PermissionPolicy",
    "Permissions",
    "Registration",
    "Results",
    "Telemetry",
    "WebhookFormat",
]


class AuditSink(msgspec.Struct, frozen=True, kw_only=True):
    """One more place that the record is sent to.

    A sink gets every record in order, from the oldest on, within two seconds; calls never wait for it. `${secret:NAME}`
    and `${VARIABLE}` may stand in `url`, `headers`, `address` and `dsn`; they are looked up when the sink is made.
    """

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z0-9][a-z0-9-]{0,63}\Z",
            description="small letters, digits and '-', at most 64 of them",
            examples=['"siem"'],
        ),
    ]
    """The name of the sink. Its position in the record is kept under this name."""
    type: Literal["file", "http", "syslog", "postgres", "sqlite", "mgp", "alert"]
    """The kind of sink. `alert` writes a line to the log of the gateway for each event, and sends a POST to `url` where
    that is set."""
    format: Literal["jsonl", "cloudevents", "ocsf", "groundhog"] = "jsonl"
    """How events are written: the recorded lines (`jsonl`), CloudEvents, OCSF, or Groundhog's events
    (docs/groundhog.md#the-record). Tables and MGP have a form of their own."""
    classes: tuple[EventClass, ...] = ()
    """The only classes of events, as Groundhog divides them, that are sent; all events unless set."""
    path: str = ""
    """`file`, `sqlite`: the path of the file, relative to the state folder. It is made with mode 0600."""
    rotate_bytes: Bytes = 100 * 1024 * 1024
    """`file`: the size at which the file is renamed, with the number of the next record behind its name, and a new one
    begun."""
    rotate_s: Annotated[float, Meta(gt=0, le=366 * 86_400, extra=SECONDS)] = 86_400.0
    """`file`: the age of its first record, compared with the next one, at which the file is renamed too."""
    keep_files: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """`file`: how many renamed files are kept; 0 keeps all."""
    url: str = ""
    """`http`: the URL that gets a POST for each batch. Any status but 2xx means that the batch was not taken."""
    headers: dict[str, str] = {}
    """`http`: header fields of the request, such as `Authorization`."""
    address: Annotated[
        str,
        Meta(pattern=r"\A((udp|tcp|tls)://\S+|unix:///\S+)?\Z", examples=['"tls://logs.example"']),
    ] = ""
    """`syslog` (RFC 5424): `udp://HOST`, `tcp://HOST`, `tls://HOST` or `unix:///PATH`. Syslog has no acknowledgements:
    what its receiver loses is lost."""
    dsn: str = ""
    """`postgres`: the connection URL; needs the extra `gatewright[postgres]`."""
    table: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z_][a-z0-9_]{0,47}(\.[a-z_][a-z0-9_]{0,47})?\Z",
            examples=['"gatewright_audit"'],
        ),
    ] = "gatewright_audit"
    """`postgres`: the table, which is made where it does not exist."""
    retention_days: Annotated[int, Meta(ge=0, le=36_500, extra=DAYS)] = 0
    """`postgres`, `sqlite`: the age at which rows are deleted, looked for every six hours as events arrive; 0 keeps them for
    ever."""
    server: str = ""
    """`mgp`: the id of a configured server that gets each event as `notifications/mgp.audit` (MGP §6), if it negotiated
    `audit`. There are no acknowledgements."""

    def __repr__(self) -> str:
        """Without addresses and headers: they may carry secrets, and a repr ends in logs."""
        return f"AuditSink(name={self.name!r}, type={self.type!r})"


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """How durable the record of calls and decisions is, how long it is kept, and where else it goes."""

    sync: Literal["process", "always"] = "process"
    """What a written record survives: the death of the gateway's process (`process`), or that of the machine too
    (`always`)."""
    retention_days: Annotated[int, Meta(ge=0, le=36_500, extra=DAYS)] = 90
    """The age at which records are deleted, once every sink has them; 0 keeps them for ever. A record says which ones
    were deleted, and `gatewright audit verify` holds for the rest."""
    sinks: tuple[AuditSink, ...] = ()
    """Where else the record goes; see `[[audit.sinks]]`."""


WebhookFormat = Literal["json", "slack", "teams", "discord"]


class Approvals(msgspec.Struct, frozen=True, kw_only=True):
    """How calls that a person has to confirm are decided, and how long they wait."""

    approver: Literal["caller", "operator", "either"] = "either"
    """Who has to agree: the user of the calling host, asked by elicitation (`caller`); an operator, in the queue
    (`operator`); or the caller where it can be asked, else an operator (`either`)."""
    hints: Literal["ask", "off"] = "ask"
    """Whether a person is asked where annotations of a tool call for it (`destructiveHint`, `openWorldHint`); `hints` of a
    server takes precedence."""
    open_world_s: Annotated[float, Meta(ge=0, le=30 * 86_400, extra=SECONDS)] = 28_800.0
    """How long an agreement to a tool with `openWorldHint` holds for further calls of it; 0 asks for each call."""
    quorum: Annotated[int, Meta(ge=1, le=16)] = 1
    """How many different operators have to agree. Above 1 only those count who present an operator's key."""
    hold_s: Annotated[float, Meta(ge=0, le=3600, extra=SECONDS)] = 45.0
    """How long a call waits for an operator before its caller is told to repeat it later."""
    expires_s: Seconds = 3600.0
    """The age at which an undecided request, or an unused approval, expires."""
    webhook: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"https://example.com/hook"'])
    ] = ""
    """A URL that gets a POST for each new request, without the arguments of the call. The body has the URL of the request in
    the console, where that is served; whoever opens it has to sign in."""
    webhook_format: WebhookFormat = "json"
    """What is posted: the members of the request (`json`), or a message as a webhook of Slack, Teams or Discord takes it."""


Injection = Literal["off", "mark", "hold"]
"""What is done with results that speak to the model."""
PermissionPolicy = Literal["interactive", "auto_approve", "deny_all", "config_only"]


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """What happens when a session that read both untrusted and private data calls a tool that sends."""

    then: Literal["ask", "refuse", "off"] = "ask"
    """Whether a person is asked, the call is refused, or nothing happens."""
    per: Literal["session", "caller"] = "session"
    """Whose reading is put together: that of one session, or that of all sessions of a caller."""
    lasts_s: Annotated[float, Meta(gt=0, le=30 * 86_400, extra=SECONDS)] = 3600.0
    """How long data that was read counts."""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with results of tools that speak to the model."""

    injection: Injection = "off"
    """Whether results are read for orders to the model (prompt injection): not at all (`off`); those that have some are
    marked, in the record, in `_meta` and for `[flow]` (`mark`); or a refusal goes in their place (`hold`). `injection` of a
    server or a tool takes precedence."""


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides which permissions tool servers get (MGP §3)."""

    policy: PermissionPolicy = "interactive"
    """The policy of MGP §3.3. `interactive`: an operator decides; until then the server is up, but neither listed nor
    called. `deny_all`: what was approved beforehand, here or by an operator, holds; everything else is denied without a
    question. `config_only`: only what this file names. `auto_approve`: everything, with a warning each time."""


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """Tool servers that are registered while the gateway runs (`mgp/discovery/register`, MGP §15.4).

    Operators may register servers, and agents that have the permission `kernel.registry.write`. The keys below say what
    agents may register; `per_caller` and `total` hold for operators as well.
    """

    namespace: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,31}[._-]\Z",
            description="letters, digits, '.', '_' and '-', at most 33 of them, with '.', '_' or '-' at the end",
            examples=['"dynamic."'],
        ),
    ] = "dynamic."
    """How the ids of servers begin that agents register. Configured servers are better called otherwise."""
    folders: tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...] = (".",)
    """The folders of the Python scripts that agents may register, relative to the folder of this file. Without any, no
    script may be registered."""
    commands: tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...] = ()
    """The programs that agents may register besides Python scripts, spelled as they have to spell them. Nobody checks
    what such a program does; it is isolated like a script."""
    trust_level: Literal["sandboxed", "standard"] = "sandboxed"
    """The trust level that servers of agents have at most. A `standard` one is not isolated, and its code is not
    checked."""
    lifetime: Literal["session", "persistent"] = "session"
    """How long servers of agents stay at most: until the session that registered them ends, or until they are
    deregistered, also when the gateway is started again."""
    per_caller: Annotated[int, Meta(ge=0, le=1000)] = 5
    """How many registered servers one caller may have at a time."""
    total: Annotated[int, Meta(ge=0, le=1000)] = 20
    """How many registered servers there may be at a time."""
    call_timeout_s: Seconds = 30.0
    """The time limit of one call to a server that an agent registered."""
    memory_bytes: Annotated[int, Meta(ge=16 << 20, le=2**40, extra=BYTES)] = 256 << 20
    """The memory of a sandboxed server, as `memory_bytes` of `[servers.sandbox]`."""
    cpu_s: Annotated[int, Meta(ge=1, le=31_536_000, extra=SECONDS)] = 3600
    """The processor time of each process of a sandboxed server, after which it is ended."""


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Traces and metrics of calls, exported by OTLP over HTTP (`pip install 'gatewright[otel]'`)."""

    enabled: bool = False
    """Whether anything is exported."""
    endpoint: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"http://localhost:4318"'])
    ] = ""
    """The base URL of the collector. While it is empty: `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://localhost:4318`."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """The share of calls whose spans are exported. Calls that were refused, held or failed are exported always; where a
    caller's trace context has a sampling decision, that decides."""
    interval_s: Annotated[float, Meta(ge=1, le=3600, extra=SECONDS)] = 60.0
    """The time between two exports of metrics."""
