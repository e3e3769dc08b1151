"""TOML shapes of the tables that differ from `config.model`: storage, secrets, servers, grants, the whole file.

Only shapes: `check` holds a file against them, `build` turns what passed into the model.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.agents import Agent
from gatewright.config.bounds import Count, Name, Seconds
from gatewright.config.builtin import Builtin
from gatewright.config.groundhog import McpTable
from gatewright.config.model import (
    Gateway,
    Hidden,
    Limits,
    Profile,
    Rates,
    Redaction,
    RedactionLevel,
    RestartPolicy,
    ToolRule,
)
from gatewright.config.oauth import OAuth
from gatewright.config.oversight import (
    Approvals,
    Audit,
    Flow,
    PermissionPolicy,
    Permissions,
    Telemetry,
)
from gatewright.config.rooms import RoomsTable

__all__ = [
    "TRANSPORTS",
    "AuthTable",
    "FileTable",
    "GrantTable",
    "MgpTable",
    "RestartTable",
    "SecretsTable",
    "ServerTable",
    "StorageTable",
    "TransportWord",
]

TRANSPORTS: dict[str, Literal["stdio", "http", "sse", "openapi", "python"]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "remote": "http",
    "sse": "sse",
    "python": "python",
    "openapi": "openapi",
}
"""How hosts spell a transport → ours."""

Restarts = Annotated[int, Meta(ge=0, le=1_000_000)]
Window = Annotated[int, Meta(ge=1, le=31_536_000)]
Backoff = Annotated[int, Meta(ge=0, le=86_400_000)]

TransportWord = Literal[
    "stdio",
    "http",
    "sse",
    "python",
    "local",
    "streamable-http",
    "streamable_http",
    "streamableHttp",
    "remote",
    "openapi",
]

ServerId = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z",
        description="letters, digits, '.', '_' and '-', at most 64 of them",
        examples=['"files"'],
    ),
]
ToolPrefix = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9._-]{1,64}\Z",
        description="letters, digits, '.', '_' and '-', at most 64 of them",
        examples=['"files"'],
    ),
]


class StorageTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[storage]`"""

    path: Annotated[str, Meta(min_length=1)] | None = None


class SecretsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[secrets]`"""

    store: Literal["auto", "keyring", "file"] = "auto"
    key_file: Annotated[str, Meta(min_length=1)] | None = None


class RestartTable(msgspec.Struct, frozen=True, kw_only=True):
    """`restart_policy = { … }`; the same keys may stand beside it (decision C-19)."""

    restart_policy: RestartPolicy | None = None
    policy: RestartPolicy | None = None
    max_restarts: Restarts | None = None
    restart_window_secs: Window | None = None
    backoff_base_ms: Backoff | None = None
    backoff_max_ms: Backoff | None = None


class MgpTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[servers.mgp]`"""

    extensions: tuple[str, ...] = ()
    permissions_required: tuple[str, ...] = ()
    trust_level: Literal["standard", "trusted", "sandboxed"] = "standard"
    permission_policy: PermissionPolicy | None = None
    missing_permissions: Literal["wait", "degrade"] = "wait"
    server_id: Name | None = None
    restart_policy: RestartPolicy | RestartTable | None = None
    max_restarts: Restarts | None = None
    restart_window_secs: Window | None = None
    backoff_base_ms: Backoff | None = None
    backoff_max_ms: Backoff | None = None


Word = Annotated[str, Meta(min_length=1, max_length=4096)]


class AuthTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[servers.auth]`"""

    type: Literal["oauth", "bearer", "none"] | None = None
    """Where absent: `bearer` with a `bearer`, else `oauth`."""
    client_id: Word | None = None
    client_secret: Word | None = None
    issuer: Annotated[str, Meta(min_length=1, examples=['"https://auth.example"'])] | None = None
    client_metadata_url: (
        Annotated[str, Meta(min_length=1, examples=['"https://example.org/client.json"'])] | None
    ) = None
    redirect_uri: (
        Annotated[str, Meta(min_length=1, examples=['"http://127.0.0.1:8425/callback"'])] | None
    ) = None
    """The one that is registered for the client; absent: the issuer's own, which `server login` prints."""
    scopes: tuple[Word, ...] = ()
    bearer: Word | None = None


class ServerTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[servers]]`"""

    id: ServerId
    command: Annotated[str, Meta(min_length=1)] | None = None
    args: tuple[str, ...] = ()
    cwd: Annotated[str, Meta(min_length=1)] | None = None
    transport: TransportWord | None = None
    url: Annotated[str, Meta(min_length=1)] | None = None
    python: Annotated[str, Meta(min_length=1, examples=['"mypkg.mcp_tools"'])] | None = None
    trust_gateway: Literal["untrusted", "verified", "trusted"] = "untrusted"
    openapi: Annotated[str, Meta(min_length=1)] | None = None
    base_url: Annotated[str, Meta(min_length=1)] | None = None
    credentials: dict[str, str] = {}
    headers: dict[str, str] = {}
    auth: AuthTable | None = None
    env: dict[str, str] = {}
    era: Literal["auto", "legacy", "modern"] = "auto"
    enabled: bool = True
    default_policy: Literal["opt-in", "opt-out"] = "opt-in"
    hints: Literal["ask", "off"] | None = None
    pin: Literal["first-use", "approve", "off"] = "first-use"
    call_timeout_s: Seconds | None = None
    connect_timeout_s: Seconds = 20
    share: Literal["auto", "gateway", "session"] = "auto"
    schema: Literal["enforce", "off"] = "enforce"
    tool_prefix: ToolPrefix | None = None
    redaction: RedactionLevel | None = None
    hidden: Hidden | None = None
    calls: Rates | None = None
    result_bytes: Count | None = None
    methods: tuple[str, ...] = ()
    mgp: MgpTable | None = None
    tools: dict[str, ToolRule] = {}


class GrantTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[grants]]`"""

    agent: Name
    server: ServerId
    tool: Name | None = None
    permission: Literal["allow", "deny"] = "allow"
    permissions: tuple[str, ...] = ()
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    justification: Annotated[str, Meta(max_length=4096)] = ""


class FileTable(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file."""

    gateway: Gateway = Gateway()
    storage: StorageTable = StorageTable()
    limits: Limits = Limits()
    audit: Audit = Audit()
    redaction: Redaction = Redaction()
    approvals: Approvals = Approvals()
    permissions: Permissions = Permissions()
    telemetry: Telemetry = Telemetry()
    flow: Flow = Flow()
    secrets: SecretsTable = SecretsTable()
    servers: tuple[ServerTable, ...] = ()
    grants: tuple[GrantTable, ...] = ()
    profiles: dict[str, Profile] = {}
    agents: dict[str, Agent] = {}
    rooms: RoomsTable | None = None
    oauth: OAuth = OAuth()
    builtin: Builtin = Builtin()
    mcp: McpTable = McpTable()
