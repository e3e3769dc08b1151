"""`Settings`, frozen, with the types of its main tables: gateway, storage, servers, tool rules, grants, profiles, redaction; defaults.

Times are seconds and sizes bytes where the name does not say otherwise. The annotations are also
what the file is checked against, so a bound stands here once. The docstring below a key of the file is
its sentence in the JSON Schema and in docs/configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.config.agents import Agent
from gatewright.config.bounds import SECONDS, Bytes, Name
from gatewright.config.builtin import Builtin
from gatewright.config.groundhog import Protocol
from gatewright.config.isolation import Isolation, IsolationLevel
from gatewright.config.limits import Expose, Rates
from gatewright.config.oversight import Injection, PermissionPolicy
from gatewright.config.own_places import OwnPlaces
from gatewright.config.plain_tables import PlainTables
from gatewright.config.problems import Origin, Problem
from gatewright.config.rooms import Rooms
from gatewright.secret_scanning.operator_rules import SecretRule

__all__ = [
    "Auth",
    "Form",
    "Gateway",
    "Grant",
    "Hidden",
    "Mgp",
    "Profile",
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
    """How the gateway names itself, where it listens, and which callers need no key."""

    name: Annotated[str, Meta(min_length=1, max_length=64)] = "gatewright"
    """The name that the gateway gives of itself in MCP, to clients (`serverInfo`) and to servers (`clientInfo`)."""
    host: Name = "127.0.0.1"
    """The address to listen on; the default is reachable from this machine alone. On another address keys and results
    travel in clear text: `serve`, its log and `doctor` warn of it. Put a proxy that terminates TLS in front."""
    port: Annotated[int, Meta(ge=0, le=65535, examples=[8420])] = 8420
    """The TCP port to listen on; 0 takes any free one."""
    unprefixed: bool = False
    """Whether the tools of the only enabled server are listed under their own names, without its prefix."""
    anonymous: Literal["deny", "allow"] = "deny"
    """Whether callers without a key are let in, as the agent `anonymous`. `allow` is possible only where every address
    that is listened on, that of `[mcp.protocol.transport]` too, is a loopback address."""
    operators: Literal["local", "key"] = "local"
    """How operators authenticate. `local`: with an operator's key, or by a terminal of the user who runs the gateway.
    `key`: with an operator's key alone. docs/identity.md#operators-and-agents-with-a-shell says what either keeps out."""
    allowed_origins: tuple[Name, ...] = ()
    """Origins of web pages that may call, as a browser sends them in `Origin`. Pages of this machine, and the gateway's
    own under each of its hosts, may call by HTTP without being listed; a WebSocket may be opened by the gateway's own
    pages and by those listed here only."""
    allowed_hosts: tuple[Name, ...] = ()
    """Further values of the `Host` header that are answered, for example the name of a proxy in front."""
    import_isolation: IsolationLevel = "none"
    """The `isolation` of the stdio servers that `gatewright import` writes from now on. `confined` keeps most servers
    that `npx` and `uvx` start at work; they see no folder until one is named in `[servers.sandbox]`."""
    server_id: Annotated[str, Meta(max_length=128, examples=['"gateway.example"'])] = ""
    """The `server_id` that MGP clients are told at the handshake (§2.3); none unless set."""
    trust_level: Literal["standard", "trusted", "sandboxed"] | None = None
    """The `trust_level` that MGP clients are told at the handshake, which is theirs to believe; none unless set."""
    permissions_required: tuple[Name, ...] = ()
    """The permissions that MGP clients are told that the gateway requires of them; none unless set."""
    startup_wait_s: Annotated[float, Meta(ge=0, le=600, extra=SECONDS)] = 10.0
    """How long the ready line, and the switch to another configuration, wait for servers that are still starting."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway keeps its database and its `gateway.json`."""

    path: Path


