"""`Feature`, base of what plugs into a gateway: gates, filters, methods, servers, routes, background work, metrics; types of each stage.

A feature is made before any tool server is there (`Ground`). It is asked what it does to servers and to calls, what it answers, and what
it makes of a configuration; when the kernel and the endpoints are there, what it serves. What it needs of other features it is told
by signals, or finds among what those before it in the list offer. Nothing is set on it from outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from gatewright.audit.sinks import SinkPositions
from gatewright.audit.trail import AuditLog
from gatewright.call import Call, Caller, Client, Filter, Gate, Refusal, Tool
from gatewright.config import Settings
from gatewright.identity.gate import Keys
from gatewright.identity.keys import KeyStore
from gatewright.in_force import InForce
from gatewright.kernel import Hooks, Kernel
from gatewright.listeners import Signal
from gatewright.mcp.protocol.negotiate import EXTENSIONS as STANDARD
from gatewright.mcp.server.http_app import App
from gatewright.mcp.server.routes import Routes
from gatewright.mcp.server.server_context import ServerContext
from gatewright.servers.administration import Administration
from gatewright.servers.catalogue import Sight
from gatewright.servers.dispatch import Builtin, Dispatch, Shared
from gatewright.servers.mgp_extensions import EXTENSIONS
from gatewright.servers.server import Server
from gatewright.servers.server_set import ServerSet
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.servers.turns import GoingOn
from gatewright.storage.state import StateDatabase
from gatewright.transport.connection_limits import Seats
from gatewright.transport.workers import Workers

__all__ = [
    "Announced",
    "Around",
    "Counts",
    "Examination",
    "Examined",
    "Feature",
    "GatewayParts",
    "Ground",
    "Inside",
    "Listener",
    "Making",
    "Rights",
    "Rules",
    "Serving",
    "extended",
    "extensions_of",
    "look_ahead",
    "offered",
]

T = TypeVar("T")

Announced = Callable[[dict[str, Any], Client], dict[str, Any]]
"""What servers can do → the same with what a client hears of the gateway's own."""


class Listener(Protocol):
    """An address that is listened at."""

    @property
    def refused(self) -> int:
        """Connections that were not taken."""

    @property
    def flooded(self) -> int:
        """Connections that ended because they sent too much at a time."""


class Examined(Protocol):
    """What a check of the installation says of one subject (`gatewright doctor`)."""

    @property
    def check(self) -> str:
        """Which check."""

    @property
    def subject(self) -> str:
        """What was looked at."""

    @property
    def level(self) -> Literal["ok", "warning", "problem"]:
        """How it is."""

    @property
    def what(self) -> str:
        """What is the case."""

    @property
    def why(self) -> str:
        """The cause, where it is known."""

    @property
    def fix(self) -> str:
        """What to do, a sentence or a command; empty where nothing is to be done."""


class Examination(msgspec.Struct, frozen=True):
    """Looks for everything that can be wrong around a gateway that runs: the checks are part of the command line, which hands it in."""

    findings: Callable[[], Iterable[Examined]]
    """Takes its time, in a thread."""


class Counts:
    """Counts requests that never become calls. Without a feature that does: nothing is counted."""

    def count(self, door: str, caller: Caller) -> Refusal | None:
        """Count a request of a caller, or say why it is over a limit."""

    def limited(self, door: str, caller: Caller) -> Refusal | None:
        """Why the next call of a caller at a door would be over a limit; nothing is counted."""


