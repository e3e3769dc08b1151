"""`Settings`: the frozen settings types of the main tables (gateway, limits, servers, grants, profiles, …) with defaults.

Times are seconds and sizes bytes where the name does not say otherwise. The annotations are also
what the file is checked against, so a bound stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.config.agents import Agent
from gatewright.config.bounds import Count, Name, Seconds
from gatewright.config.builtin import Builtin
from gatewright.config.groundhog import Protocol
from gatewright.config.oauth import OAuth
from gatewright.config.oversight import (
    Approvals,
    Audit,
    Flow,
    PermissionPolicy,
    Permissions,
    Telemetry,
)
from gatewright.config.problems import Origin, Problem
from gatewright.config.rooms import Rooms

__all__ = [
    "Auth",
    "Calls",
    "Form",
    "Gateway",
    "Grant",
    "Hidden",
    "Limits",
    "Mgp",
    "Profile",
    "Rates",
    "Redaction",
    "RedactionLevel",
    "Restart",
    "RestartPolicy",
    "SecretsPlace",
    "Server",
    "Settings",
    "Storage",
    "ToolRule",
]

RestartPolicy = Literal["on_failure", "never", "always"]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's own face."""

    name: Annotated[str, Meta(min_length=1, max_length=64)] = "gatewright"
    host: Name = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, examples=[8420])] = 8420
    """0 takes any free port."""
    unprefixed: bool = False
    """Show the tools of the only server under their own names."""
    anonymous: Literal["deny", "allow"] = "deny"
    """`allow` lets callers without a key in, on loopback only, as the agent `anonymous`."""
    operators: Literal["local", "key"] = "local"
    """How operators show who they are: also at a terminal of this user, or by a key alone."""
    allowed_origins: tuple[Name, ...] = ()
    allowed_hosts: tuple[Name, ...] = ()
    startup_wait_s: Annotated[float, Meta(ge=0, le=600)] = 10.0
    """How long the ready line waits for servers that are still starting."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway keeps its database and its `gateway.json`."""

    path: Path


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls at most within any stretch of that length; None is no limit."""

    per_second: Count | None = None
    per_minute: Count | None = None
    per_hour: Count | None = None
    per_day: Count | None = None


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How often, by who or what is counted; a call counts for all of them."""

    total: Rates | None = None
    """All callers together."""
    caller: Rates | None = None
    """Each caller by itself."""
    key: Rates | None = None
    server: Rates | None = None
    tool: Rates | None = None
    callers: dict[Name, Rates] = {}
    """Single callers, by their id, in place of `caller`."""
    keys: dict[Name, Rates] = {}
    """Single keys, by their id, in place of `key`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one caller or one server may cost."""

    frame_bytes: Count = 1024 * 1024
    server_frame_bytes: Count = 12 * 1024 * 1024
    depth: Annotated[int, Meta(ge=1, le=500)] = 64
    keys: Count = 10_000
    values: Count = 50_000
    """Of every kind, elements of lists as well."""
    batch: Count = 50
    header_bytes: Count = 32 * 1024
    connections_per_s: Count = 500
    """From one address, after a burst of four times as many; one with TLS counts as eight."""
    connections: Count | None = None
    """Open ones in all; where absent as many as the process may open files, less a quarter (at least 128, at most 2,048)."""
    connections_per_address: Count | None = None
    """Open ones of one address; half of all where absent, and for addresses of this machine all."""
    id_chars: Count = 128
    in_flight_per_server: Count = 1024
    queue_bytes: Count = 256 * 1024
    subscriptions_per_client: Count = 100
    call_timeout_s: Seconds = 30.0
    stall_ms: Count = 100
    """After so long a stall of the event loop the log says what it was in."""
    schema_depth: Annotated[int, Meta(ge=1, le=500)] = 32
    subschemas: Count = 1000
    description_bytes: Count = 16384
    tools_per_server: Count = 500
    calls_per_minute: Count | None = None
    """For each caller; unlimited where absent."""
    calls: Calls | None = None
    """At all doors together."""
    doors: dict[Name, Calls] = {}
    """Beside that, at single doors. `groundhog` has that protocol's own limits unless it is written here."""