RedactionLevel = Literal["off", "secrets", "personal"]
"""`personal`: secrets and personal data."""
Hidden = Literal["keep", "remove"]
"""What is done with characters that are not displayed."""
PersonalKind = Literal["email", "card", "iban", "phone", "us_ssn"]


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """Which secrets and personal data are removed from results, errors, progress and log messages."""

    level: RedactionLevel = "secrets"
    """What is removed: nothing (`off`); tokens, keys and passwords (`secrets`); personal data too (`personal`). The
    `redaction` of a server or a tool takes precedence."""
    personal: tuple[PersonalKind, ...] = ("email", "card", "iban", "phone", "us_ssn")
    """Which kinds of personal data the level `personal` removes."""
    terms: tuple[Annotated[str, Meta(min_length=3, max_length=256)], ...] = ()
    """Texts that are removed at every level but `off`, whatever the case of their letters."""
    rules: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=1024)], ...], Meta(max_length=16)
    ] = ()
    """Files with further forms of secrets, in the form of gitleaks' TOML, from the folder of this file. What they find is
    removed at every level but `off`. A change of such a file takes effect at the next reload."""
    hidden: Hidden = "keep"
    """Whether characters that are not displayed are removed: control characters, terminal sequences and characters
    without a glyph, from the arguments of tools before they are judged and from what travels back. Joiners and
    variation selectors that writing needs stay. The record has their number and the digest of the original."""


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
    permissions_asked: tuple[str, ...] = ()
    """Those that it needs besides what it declares itself, and does not have without a question."""
    server_id: str | None = None
    """What the server calls itself, where that differs from `id`."""


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator declares of one tool, over what its server declares (MGP §4)."""

    risk_level: Literal["safe", "moderate", "dangerous"] | None = None
    """The risk of the tool (MGP §4.3). A person confirms each call of a `dangerous` one, unless a grant names this very
    tool; what the server declares unless set, which lowers nothing unless the server is `trusted`."""
    validator: str | None = None
    """The check that its arguments have to pass (MGP §4.5): `sandbox`, `readonly`, `network_restricted`, `code_safety`,
    `paths`, the name of a plug-in, or `none`."""
    validator_args: tuple[str, ...] = ()
    """JSON pointers (RFC 6901) of the arguments that the validator judges. Without any it chooses commands, URLs, paths
    and code by the name and form of each argument."""
    validator_options: dict[str, Any] = {}
    """Options of the validator; docs/validators.md lists them."""
    permissions_required: tuple[str, ...] | None = None
    """The permissions (MGP §3.2) that an agent needs to call it."""
    confirmation_required: bool | None = None
    """Whether a person has to confirm each call (MGP §4.3)."""
    repeatable: bool | None = None
    """Whether a second call does no more than the first, because the tool only reads or is idempotent. This is the
    operator's declaration, not the server's: without it no call with an unknown outcome is made again or announced as
    repeatable."""
    approver: Literal["caller", "operator", "either"] | None = None
    """Who has to agree to its calls; `approver` of `[approvals]` unless set."""
    redaction: RedactionLevel | None = None
    """What is removed from its results; the `redaction` of its server unless set."""
    hidden: Hidden | None = None
    """Whether characters that are not displayed are removed; the `hidden` of its server unless set."""
    injection: Injection | None = None
    """What is done with results that speak to the model; the `injection` of its server unless set."""
    flow: tuple[Literal["untrusted", "private", "outbound"], ...] | None = None
    """How data flows through it, see `[flow]`; what its server declares unless set."""
    calls: Rates | None = None
    """How often it may be called by all callers together; `tool` of `[limits.calls]` unless set."""
    result_bytes: Bytes | None = None
    """The largest result that is passed on; the `result_bytes` of its server unless set."""
    categories: tuple[str, ...] = ()
    """The categories for `tools/list` with `category`; those that its author declares unless set."""
    enabled: bool = True
    """Whether the tool is listed and may be called."""


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
    confinement: Isolation = Isolation()
    """Its `isolation` and `[servers.sandbox]`, with the defaults of the level."""
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
    idle_timeout_s: float | None = None
    """None: it is never shut down for being idle."""
    share: Literal["auto", "gateway", "session"] = "auto"
    schema: Literal["enforce", "off"] = "enforce"
    tool_prefix: str | None = None
    """None: the id."""
    redaction: RedactionLevel | None = None
    """None: what `[redaction]` says."""
    hidden: Hidden | None = None
    """None: what `[redaction]` says."""
    injection: Injection | None = None
    """None: what `[results]` says."""
    calls: Rates | None = None
    """None: what `[limits.calls.server]` says."""
    result_bytes: Bytes | None = None
    """None: `[limits] server_frame_bytes`."""
    methods: tuple[str, ...] = ()
    """Which methods besides those of MCP and MGP it has."""
    restart: Restart = Restart()
    mgp: Mgp | None = None
    tools: Mapping[str, ToolRule] = {}
    """By tool, each with what `*` says where it says nothing itself."""
    written: Mapping[str, str] = {}
    """Key (`args.1`, `env.TOKEN`) → what the file says, where that is not the value itself."""
    created_by: str = ""
    """Who registered it while the gateway runs; empty where it is configured."""
    registered_by: tuple[str, str] | None = None
    """Kind and id of the agent that registered it while the gateway runs; None for what the configuration has, or an operator registered."""
    registered_at: float = 0.0
    """When an agent registered it, in Unix seconds: what was approved for a server of its id before was for another program."""
    origin: Origin
    problem: Problem | None = None

    @property
    def private(self) -> bool:
        """Whether the default is that it is there for operators and for whoever registered it, and not for the owner's host."""
        return self.registered_by is not None

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
    """A subset of servers and tools with an endpoint of its own, `/mcp/NAME`.

    It narrows what is listed; grants decide who may call, as at every endpoint.
    """

    servers: tuple[str, ...] = ()
    """The ids of the servers that it shows; all unless set."""
    tools: tuple[str, ...] = ()
    """The tools that it shows, as `server/tool` or as `gatewright tool list` prints them; all unless set."""
    unprefixed: bool = False
    """Whether the tools of its only server are listed under their own names, without its prefix."""
    expose: Expose | None = None
    """Every tool (`all`), or three that search, describe and call, and pinned ones; `expose` of `[discovery]` unless set."""
    pinned: Annotated[tuple[Name, ...], Meta(max_length=100)] = ()
    """The tools that its list always has with `expose = "pinned+discover"`, as `server/tool` or as `gatewright tool list`
    prints them."""


