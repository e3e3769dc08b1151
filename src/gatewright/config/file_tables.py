"""Structs of `mgp.toml` tables as written, where `config.model` differs: storage, secrets, servers (`auth`, `mgp`), grants, the whole file.

Only types: `check` holds a file against them, `build` turns what passed into the model.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.agents import Agent
from gatewright.config.bounds import MILLISECONDS, SECONDS, Bytes, Name, Seconds
from gatewright.config.builtin import Builtin
from gatewright.config.groundhog import McpTable
from gatewright.config.isolation import IsolationLevel, SandboxTable
from gatewright.config.limits import Rates
from gatewright.config.model import (
    Gateway,
    Hidden,
    Profile,
    Redaction,
    RedactionLevel,
    RestartPolicy,
    ToolRule,
)
from gatewright.config.oversight import (
    Injection,
    PermissionPolicy,
)
from gatewright.config.plain_tables import PlainTables
from gatewright.config.rooms import RoomsTable

__all__ = [
    "SERVER_ID",
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
Window = Annotated[int, Meta(ge=1, le=31_536_000, extra=SECONDS)]
Backoff = Annotated[int, Meta(ge=0, le=86_400_000, extra=MILLISECONDS)]

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

SERVER_ID = r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"
"""How ids of servers are spelled."""
ServerId = Annotated[
    str,
    Meta(
        pattern=SERVER_ID,
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
    """Where the gateway keeps its state: the record, keys, grants, approvals and secrets."""

    path: Annotated[str, Meta(min_length=1)] | None = None
    """The state folder, relative to the folder of this file. The environment variable `GATEWRIGHT_STATE` takes
    precedence; without both it is where the platform keeps state (`~/.local/state/gatewright` on Linux)."""


class SecretsTable(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of `${secret:NAME}` are kept."""

    store: Literal["auto", "keyring", "file"] = "auto"
    """The keyring of the operating system (`keyring`), a file in the state folder that is sealed with AES-256-GCM
    (`file`), or the keyring where one answers and the file otherwise (`auto`)."""
    key_file: Annotated[str, Meta(min_length=1)] | None = None
    """The file with the key of the sealed file, relative to the folder of this file; `secrets.key` beside the sealed
    file unless set."""


class RestartTable(msgspec.Struct, frozen=True, kw_only=True):
    """When the program of a server is started again, written as a table (MGP §11.5).

    The same keys may stand beside `restart_policy = "on_failure"` in `[servers.mgp]`; those in the table take precedence.
    """

    restart_policy: RestartPolicy | None = None
    """Another spelling of `policy`, which takes precedence."""
    policy: RestartPolicy | None = None
    """When the program is started again after it ended: after a failure, always or never; `on_failure` unless set."""
    max_restarts: Restarts | None = None
    """How many restarts there may be within `restart_window_secs`; 5 unless set."""
    restart_window_secs: Window | None = None
    """The window in which restarts are counted; 300 unless set."""
    backoff_base_ms: Backoff | None = None
    """The pause before the second restart in a row; each further one is twice as long, the first is made at once. 1000
    unless set."""
    backoff_max_ms: Backoff | None = None
    """The longest pause before a restart; 30000 unless set."""


class MgpTable(msgspec.Struct, frozen=True, kw_only=True):
    """A server as an MGP server (MGP §15.2). Without this table it is treated as plain MCP."""

    extensions: tuple[str, ...] = ()
    """The MGP extensions to offer the server, of those that the gateway has: `security`, `access_control`, `audit`,
    `code_safety`, `lifecycle`, `streaming`, `bidirectional`, `discovery` and `tool_discovery`. Others are left out."""
    permissions_required: tuple[str, ...] = ()
    """The permissions that the server has without a question: those of MGP §3.2, such as `network.outbound`, or names
    like `com.example.thing`. See `[permissions]`."""
    trust_level: Literal["standard", "trusted", "sandboxed"] = "standard"
    """The trust level of the server (MGP §2.3). The annotations of a `trusted` server's tools put no call to a person, and
    what it calls `safe` is safe."""
    permission_policy: PermissionPolicy | None = None
    """Who decides on the permissions that the server declares; `policy` of `[permissions]` unless set."""
    missing_permissions: Literal["wait", "degrade"] = "wait"
    """What happens until the server has all the permissions that it declares: it is not connected (`wait`), or it is
    and its tools that need a missing one are refused (`degrade`)."""
    server_id: Name | None = None
    """The name that the server gives of itself, where that differs from `id`."""
    restart_policy: RestartPolicy | RestartTable | None = None
    """When the server's program is started again after it ended (MGP §11.5): after a failure, always or never;
    `on_failure` unless set. A table with the keys of `[servers.mgp.restart_policy]` may stand here as well."""
    max_restarts: Restarts | None = None
    """How many restarts there may be within `restart_window_secs`; 5 unless set."""
    restart_window_secs: Window | None = None
    """The window in which restarts are counted; 300 unless set."""
    backoff_base_ms: Backoff | None = None
    """The pause before the second restart in a row; each further one is twice as long, the first is made at once. 1000
    unless set."""
    backoff_max_ms: Backoff | None = None
    """The longest pause before a restart; 30000 unless set."""