class Rights:
    """What callers hold. Without a feature that knows: nothing."""

    def held(self, caller: Caller) -> list[str]:
        """Every permission that a caller holds now."""
        return []

    def may_use(self, caller: Caller, tool: Tool, requested: frozenset[str] | None) -> bool:
        """Whether a caller holds what a tool needs, of what it wants to use (None: whatever it holds)."""
        return False


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What is there before any tool server."""

    settings: Settings
    """Those of the start."""
    now: InForce
    database: StateDatabase
    audit: AuditLog
    positions: SinkPositions
    """How far the sinks of the record have come."""
    callers: KeyStore
    workers: Workers
    random: Callable[[int], bytes]
    who: Callable[[Call, str], Caller]
    """Whom a name means to whoever makes a call."""
    listeners: list[Listener]
    """The addresses that are open; whoever opens one puts it here."""
    redeemed: Signal[Call]
    """Told of a call that runs and was counted, though it had been counted when it was first asked."""
    strained: Signal[tuple[Call, str]]
    """Told of a call that took longer or more memory than was configured, and which."""
    handed: Sequence[object] = ()
    """What whoever starts the gateway gives to features, for `of`: services of the command line."""
    open_methods: frozenset[str] = frozenset()
    """As `Feature.open_methods`, of all features of the list."""
    before: Sequence[Feature] = ()
    """The features before this one in the list."""

    def of(self, kind: type[T]) -> T | None:
        """What a feature before this one offers of a kind, or who started the gateway."""
        found = offered(self.before, kind)
        handed = (one for one in self.handed if isinstance(one, kind))
        return next(handed, None) if found is None else found


async def _nothing() -> None:
    """Nothing is open."""


def offered(features: Sequence[Feature], kind: type[T]) -> T | None:
    """What the first of these features that does offers of a kind."""
    every = (one for feature in features for one in feature.offers)
    return next((one for one in every if isinstance(one, kind)), None)


def extensions_of(features: Iterable[Feature | type[Feature]]) -> tuple[str, ...]:
    """The extensions of MGP that a gateway with these features offers, in the order of MGP §2.2."""
    served = {*EXTENSIONS, *(name for one in features for name in one.extensions)}
    return tuple(one for one in STANDARD if one in served)


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What a feature does with every call, and what it answers together with servers."""

    hooks: Hooks = Hooks()
    shared: Mapping[str, Shared] = {}
    announced: Announced | None = None
    begin: Callable[[], object] = lambda: None
    """Before any server is started."""
    numbers: Callable[[], Mapping[str, Any]] = dict
    """As `Feature.numbers`."""
    stop: Callable[[], Awaitable[None]] = _nothing
    """Ends what runs, before the servers stop."""
    close: Callable[[], Awaitable[None]] = _nothing
    """As `Feature.close`."""


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """Servers and kernel are there, and no call has begun."""

    servers: Supervisor
    kernel: Kernel
    gates: Sequence[str]
    """The names of all gates, in their order."""
    rights: Rights
    counts: Counts
    going_on: GoingOn
    """With the same configuration, and with what features add to it now (`Feature.extend`)."""
    administration: Administration
    """Who starts and stops servers on an operator's word."""


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """What gates and filters of one configuration are made of. On the event loop; nothing waits."""

    settings: Settings
    servers: ServerSet
    dispatch: Dispatch
    """Where calls go that the gates let pass."""
    sight: Sight
    made: Mapping[str, Gate]
    """The gates of this configuration that are made already: those before, for a gate; all, for a filter."""
    former: Mapping[str, Gate]
    """The gates in force until now: what was counted and learned is handed on."""
    still: Gate
    """Asks about a call that has waited once more, by all that holds by then."""

    def gate(self, name: str, kind: type[T]) -> T:
        """A gate that is made already. Raises `TypeError` where it is not of this kind."""
        found = self.made[name]
        if not isinstance(found, kind):
            raise TypeError(f"gate {name} is no {kind.__name__}")
        return found


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a feature makes of one configuration: makers of its gates and filters, by the names that they have in `pipeline`."""

    gates: Mapping[str, Callable[[Making], Gate]] = {}
    filters: Mapping[str, Callable[[Making], Filter]] = {}
    sight: Sight | None = None
    """Who may see what; of one feature alone."""
    listed: Callable[[Caller, str, Tool], bool] | None = None
    """Whether the list of a profile has a tool that the caller may see; of one feature alone."""
    held: Callable[[Tool], str] | None = None
    """Why nobody may see a tool; empty where that may be seen."""
    version: Callable[[], Hashable] | None = None
    """Changes whenever an answer of `held` may have changed."""


class GatewayParts(msgspec.Struct, frozen=True, kw_only=True):
    """All of the spine: what endpoints and background work need."""

    inside: Inside
    front: ServerContext
    numbers: Callable[[], Mapping[str, Any]]
    """Everything that is counted, now."""
    reached: Signal[str]
    """Told of the URL, without a path, at which this machine reaches the gateway; of none where it listens elsewhere."""


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What a feature serves, and does in the background."""

    routes: Routes = Routes()
    urls: Callable[[str], Mapping[str, str]] = lambda _: {}
    """The base URL → what of it the ready line names."""
    looks: Sequence[Callable[[], object]] = ()
    """Notice what other processes changed, several times a second."""
    work: Sequence[Callable[[], Coroutine[Any, Any, object]]] = ()
    """In the background, until the gateway stops."""
    listening: Callable[[App, Seats], AbstractAsyncContextManager[Mapping[str, str]]] | None = None
    """While inside, an address of its own is served: its URLs by name."""
    clear_text: Callable[[], Sequence[str]] = lambda: ()
    """Addresses of its own that others reach without TLS."""