RedactionLevel = Literal["off", "secrets", "personal"]
"""`personal`: secrets and personal data."""
Hidden = Literal["keep", "remove"]
"""What is done with characters that nobody sees."""
PersonalKind = Literal["email", "card", "iban", "phone", "us_ssn"]


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken out of everything that travels back."""

    level: RedactionLevel = "secrets"
    personal: tuple[PersonalKind, ...] = ("email", "card", "iban", "phone", "us_ssn")
    """What counts as personal data."""
    terms: tuple[Annotated[str, Meta(min_length=3, max_length=256)], ...] = ()
    """Texts that go at every level but `off`, in any case of letters."""
    hidden: Hidden = "keep"
    """Of arguments and of what travels back."""


class SecretsPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where `${secret:NAME}` is looked up."""

    store: Literal["auto", "keyring", "file"] = "auto"
    """`auto`: the keyring of the operating system where there is one, else a sealed file."""
    key_file: Path | None = None
    """Absolute: the sealed file's key, where that is not beside it."""


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """What happens when a stdio server ends (MGP §11.5)."""

    policy: RestartPolicy = "on_failure"
    max_restarts: int = 5
    restart_window_secs: int = 300
    backoff_base_ms: int = 1000
    backoff_max_ms: int = 30_000


class Mgp(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says about a server that speaks MGP. A server without it is plain MCP."""

    extensions: tuple[str, ...] = ()
    permissions_required: tuple[str, ...] = ()
    """Canonical names (decision C-07)."""
    trust_level: Literal["standard", "trusted", "sandboxed"] = "standard"
    permission_policy: PermissionPolicy | None = None
    """None: what `[permissions]` says."""
    missing_permissions: Literal["wait", "degrade"] = "wait"
    """Whether it is offered without all the permissions that it declares."""
    server_id: str | None = None
    """What the server calls itself, where that differs from `id`."""


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's word about one tool; None where nothing was said."""

    risk_level: Literal["safe", "moderate", "dangerous"] | None = None
    validator: str | None = None
    """One of the built-in names, of a plug-in, or `none`."""
    validator_args: tuple[str, ...] = ()
    """JSON pointers of the arguments that the validator judges; empty: it chooses by itself."""
    validator_options: dict[str, Any] = {}
    """Options of the validator; what there is, is written beside each one."""
    permissions_required: tuple[str, ...] | None = None
    confirmation_required: bool | None = None
    repeatable: bool | None = None
    """True: a second call does no more than one, because the tool only reads or is idempotent. What a server says of
    itself does not count: without this word a call whose outcome is unknown is never made again."""
    approver: Literal["caller", "operator", "either"] | None = None
    redaction: RedactionLevel | None = None
    hidden: Hidden | None = None
    flow: tuple[Literal["untrusted", "private", "outbound"], ...] | None = None
    """Which way data flows through it; None: what its server says."""
    calls: Rates | None = None
    """None: what `[limits.calls.tool]` says."""
    result_bytes: Count | None = None
    """None: what its server says."""
    categories: tuple[str, ...] = ()
    """What it is filed under, for lists by category; empty: what its author says."""
    enabled: bool = True


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """How the gateway gets into a protected HTTP server. `oauth` does nothing until the server asks
    for it, so it is what a server without `[servers.auth]` has."""

    type: Literal["oauth", "bearer", "none"] = "oauth"
    client_id: str = ""
    client_secret: str = ""
    issuer: str = ""
    """The authorization server that knows `client_id`, as it spells itself."""
    client_metadata_url: str = ""
    """Where our client-id metadata document is published."""
    redirect_uri: str = ""
    """What is registered for this client at `issuer`; empty: a redirect URI of that issuer alone."""
    scopes: tuple[str, ...] = ()
    bearer: str = ""

    def __repr__(self) -> str:
        """Without secrets: a repr ends in logs."""
        return f"Auth(type={self.type!r}, client_id={self.client_id!r}, issuer={self.issuer!r})"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One tool server. `problem` says why it must stay down although the rest may start."""

    id: str
    transport: Literal["stdio", "http", "sse", "openapi", "python"]
    command: str = ""
    python: str = ""
    trust_gateway: Literal["untrusted", "verified", "trusted"] = "untrusted"
    args: tuple[str, ...] = ()
    cwd: Path | None = None
    """Absolute; the directory of the configuration file unless that says otherwise."""
    env: Mapping[str, str] = {}
    url: str = ""
    openapi: str | None = None
    """The document of an API: an absolute path, or a URL."""
    accepted: str = ""
    """SHA-256 of that document, in hex, where it was accepted with the configuration; empty: whatever it says."""
    base_url: str | None = None
    """Where its calls go; None: where the document says, as far as that may count."""
    credentials: Mapping[str, str] = {}
    """What that API is shown, by the name of the security scheme in the document."""
    headers: Mapping[str, str] = {}
    auth: Auth = Auth()
    era: Literal["auto", "legacy", "modern"] = "auto"
    enabled: bool = True
    default_policy: Literal["opt-in", "opt-out"] = "opt-in"
    hints: Literal["ask", "off"] | None = None
    """Whether annotations of its tools ask for a person; None: what `[approvals]` says."""
    pin: Literal["first-use", "approve", "off"] = "first-use"
    """Whether its tools are relied on as they first are, after an operator saw them, or however they are."""
    call_timeout_s: float | None = None
    """None: what `[limits]` says."""
    connect_timeout_s: float = 20.0
    share: Literal["auto", "gateway", "session"] = "auto"
    schema: Literal["enforce", "off"] = "enforce"
    tool_prefix: str | None = None
    """None: the id."""
    redaction: RedactionLevel | None = None
    """None: what `[redaction]` says."""
    hidden: Hidden | None = None
    """None: what `[redaction]` says."""
    calls: Rates | None = None
    """None: what `[limits.calls.server]` says."""
    result_bytes: Count | None = None
    """None: `[limits] server_frame_bytes`."""
    methods: tuple[str, ...] = ()
    """Which methods besides those of MCP and MGP it has."""
    restart: Restart = Restart()
    mgp: Mgp | None = None
    tools: Mapping[str, ToolRule] = {}
    """By tool, each with what `*` says where it says nothing itself."""
    written: Mapping[str, str] = {}
    """Key (`args.1`, `env.TOKEN`) → what the file says, where that is not the value itself."""
    origin: Origin
    problem: Problem | None = None

    @property
    def prefix(self) -> str:
        """What exposed names of this server begin with."""
        return self.id if self.tool_prefix is None else self.tool_prefix

    def rule(self, tool: str) -> ToolRule | None:
        return self.tools.get(tool) or self.tools.get("*")

    def __repr__(self) -> str:
        """Environment and headers are left out: they carry secrets, and a repr ends in logs."""
        return f"Server(id={self.id!r}, transport={self.transport!r}, origin={str(self.origin)!r})"


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Who may use what. Without `tool` it covers the whole server; agent `*` is everybody."""

    agent: str
    server: str
    tool: str | None = None
    permission: Literal["allow", "deny"] = "allow"
    permissions: tuple[str, ...] = ()
    """Permissions (MGP §3) that go with an `allow`, canonical names."""
    expires_at: datetime | None = None
    justification: str = ""
    origin: Origin


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A named view with its own endpoint. Empty `servers` or `tools` leave that side open."""

    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Canonical `server/tool`, or an exposed name."""
    unprefixed: bool = False


class Form(msgspec.Struct, frozen=True):
    """A configuration of `gateway_form` was given: where its hosts reach the gateway, and the key that
    lets them in."""

    domain: str
    key: str

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"Form(domain={self.domain!r})"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything. `files` are the files it came from, highest first; none at all is allowed."""

    storage: Storage
    gateway: Gateway = Gateway()
    limits: Limits = Limits()
    audit: Audit = Audit()
    redaction: Redaction = Redaction()
    approvals: Approvals = Approvals()
    permissions: Permissions = Permissions()
    telemetry: Telemetry = Telemetry()
    flow: Flow = Flow()
    secrets: SecretsPlace = SecretsPlace()
    servers: tuple[Server, ...] = ()
    grants: tuple[Grant, ...] = ()
    profiles: Mapping[str, Profile] = {}
    oauth: OAuth = OAuth()
    agents: Mapping[str, Agent] = {}
    """What is said of callers, by their ids; under `*` of all."""
    rooms: Rooms | None = None
    form: Form | None = None
    protocol: Protocol | None = None
    """What `[mcp.protocol]` says; None without that table."""
    builtin: Builtin = Builtin()
    files: tuple[Path, ...] = ()
    warnings: tuple[Problem, ...] = ()
    origins: Mapping[str, Origin] = {}
    """Dotted key (`gateway.port`, `servers.ID.command`) → where it was written; others are defaults."""

    def file_of(self, key: str) -> Path:
        """The file whose words are in force for a table or key, the highest of those that say something of it; the first
        one where nobody knows."""
        if exact := self.origins.get(key):
            return exact.file
        hits = {
            origin.file
            for known, origin in self.origins.items()
            if known == key or known.startswith(f"{key}.")
        }
        if hits:
            return next((one for one in self.files if one in hits), min(hits))
        above = key.rpartition(".")[0]
        if above:
            return self.file_of(above)
        return self.files[0] if self.files else Path("-")

    def server(self, server_id: str) -> Server | None:
        """The server of that id."""
        return next((one for one in self.servers if one.id == server_id), None)