Word = Annotated[str, Meta(min_length=1, max_length=4096)]


class AuthTable(msgspec.Struct, frozen=True, kw_only=True):
    """How the gateway authenticates at one protected HTTP server."""

    type: Literal["oauth", "bearer", "none"] | None = None
    """The kind of credential: a token of OAuth, a fixed `bearer` token, or none. Unless set, `bearer` with a `bearer`,
    else `oauth`."""
    client_id: Word | None = None
    """The id of an OAuth client that was registered by hand; needs `issuer`."""
    client_secret: Word | None = None
    """The secret of that client."""
    issuer: Annotated[str, Meta(min_length=1, examples=['"https://auth.example"'])] | None = None
    """The authorization server at which the client is registered, spelled exactly as it spells itself (RFC 8414, `issuer`).
    No other server is shown the client."""
    client_metadata_url: (
        Annotated[str, Meta(min_length=1, examples=['"https://example.org/client.json"'])] | None
    ) = None
    """The URL at which a client-id metadata document for the gateway is published."""
    redirect_uri: (
        Annotated[str, Meta(min_length=1, examples=['"http://127.0.0.1:8425/callback"'])] | None
    ) = None
    """The redirect URI that is registered for the client, where it is not the issuer's own: `http://127.0.0.1:PORT/PATH`,
    or with `[::1]` or `localhost`. `gatewright server login` listens there. Needs `issuer`."""
    scopes: tuple[Word, ...] = ()
    """The scopes to ask for."""
    bearer: Word | None = None
    """A fixed token, sent as `Authorization: Bearer` (RFC 6750)."""