class Feature:
    """One feature; by itself it contributes nothing."""

    name = ""
    extensions: Sequence[str] = ()
    """What of MGP clients and servers are offered where it is part of the gateway."""
    offers: Sequence[object] = ()
    """What those after it in the list may find (`Ground.of`)."""
    own_tools: Sequence[str] = ()
    """What hosts see tools of the gateway itself as, that no configuration can replace."""
    open_methods: Sequence[str] = ()
    """Those of `methods` that exist for everybody who negotiated their extension; the others of MGP and of the gateway exist for
    operators alone. What of them an agent may do they say themselves."""
    pages: str = ""
    """The path of pages on which operators decide, to which no server may send a person."""

    def __init__(self, ground: Ground) -> None:
        """Raises `StoreError` where its state cannot be opened."""

    def keys(self, keys: Keys) -> Keys:
        """Where credentials are looked up."""
        return keys

    def side(self, side: ServerSide) -> ServerSide:
        """What the servers are given."""
        return side

    def around(self, servers: Supervisor) -> Around:
        """What it does with every call."""
        return Around()

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """The gateway's own methods."""
        return {}

    def extend(self, settings: Settings) -> Settings:
        """A configuration with what it adds while the gateway runs. On the event loop; must not raise."""
        return settings

    def expect(self, settings: Settings) -> None:
        """Servers of a configuration to come are about to connect."""

    def rules(self, settings: Settings) -> Rules:
        """What it makes of a configuration. Any thread, and it may take its time."""
        return Rules()

    async def look_ahead(self, server: str, tools: Sequence[Tool], settings: Settings) -> None:
        """Look at the tools of a server of a configuration to come."""

    def serve(self, parts: GatewayParts) -> Serving:
        """What it serves."""
        return Serving()

    def adopt(self, settings: Settings) -> None:
        """Go on by another configuration, between two calls."""

    def numbers(self) -> Mapping[str, Any]:
        """What it counts, for `/metrics` (`telemetry.endpoint.Numbers`)."""
        return {}

    async def close(self) -> None:
        """Give everything back: the servers have stopped."""


def extended(features: Sequence[Feature], settings: Settings) -> Settings:
    """A configuration with what features add to it while the gateway runs; its servers are started next."""
    for one in features:
        settings = one.extend(settings)
    for one in features:
        one.expect(settings)
    return settings


async def look_ahead(
    features: Sequence[Feature], servers: Iterable[Server], settings: Settings
) -> None:
    """Let features look at what servers of a configuration to come have listed."""
    for one in servers:
        tools = () if one.shelved is None else one.shelved.shelf.tools
        for feature in features:
            await feature.look_ahead(one.id, tools, settings)
