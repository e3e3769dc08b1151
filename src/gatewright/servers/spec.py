"""`ServerSpec`: one tool server as configured: endpoint, restart, authentication, limits and the operator's tool rules.

`config` reads files, `settings_adapters` builds these of settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from gatewright.mcp.client.endpoint import Endpoint
from gatewright.oauth.client import Identity
from gatewright.servers.data_flow import Mark

__all__ = ["Auth", "CatalogueLimits", "Restart", "ServerSpec", "ToolOverride"]


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """When a connection that ended is made again. Times are seconds."""

    policy: Literal["on_failure", "never", "always"] = "on_failure"
    max: int = 5
    """So many times within `window_s`; then the server is in state `error`."""
    window_s: float = 300.0
    first_s: float = 1.0
    """The wait before the second attempt; the first is made at once, each further one waits double."""
    most_s: float = 30.0


class Auth(msgspec.Struct, frozen=True):
    """How to get into a protected HTTP server. `oauth` does nothing until the server asks for it."""

    type: Literal["oauth", "bearer", "none"] = "oauth"
    identity: Identity = Identity()
    bearer: str = ""

    def __repr__(self) -> str:
        """Without the token: a repr ends in logs."""
        return f"Auth(type={self.type!r}, identity={self.identity!r})"


class CatalogueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one server may put into the catalogue."""

    tools: int = 500
    description_bytes: int = 16384
    """A tool with a longer one is left out: cutting it would change what it says."""
    schema_depth: int = 32
    subschemas: int = 1000
    pages: int = 100


class ToolOverride(Protocol):
    """The operator's word about one tool; None where nothing was said."""

    @property
    def risk_level(self) -> str | None:
        """safe, moderate or dangerous."""

    @property
    def permissions_required(self) -> tuple[str, ...] | None:
        """Canonical names of permissions (MGP §3)."""

    @property
    def validator(self) -> str | None:
        """One of the named checks."""

    @property
    def validator_args(self) -> tuple[str, ...]:
        """JSON pointers of the arguments that it judges; empty: it chooses by itself."""

    @property
    def validator_options(self) -> Mapping[str, Any]:
        """Its options."""

    @property
    def confirmation_required(self) -> bool | None:
        """Whether a person has to agree to each call."""

    @property
    def repeatable(self) -> bool | None:
        """Whether a second call does no more than one."""

    @property
    def approver(self) -> str | None:
        """Who that is: `caller`, `operator` or `either`."""

    @property
    def flow(self) -> tuple[Mark, ...] | None:
        """Which way data flows through it; None: what its server says."""

    @property
    def categories(self) -> tuple[str, ...]:
        """What it is filed under; empty: what its author says."""

    @property
    def enabled(self) -> bool:
        """False hides the tool from everybody."""


class ServerSpec(Endpoint, frozen=True, kw_only=True):
    """One tool server. Times are seconds. `face` is None without `[servers.mgp]`."""

    auth: Auth = Auth()
    python: str = ""
    """The module, package or folder of a server of this process (`python_server`)."""
    trust_gateway: Literal["untrusted", "verified", "trusted"] = "untrusted"
    """Its trust gateway: destructive tools of Python run only while it is trusted."""
    share: Literal["auto", "gateway", "session"] = "auto"
    """Who shares a connection: everybody (`gateway`), nobody (`session`), or everybody until the
    server first asks its caller something (`auto`; see `session_affinity`)."""
    enabled: bool = True
    problem: str = ""
    """Why this server must stay down although the others may start."""
    stopped: bool = False
    """The operator stopped it, which `problem` says."""
    restart: Restart = Restart()
    call_s: float = 30.0
    """The time limit of one call, unless the call brings its own."""
    restart_wait_s: float = 10.0
    """How long a call waits for a server that is (re)starting."""
    idle_s: float = 0.0
    """So long without a call, and it is shut down until the next one; 0: never."""
    catalogue: CatalogueLimits = CatalogueLimits()
    prefix: str | None = None
    """What its exposed names begin with; None means the id."""
    tools: Mapping[str, ToolOverride] = {}
    """The operator's word by tool; `*` is for every tool that is not named."""
    approver: str = "caller"
    """Who has to agree to dangerous calls, where the operator's word about the tool says nothing of it."""
    hints: bool = True
    """Whether a person is asked where its tools' annotations say that they destroy or reach out; nobody vouched for it."""
    trust_level: str | None = None
    methods: tuple[str, ...] | None = ()
    """Which messages besides those of MCP and MGP pass to it and from it (`mcp.wire.methods.declares`)."""
    local: bool = False
    """Its tools are functions of this process, and what they say of themselves is ours."""
    permissions: tuple[str, ...] = ()
    """Those that the configuration names, canonical."""
    asked: tuple[str, ...] = ()
    """Those that it needs besides what it declares itself: asked for on its behalf when it connects."""
    created_by: str = ""
    """Who registered it while the gateway runs; empty where it is configured."""
    private: bool = False
    """Whether it is that one's alone: what it claims changes no name that others see."""
    degrades: bool = False
    """Whether it is offered without all the permissions that it declares (MGP §3.6, `denied`)."""

    def word(self, tool: str) -> ToolOverride | None:
        """What the operator says about a tool."""
        # The two are not joined: a tool with a table of its own has nothing from `*`.
        return self.tools.get(tool) or self.tools.get("*")

    def vouched(self, tool: str) -> bool:
        """Whether the operator said of a tool how dangerous it is, so that nobody has to go by its annotations."""
        word = self.word(tool)
        said = word is not None and (word.risk_level, word.confirmation_required) != (None, None)
        return said or not self.hints

    @property
    def believed(self) -> bool:
        """Whether its word that a tool is `safe` counts: it is the operator's own code, or the operator trusts it, or it is not its word
        but what the method of an HTTP request promises (`openapi.document`)."""
        return (
            self.local or self.transport in ("python", "openapi") or self.trust_level == "trusted"
        )

    def by_operators(self, tool: str) -> bool:
        """Whether a call of a tool that needs somebody's word may wait for an operator."""
        word = self.word(tool)
        return ((word and word.approver) or self.approver) != "caller"
