"""`ServerContext`, shared by all endpoints: authenticates callers, builds calls, holds sessions; interfaces `Reply`, `Handler`, `Upstream`."""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import msgspec

from gatewright.call import Back, Call, Caller, Client, Outcome, Refusal, Who
from gatewright.mcp.protocol.eras import tail
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.request_state import Sealer
from gatewright.mcp.server.kept_answers import Kept
from gatewright.mcp.server.protected_resource import Protected
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.patterns import Pattern

__all__ = [
    "Answering",
    "Changes",
    "Described",
    "Ending",
    "Handler",
    "InTask",
    "Lasting",
    "Listens",
    "Presented",
    "Refused",
    "Reply",
    "Running",
    "ServerContext",
    "Standing",
    "Terms",
    "Upstream",
    "nothing_more",
    "trace_of",
]

Answering = Coroutine[Any, Any, None]
"""What is left to do of an answer, to be awaited at once."""

log = logging.getLogger("gatewright.mcp.server")

_OFFERS = 1000
Described = tuple[dict[str, Any], str]
"""Capabilities and instructions."""

Changes = Callable[[str, str, dict[str, Any]], None]
"""Takes what a server said on its own account: server id, method, params."""


class Upstream(Protocol):
    """What endpoints ask of the tool servers' side besides calls."""

    async def settled(self) -> bool:
        """Wait until the servers have started or had their time; at once ever after."""

    async def describe(self, profile: str, caller: Caller) -> Described:
        """What the servers behind a profile can do, as far as they have started."""

    def watch(
        self,
        caller: Caller,
        profile: str,
        take: Changes,
        session: str | None = None,
        *,
        audit: bool = False,
        door: str = "",
        holder: str | None = None,
        still: Callable[[], Caller | Refusal] | None = None,
    ) -> Callable[[], None]:
        """Tell `take` of changes in servers the caller may see; the result ends that. `session` also hears what comes on connections of its
        own; with `audit`, what is recorded about the caller. Tasks are told of at the `door` at which they were made, resources to the
        `holder` who subscribed to them, else the session. `still` says who the caller is by then."""

    def making(self, profile: str) -> Awaitable[None] | None:
        """What to wait for before tools of a profile are looked up; None where all are known."""

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        """The `x-mcp-header` annotations of a tool the caller may see; empty for all others."""

    @property
    def kept(self) -> Kept:
        """Judges what was kept for callers."""

    def forget(self, session: str) -> None:
        """A session is over: give up what was kept for it."""


class Handler(Protocol):
    """Who handles calls: the gateway's kernel, or the tools of one server."""

    async def handle(self, call: Call, back: Back, /) -> Outcome:
        """How the call ends. Never raises, except for the cancellation of its task."""


class Presented(NamedTuple):
    """Who was let in at an endpoint, and with what credential."""

    door: str
    caller: Caller
    credential: str | None


class Lasting(Protocol):
    """A connection that outlasts a request, and shows no credential again: a WebSocket, an event stream, a subscription."""

    @property
    def presented(self) -> Presented | None:
        """Who opened it; None as long as nobody is known, who has so long to say it as its door allows."""

    @property
    def busy(self) -> bool:
        """Whether something runs on it whose answer is still to leave."""

    def dismiss(self, why: Refusal) -> None:
        """End it in the way of its transport: its credential is good no more."""


class InTask(Protocol):
    """What is served in a task, which is there once it begins."""

    task: asyncio.Task[Any] | None


class Reply(Protocol):
    """The channel on which one request is answered."""

    @property
    def whole(self) -> InTask | None:
        """What knows the task in which the request is served; None where whoever serves it has to ask."""

    @property
    def behind(self) -> int:
        """Bytes that the client has not taken yet."""

    def event(self, frame: bytes) -> bool:
        """Send a message that goes before the answer. Never blocks. False where nobody may be sent it."""

    def recall(self, frame: bytes) -> None:
        """Tell whoever was asked a question here that nobody waits for its answer, also behind the answer to the request."""

    def reconnect(self, retry_ms: int) -> None:
        """Close the stream; the answer waits for a client that comes back."""

    def say(self, ident: bytes, result: bytes) -> bool:
        """Answer the request with this result at once, where that needs no waiting; else False, and nothing was done."""

    def finish(self, ident: bytes, spelled: Spelled) -> Answering:
        """Send the answer to the request `ident` (JSON text)."""

    def abandon(self, ident: bytes, why: Spelled | None = None) -> Answering:
        """End the request without a result: its caller cancelled it. `why`: where that is told at all, this is said of it."""


