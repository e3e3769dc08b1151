"""What one tool server is, as its configuration says it: the input of everything in this folder.

`settings` reads files and builds these; `upstream` stands below `settings` and knows no file format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from gatewright.protocol.negotiate import Face
from gatewright.protocol.oauth_client import Identity
from gatewright.transport.base import FROM_SERVERS, Limits

__all__ = ["Auth", "CatalogueLimits", "Restart", "ServerSpec", "ToolWord"]


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """When a connection that ended is made again. Times are seconds."""

    policy: Literal["never", "on_failure", "always"] = "on_failure"
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
    description_bytes: int = 4096
    """A longer description is kept and warned about: cutting it would change what it says."""
    schema_depth: int = 32
    subschemas: int = 1000
    pages: int = 100


class ToolWord(Protocol):
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
    def confirmation_required(self) -> bool | None:
        """Whether a person has to agree to each call."""

    @property
    def enabled(self) -> bool:
        """False hides the tool from everybody."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool server. Times are seconds."""

    id: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """What the child gets besides the little that every program needs (`transport.launch`)."""
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = {}
    auth: Auth = Auth()
    era: Literal["auto", "legacy", "modern"] = "auto"
    face: Face | None = None
    """What we offer of MGP; None without `[servers.mgp]`: then the server never hears of it."""
    share: Literal["auto", "gateway", "session"] = "auto"
    """Who shares a connection: everybody (`gateway`), nobody (`session`), or everybody until the
    server first asks its caller something (`auto`; see `lanes`)."""
    enabled: bool = True
    problem: str = ""
    """Why this server must stay down although the others may start."""
    restart: Restart = Restart()
    connect_s: float = 20.0
    """From start to hello. Package runners download on their first start."""
    probe_s: float = 2.0
    """How long a stdio server may leave `server/discover` unanswered before it is asked the old way."""
    call_s: float = 30.0
    """The time limit of one call, unless the call brings its own."""
    restart_wait_s: float = 10.0
    """How long a call waits for a server that is (re)starting."""
    in_flight: int = 1024
    limits: Limits = FROM_SERVERS
    catalogue: CatalogueLimits = CatalogueLimits()
    prefix: str | None = None
    """What its exposed names begin with; None means the id."""
    tools: Mapping[str, ToolWord] = {}
    trust_level: str | None = None
    permissions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Environment and headers are left out: they carry secrets, and a repr ends in logs."""
        return f"ServerSpec(id={self.id!r}, transport={self.transport!r})"