class ServerTable(msgspec.Struct, frozen=True, kw_only=True):
    """One tool server: a program, the URL of an HTTP server, the OpenAPI document of an HTTP API, or Python tools."""

    id: ServerId
    """The name of the server in grants, commands and the record."""
    command: Annotated[str, Meta(min_length=1)] | None = None
    """The program to start, which speaks MCP on its standard input and output."""
    args: tuple[str, ...] = ()
    """The arguments of the program."""
    cwd: Annotated[str, Meta(min_length=1)] | None = None
    """The working directory of the program, relative to the folder of this file; that folder unless set. Modules of
    `python` are looked for there."""
    transport: TransportWord | None = None
    """How the server is reached: `stdio`, `http` (Streamable HTTP), `sse` (HTTP+SSE of MCP 2024-11-05, deprecated),
    `openapi` or `python`. Unless set, it follows from `command`, `url`, `openapi` or `python`. The other words are
    spellings of MCP hosts for `stdio` and `http`."""
    url: Annotated[str, Meta(min_length=1)] | None = None
    """The URL of an HTTP server."""
    python: Annotated[str, Meta(min_length=1, examples=['"mypkg.mcp_tools"'])] | None = None
    """A Python module or package with `@mcp_tool` functions, or a folder or file (`"./tools"`). The tools run in the
    process of the gateway."""
    trust_gateway: Literal["untrusted", "verified", "trusted"] = "untrusted"
    """The state of the trust gateway of Python tools. Tools that are `destructive` run only while it is `trusted`."""
    openapi: Annotated[str, Meta(min_length=1)] | None = None
    """The OpenAPI document (3.0 or 3.1, JSON or YAML) of an HTTP API whose operations become tools: a path or a URL.
    See docs/openapi-import.md."""
    base_url: Annotated[str, Meta(min_length=1)] | None = None
    """The URL below which that API is called. Unless set, the document decides, as far as its place allows."""
    credentials: dict[str, str] = {}
    """The credentials for that API, by the name of the security scheme in its document."""
    headers: dict[str, str] = {}
    """HTTP header fields that are sent with every request to the server."""
    auth: AuthTable | None = None
    """How the gateway authenticates at a protected HTTP server; see `[servers.auth]`."""
    env: dict[str, str] = {}
    """Environment variables of the program. Of the gateway's own it gets only those that a program needs to start."""
    isolation: IsolationLevel | None = None
    """Whether the program sees the rest of this machine (docs/isolation.md). `confined`: it sees its own programs and the
    folders of `[servers.sandbox]`, and may have the network. `strict`: it has no network either, and changes nothing.
    Where it cannot be isolated it is not started. Unless set, `strict` with the trust level `sandboxed`, else `none`."""
    sandbox: SandboxTable | None = None
    """What an isolated program may see, write, reach and use up; see `[servers.sandbox]`."""
    era: Literal["auto", "legacy", "modern"] = "auto"
    """Which revisions of MCP to speak: those with the `initialize` handshake (`legacy`), those without it (`modern`), or
    those that the server turns out to speak (`auto`)."""
    enabled: bool = True
    """Whether the server is started or connected."""
    default_policy: Literal["opt-in", "opt-out"] = "opt-in"
    """Whether an agent needs a grant for the server (`opt-in`) or not (`opt-out`) (MGP §5.5)."""
    hints: Literal["ask", "off"] | None = None
    """Whether a person is asked where the annotations of the server's tools call for it; `hints` of `[approvals]` unless
    set."""
    pin: Literal["first-use", "approve", "off"] = "first-use"
    """Whether a tool is held back when its definition changes, until an operator accepts it (`gatewright server pin`).
    `first-use` accepts the first definition that is seen, `approve` leaves that one to an operator too, `off` holds
    nothing back."""
    call_timeout_s: Seconds | None = None
    """The time limit of a call to the server; `call_timeout_s` of `[limits]` unless set."""
    connect_timeout_s: Seconds = 20.0
    """The time limit of starting the server and the handshake with it."""
    idle_timeout_s: Seconds | None = None
    """How long the server may be without a call before it is shut down (MGP §11.4, `idle_timeout`); the next call starts it
    again. It is never shut down for that unless set."""
    share: Literal["auto", "gateway", "session"] = "auto"
    """Who shares a connection to the server: all callers (`gateway`), the calls of one session (`session`), or what the
    server turns out to need (`auto`)."""
    schema: Literal["enforce", "off"] = "enforce"
    """Whether arguments and results that do not conform to the tool's own schemas are refused; `off` passes them on."""
    tool_prefix: ToolPrefix | None = None
    """The prefix of the names of its tools; the `id` unless set."""
    redaction: RedactionLevel | None = None
    """What is removed from what it sends: nothing, secrets, or personal data too; `level` of `[redaction]` unless set."""
    hidden: Hidden | None = None
    """Whether characters that are not displayed are removed; `hidden` of `[redaction]` unless set."""
    injection: Injection | None = None
    """What is done with results that speak to the model; `injection` of `[results]` unless set."""
    calls: Rates | None = None
    """How often the server may be called by all callers together, with the keys of `[limits.calls.caller]`; `server` of
    `[limits.calls]` unless set."""
    result_bytes: Bytes | None = None
    """The largest result that is passed on; `server_frame_bytes` of `[limits]` unless set."""
    methods: tuple[str, ...] = ()
    """Methods and notifications besides those of MCP and MGP that are passed to the server and from it: `acme/report`,
    or `acme/*`."""
    mgp: MgpTable | None = None
    """The server as an MGP server; see `[servers.mgp]`."""
    tools: dict[str, ToolRule] = {}
    """What the operator declares of single tools, by their name; see `[servers.tools.NAME]`."""


class GrantTable(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent may use which server or tool (MGP §5)."""

    agent: Name
    """The agent: the name in its key, `anonymous` for callers without one, or `*` for all agents."""
    server: ServerId
    """The `id` of the server, or `gatewright` for the tools that the gateway ships."""
    tool: Name | None = None
    """The tool, by the name that its server gives it; all tools of the server unless set."""
    permission: Literal["allow", "deny"] = "allow"
    """Whether the agent may use it."""
    permissions: tuple[str, ...] = ()
    """The permissions (MGP §3.2) that go with an `allow`, such as `network.outbound`."""
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    """When the grant ends: a date and time with its offset from UTC (RFC 3339); never unless set."""
    justification: Annotated[str, Meta(max_length=4096)] = ""
    """The reason for the grant, which the record repeats."""


class FileTable(PlainTables, frozen=True, kw_only=True):
    """A whole file. Its keys are the tables; the first sentence of each table says what it is."""

    gateway: Gateway = Gateway()
    storage: StorageTable = StorageTable()
    redaction: Redaction = Redaction()
    secrets: SecretsTable = SecretsTable()
    servers: tuple[ServerTable, ...] = ()
    grants: tuple[GrantTable, ...] = ()
    profiles: dict[str, Profile] = msgspec.field(default_factory=dict)
    agents: dict[str, Agent] = msgspec.field(default_factory=dict)
    rooms: RoomsTable | None = None
    builtin: Builtin = Builtin()
    mcp: McpTable = McpTable()