class Running(Protocol):
    """What a host can cancel."""

    @property
    def shown(self) -> Presented:
        """Who asked for it, and with what."""

    def cancel(self, ident: bytes | None = None) -> None:
        """End it because its host gave up on the request `ident`, or because its host went away."""


class Ending(Protocol):
    """What can be ended in an orderly way when the gateway stops."""

    def end(self) -> None:
        """Say goodbye to whoever listens."""


class Listens(set[Ending]):
    """The open listen requests of one caller."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = asyncio.Lock()
        """Whose turn it is to ask servers: together they ask no more at a time than one of them would."""


Refused = Callable[[Caller, str, int, str], None]
"""Told of each request that a door refuses before it is a call: who, which door, code, message."""


def _nobody_asks(caller: Caller, door: str, code: int, message: str) -> None:
    """Where no record is kept."""


def _no_bearer(credential: str) -> Caller | Refusal:
    """Where no tokens are taken."""
    return Refusal("auth_failed", "access tokens are not taken here")


def nothing_more(capabilities: dict[str, Any], client: Client) -> dict[str, Any]:
    """Where nothing is offered besides what servers offer."""
    return capabilities


class Standing(msgspec.Struct, eq=False):
    """A session as others may see it. Times are monotonic seconds."""

    door: str
    profile: str
    caller: Caller
    opened: float
    used: float
    idle_s: float | None = None
    """After how long without use it ends; None where it ends with its connection."""
    end: Callable[[], object] = lambda: None
    """Ends it now: what runs in it is cancelled, and whoever uses it further hears that it has ended."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What one configuration says of a `ServerContext`, by the names that it has there."""

    identify: Callable[[str, str | None], Caller | Refusal]
    bearer: Callable[[str], Caller | Refusal]
    protected: Protected | None
    info: Mapping[str, Any]
    limits: Limits
    subscriptions: int


class ServerContext(msgspec.Struct):
    """What all endpoints of one gateway (or of one SDK server) share, as the connections of its hosts see it."""

    kernel: Handler
    upstream: Upstream
    identify: Callable[[str, str | None], Caller | Refusal]
    """Door and credential → who that is, or why nobody. Knows no access tokens."""
    face: Face
    info: Mapping[str, Any]
    sealer: Sealer
    announced: Callable[[dict[str, Any], Client], dict[str, Any]] = nothing_more
    """What servers can do → the same with what a client hears of the gateway's own."""
    counts: Callable[[], dict[str, int]] | None = None
    """What `_meta` of `initialize` says of how much there is (decision C-41); None: nothing."""
    owners: dict[str, Who] = {}
    """Session id → id of the caller who opened it; kept by the doors, read by the session gate."""
    standing: dict[str, Standing] = {}
    """Session id → what is known of it; kept like `owners`, for whoever wants to see which there are."""
    limits: Limits = Limits()
    frame_bytes: int = 1024 * 1024
    queue_bytes: int = 256 * 1024
    subscriptions: int = 100
    stream_after_s: float = 0.05
    """After how long a call is answered on a stream where that can be resumed, though nothing goes
    before its answer: a client whose connection breaks in a long call can then come back for it."""
    bearer: Callable[[str], Caller | Refusal] = _no_bearer
    """Who shows an access token that was looked at (`admit`)."""
    protected: Protected | None = None
    """What is said to clients of OAuth issuers, where there are any."""
    refused: Refused = _nobody_asks
    clock: Callable[[], float] = time.monotonic
    random: Callable[[int], bytes] = os.urandom
    settled: bool = False
    """Whether all servers have started: then nobody waits for them again (`Upstream.settled`)."""
    made: list[tuple[str, str]] = []
    """An id and a trace for each of the calls that come next: made many at a time, which costs far less."""
    listening: dict[Who, Listens] = {}
    """Caller → the `subscriptions/listen` requests that are open, of every door."""
    lasting: set[Lasting] = set()
    """The connections of every door that outlast a request."""
    offers: set[tuple[str, str, str]] = set()
    """Who offered MGP in a way that does not count: caller, door and why."""
    tail: bytes = b""
    """What a modern caller is told with nearly every result (`eras.tail`)."""

    def __post_init__(self) -> None:
        self.tail = tail(self.info)

    def adopt(self, terms: Terms) -> None:
        """Go on by another configuration."""
        self.identify, self.bearer, self.protected = terms.identify, terms.bearer, terms.protected
        self.info, self.limits, self.subscriptions = terms.info, terms.limits, terms.subscriptions
        self.tail = tail(self.info)

    def look_at_offer(self, client: Client, caller: Caller, door: str) -> None:
        """Say why an offer of MGP does not count: once for each caller and reason, since modern clients make it anew with each
        request."""
        said = caller.id, door, client.mgp_problem
        if client.mgp_problem and said not in self.offers and len(self.offers) < _OFFERS:
            self.offers.add(said)
            log.warning(
                "%s offers MGP at the door %s in a way that does not count: %s; it is served as plain MCP",
                *said,
            )

    def tokens(self) -> set[str]:
        """The access tokens with which such connections were opened."""
        found = (one.presented for one in self.lasting)
        return {one.credential or "" for one in found if one is not None and one.caller.token}

    async def admit(self, door: str, credential: str | None, path: str) -> Caller | Refusal:
        """The same as `identify`, for whoever may show a token at this path that nobody has looked at."""
        if self.protected is None or credential is None:
            return self.identify(door, credential)
        found = self.identify(door, credential)
        # An issuer is asked about a credential only where it cannot be one of ours: asking shows it to somebody else.
        if isinstance(found, Caller) or not self.protected.is_foreign(credential):
            return found
        refusal = await self.protected.look(credential, path)
        return self.bearer(credential) if refusal is None else refusal

    def still(self, door: str, caller: Caller, credential: str | None) -> Caller | Refusal:
        """Who it is now that was let in as `caller`."""
        return self.bearer(credential or "") if caller.token else self.identify(door, credential)

    def call(
        self,
        inbound: Inbound,
        caller: Caller,
        door: str,
        credential: str | None,
        session: str | None,
        profile: str,
    ) -> Call:
        """The call an inbound request asks for."""
        params, spec = inbound.params, inbound.spec
        name = params.get(spec.names) if spec.names else ""
        ident, trace = (self.made or self.more_ids()).pop()
        # MGP §6.5 has it beside `params` or within them.
        if inbound.trace_id or "trace_id" in params or "_meta" in params:
            trace = (inbound.trace_id and _trace(inbound.trace_id)) or trace_of(params) or trace
        return Call(
            ident,
            door,
            spec.kind,
            inbound.method,
            name if type(name) is str else "",
            params,
            caller,
            inbound.client,
            trace,
            session,
            profile,
            credential=credential,
            facts={},
            request=inbound.id,
            size=inbound.size,
        )

    def more_ids(self) -> list[tuple[str, str]]:
        """Ids and traces for the calls that come next; the last is taken first."""
        self.made = _ids(self.random)
        return self.made


