"""Interfaces of the Groundhog endpoint's replaceable parts (settings, refusal audit, tool names, error bodies, tool providers).

Message handler: `client.GroundhogPeer`. Session manager: `sessions.Sessions`. Security validator: the kernel's
gates. Tool registry: `Names` and the kernel's dispatch. Serialization: `mcp.wire.groundhog` and
`dialects.groundhog.outcomes`. Error handler: `Spell`. Audit: `Note`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from gatewright.call import Caller, Failure, Refusal
from gatewright.dialects.groundhog.outcomes import Trust, Written
from gatewright.dialects.groundhog.sessions import Sessions
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire.groundhog import VERSION

__all__ = ["Names", "NoProviders", "Note", "Parts", "Providers", "Refused", "Spell", "Terms"]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration says of the door. Times are seconds."""

    version: str = VERSION
    require_authentication: bool = True
    authentication_timeout_s: float = 30.0
    """How long a connection may stay without a credential."""
    strict_codes: bool = False
    """Number errors as MGP does, instead of as Groundhog's example does (decision C-02)."""
    waiting_most: int = 100
    """How many connections may be without a credential at once."""
    in_flight: int = 1024
    """How many requests of one connection may run at once."""


class Refused(msgspec.Struct, frozen=True):
    """A request that was refused before it was a call."""

    caller: Caller | None
    """None: nobody is authenticated."""
    door: str
    method: str
    trace_id: str
    outcome: Refusal | Failure


class Note(Protocol):
    """Records what was refused before it was a call. False where nothing more of somebody unknown is
    recorded at present: then it is not answered either. Raises `Unrecorded`."""

    def __call__(self, refused: Refused) -> bool: ...


class Names(Protocol):
    """Which tool is meant."""

    async def __call__(
        self, profile: str, caller: Caller, tool_id: str, version: str | None
    ) -> str:
        """The name under which the kernel finds it; a name that it does not find where there is none."""


class Spell(Protocol):
    """The error handler's last step: an error body for a user who is trusted so far."""

    def __call__(
        self, outcome: Refusal | Failure, trust: Trust, written: Written, *, strict: bool = False
    ) -> bytes: ...


class Providers(Protocol):
    """Connections that stand behind tools."""

    def connected(self, connection: str, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        """From now on the connection of this name can be asked; what it registers, it answers for."""

    def gone(self, connection: str) -> None:
        """It cannot any more."""


class NoProviders:
    """Where no connection stands behind a tool."""

    def connected(self, connection: str, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        """Nobody asks."""

    def gone(self, connection: str) -> None:
        """Nobody asked."""


class Parts(msgspec.Struct, kw_only=True):
    """What the Groundhog endpoint needs of the gateway, each part replaceable."""

    front: ServerContext
    sessions: Sessions
    names: Names
    spell: Spell
    note: Note
    trust: Callable[[Caller], Trust]
    held: Callable[[Caller], Sequence[str]]
    """A caller's permissions, canonical names."""
    user: Callable[[Caller], dict[str, Any]]
    """A caller as Groundhog's user context."""
    count: Callable[[Caller], Refusal | None] = lambda caller: None
    """Counts a request that is no call, or says why it may not come. Calls are counted by the kernel."""
    limits: Callable[[Caller], dict[str, Any]] = lambda caller: {}
    """How a caller stands with its rate limits."""
    risk: Callable[[dict[str, Any]], str] = lambda parameters: ""
    """What the arguments of a call say about its risk: a word for the record, or nothing."""
    now: Callable[[], float]
    """Unix seconds."""
    providers: Providers = NoProviders()
    terms: Terms = Terms()
    waiting: int = 0
    """How many connections are without a credential now."""
