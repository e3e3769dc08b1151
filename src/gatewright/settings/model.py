"""What the rest of the gateway sees of its configuration: plain frozen values, every default in place.

Times are seconds and sizes bytes where the name does not say otherwise. The annotations are also
what the file is checked against, so a bound stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.settings.problems import Origin, Problem

__all__ = [
    "Audit",
    "Auth",
    "Count",
    "Gateway",
    "Grant",
    "Limits",
    "Mgp",
    "Name",
    "Profile",
    "Restart",
    "RestartPolicy",
    "Seconds",
    "Server",
    "Settings",
    "Storage",
    "ToolRule",
]

Count = Annotated[int, Meta(ge=1, le=2**40)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
Name = Annotated[str, Meta(min_length=1, max_length=128)]
RestartPolicy = Literal["on_failure", "never", "always"]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's own face."""

    name: Annotated[str, Meta(min_length=1, max_length=64)] = "gatewright"
    host: Name = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, examples=[8420])] = 8420
    """0 takes any free port."""
    unprefixed: bool = False
    """Show the tools of the only server under their own names."""
    instructions: str = ""
    anonymous: Literal["deny", "allow"] = "deny"
    """`allow` lets callers without a key in, on loopback only, as the agent `anonymous`."""
    allowed_origins: tuple[Name, ...] = ()
    allowed_hosts: tuple[Name, ...] = ()
    startup_wait_s: Annotated[float, Meta(ge=0, le=600)] = 10.0
    """How long the ready line waits for servers that are still starting."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway keeps its database and its `gateway.json`."""

    path: Path


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one caller or one server may cost."""

    frame_bytes: Count = 1024 * 1024
    server_frame_bytes: Count = 64 * 1024 * 1024
    depth: Annotated[int, Meta(ge=1, le=500)] = 64
    keys: Count = 10_000
    name_chars: Count = 128
    batch: Count = 50
    header_bytes: Count = 32 * 1024
    id_chars: Count = 128
    in_flight_per_server: Count = 1024
    queue_bytes: Count = 256 * 1024
    subscriptions_per_client: Count = 100
    call_timeout_s: Seconds = 30.0
    schema_depth: Annotated[int, Meta(ge=1, le=500)] = 32
    subschemas: Count = 1000
    description_bytes: Count = 4096
    tools_per_server: Count = 500
    calls_per_minute: Count | None = None
    """For each caller; unlimited where absent."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """How the record is kept."""

    sync: Literal["process", "always"] = "process"
    """`process` survives the death of the gateway, `always` also that of the machine."""


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
    server_id: str | None = None
    """What the server calls itself, where that differs from `id`."""


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's word about one tool; None where nothing was said."""

    risk_level: Literal["safe", "moderate", "dangerous"] | None = None
    validator: (
        Literal["sandbox", "readonly", "network_restricted", "code_safety", "none"] | None
    ) = None
    permissions_required: tuple[str, ...] | None = None
    confirmation_required: bool | None = None
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
    scopes: tuple[str, ...] = ()
    bearer: str = ""

    def __repr__(self) -> str:
        """Without secrets: a repr ends in logs."""
        return f"Auth(type={self.type!r}, client_id={self.client_id!r}, issuer={self.issuer!r})"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One tool server. `problem` says why it must stay down although the rest may start."""

    id: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: Path | None = None
    """Absolute; the directory of the configuration file unless that says otherwise."""
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    auth: Auth = Auth()
    era: Literal["auto", "legacy", "modern"] = "auto"
    enabled: bool = True
    default_policy: Literal["opt-in", "opt-out"] = "opt-in"
    call_timeout_s: float | None = None
    """None: what `[limits]` says."""
    connect_timeout_s: float = 20.0
    share: Literal["auto", "gateway", "session"] = "auto"
    schema: Literal["enforce", "off"] = "enforce"
    tool_prefix: str | None = None
    """None: the id."""
    restart: Restart = Restart()
    mgp: Mgp | None = None
    tools: Mapping[str, ToolRule] = {}
    origin: Origin
    problem: Problem | None = None

    @property
    def prefix(self) -> str:
        """What exposed names of this server begin with."""
        return self.id if self.tool_prefix is None else self.tool_prefix

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


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything. `files` are the files it came from, highest first; none at all is allowed."""

    storage: Storage
    gateway: Gateway = Gateway()
    limits: Limits = Limits()
    audit: Audit = Audit()
    servers: tuple[Server, ...] = ()
    grants: tuple[Grant, ...] = ()
    profiles: Mapping[str, Profile] = {}
    files: tuple[Path, ...] = ()
    warnings: tuple[Problem, ...] = ()
    origins: Mapping[str, Origin] = {}
    """Dotted key (`gateway.port`, `servers.ID.command`) → where it was written; others are defaults."""

    def server(self, server_id: str) -> Server | None:
        """The server of that id."""
        return next((one for one in self.servers if one.id == server_id), None)