_AT_ONCE = 64
# 16 bytes of an id, then 16 of a UUID with the bits of version 4 and of its variant (RFC 9562 §5.4).
_RANDOM = int.from_bytes((b"\xff" * 22 + b"\x0f\xff\x3f" + b"\xff" * 7) * _AT_ONCE)
_MARKS = int.from_bytes((bytes(22) + b"\x40\x00\x80" + bytes(7)) * _AT_ONCE)
_PARTS = struct.Struct("32s8s4s4s4s12s")
_IDENT, _UUID = itemgetter(0), itemgetter(1, 2, 3, 4, 5)


def _ids(random: Callable[[int], bytes]) -> list[tuple[str, str]]:
    """Ids of 32 hexadecimal digits, each with a random UUID (version 4)."""
    size = 32 * _AT_ONCE
    noise = int.from_bytes(random(size)) & _RANDOM | _MARKS
    # Without a loop of ours: there are as many as calls.
    parts = list(_PARTS.iter_unpack(noise.to_bytes(size).hex().encode()))
    uuids = b" ".join(map(b"-".join, map(_UUID, parts))).decode().split()
    return list(zip(b" ".join(map(_IDENT, parts)).decode().split(), uuids, strict=True))


def trace_of(params: Mapping[str, Any]) -> str | None:
    """The trace a request belongs to: MGP's `trace_id`, else the id in W3C's `traceparent`."""
    if "trace_id" in params and (found := _trace(params["trace_id"])) is not None:
        return found
    meta = params.get("_meta")
    if type(meta) is not dict or "traceparent" not in meta:
        return None
    parent = meta["traceparent"]
    traced = _PARENT.match(parent) if type(parent) is str else None
    if traced is None or not traced[1].strip("0"):  # all zeros is no trace (W3C Trace Context)
        return None
    return str(traced[1])


def _trace(found: object) -> str | None:
    """A trace id as it may stand in a record: short, and on one line."""
    if isinstance(found, str) and 0 < len(found) <= 128 and found.isprintable():
        return found
    return None


_PARENT = Pattern(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|\n?\Z)")