class Form(msgspec.Struct, frozen=True):
    """A configuration of `gh_aw_form` was given: where its hosts reach the gateway, and the key that
    lets them in."""

    domain: str
    key: str

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"Form(domain={self.domain!r})"


class Settings(PlainTables, frozen=True, kw_only=True):
    """Everything. `files` are the files it came from, highest first; none at all is allowed."""

    storage: Storage
    gateway: Gateway = Gateway()
    redaction: Redaction = Redaction()
    redaction_rules: tuple[SecretRule, ...] = ()
    """What the files of `rules` say."""
    secrets: SecretsPlace = SecretsPlace()
    servers: tuple[Server, ...] = ()
    grants: tuple[Grant, ...] = ()
    profiles: Mapping[str, Profile] = {}
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
    configured: str = ""
    """Where servers were added at run time: the version of what was configured (`changes.policy_version`)."""
    accepted: Mapping[Path, Mapping[str, str]] = {}
    """Configuration file that had to be accepted → the files that were accepted with it: path → SHA-256 of the content in hex."""
    own: OwnPlaces = OwnPlaces()

    def file_of(self, key: str) -> Path:
        """The file whose words are in force for a table or key, the highest of those that say something of it; the first where nobody knows."""
        if exact := self.origins.get(key):
            return exact.file
        every = self.origins.items()
        hits = {origin.file for known, origin in every if known.startswith(f"{key}.")}
        if hits:
            return next((one for one in self.files if one in hits), min(hits))
        if above := key.rpartition(".")[0]:
            return self.file_of(above)
        return self.files[0] if self.files else Path("-")

    def server(self, server_id: str) -> Server | None:
        """The server of that id."""
        return next((one for one in self.servers if one.id == server_id), None)
