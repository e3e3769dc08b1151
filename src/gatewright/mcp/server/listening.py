"""One `subscriptions/listen` (MCP 2026-07-28): subscribes, acknowledges, sends the notifications held until then and later ones.

The acknowledgement is the first message, every message carries the id of the request, and only what
was asked for is sent. Resources are subscribed to by ordinary calls through the kernel, so policy holds
for them as for everything else, and only what it lets pass is acknowledged.

A client that negotiated MGP's `audit` may ask for what is recorded about it, by a member of the filter in MGP's own
namespace (decision 0031). A subscription ends with the credential that it was asked for with.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, CannotAsk, Event, Question, Refusal
from gatewright.mcp.protocol import listen_messages
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from gatewright.mcp.protocol.outcomes import Spelled, spell_error, spell_reason
from gatewright.mcp.server.server_context import Listens, Presented, Reply, ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import EVENT
from gatewright.mcp.wire.versions import METHODS, Method

__all__ = ["ACKNOWLEDGED_S", "LISTENS_EACH", "Listener", "Listening"]

ACKNOWLEDGED_S = 2.0
"""How long the acknowledgement waits for the servers of the resources that were asked for, and the end until they are told."""

LISTENS_EACH = 1000
"""How many listen requests one caller may have open."""

A_STEP, STEP_S = 4, 0.02
"""So many of the resources of one request are asked for at a time; the next ones when these are answered, or their servers take longer
than that."""
TURN_S = 0.005
"""How long other requests of the same caller wait for that: what is asked by then costs nothing more until a server answers, and where each
waited for slow servers of the others, most would not be granted in time."""

_WANTED = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/mgp.audit": AUDIT_WANTED,
    "notifications/mgp.lifecycle": LIFECYCLE_WANTED,
    EVENT: EVENTS_WANTED,
}
_EACH = frozenset({"notifications/mgp.audit", "notifications/mgp.lifecycle", EVENT})
"""Of these each one counts, and not only that there was one."""
_EARLY = 1000
"""So many changes are remembered until the acknowledgement was sent."""


_SUBSCRIBE, _METHOD = "mgp/events/subscribe", Method("method")
_numbers = count(1)


class Listener(Protocol):
    """The host that listens."""

    caller: Caller
    profile: str
    session: str | None

    shown: Presented

    @property
    def presented(self) -> Presented:
        """Who it is, and with what it listens."""

    def call(self, inbound: mcp.Inbound) -> Call:
        """The call an inbound request of it asks for."""

    def still(self) -> Caller | Refusal:
        """Who it is now, or why it is nobody any more."""


class _Deaf:
    """The `Back` of calls that nobody waits for."""

    def emit(self, event: Event) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody waits for this call")


class Listening:
    """One subscription."""

    def __init__(
        self,
        front: ServerContext,
        host: Listener,
        listen: mcp.Listen,
        reply: Reply,
    ) -> None:
        self._front = front
        self._host = host
        self.shown = host.shown
        self._listen = listen
        self._reply = reply
        self._ident = jsonrpc.decode(listen.id)
        self._name = f"listen {next(_numbers)}"
        self._honoured: dict[str, Any] = {}
        self._uris: frozenset[str] = frozenset()
        self._early: dict[Any, tuple[str, dict[str, Any]]] | None = {}
        """What changed before the acknowledgement was sent; None from then on."""
        self._over: asyncio.Future[bool | Refusal] = asyncio.get_running_loop().create_future()
        """True where we say goodbye, False where the host does not want to hear it; or why it may not listen."""

    busy = False

    @property
    def presented(self) -> Presented:
        """Who listens, and with what."""
        return self._host.presented

    def dismiss(self, why: Refusal) -> None:
        """End with a refusal."""
        self._settle(why)

    async def run(self) -> None:
        """Serve until `cancel` or `end`, until the host's credential is good no more, or until the task is
        cancelled."""
        ident, client, caller = self._listen.id, self._listen.client, self._host.caller
        if self._over.done():  # the host left before this began
            await self._reply.abandon(ident)
            return
        try:
            most = self._front.subscriptions
            wanted = listen_messages.acknowledgement(self._listen.wanted, most, client.mgp)
        except ValueError as problem:
            flaw = spell_error(jsonrpc.INVALID_PARAMS, str(problem), client, http=400)
            await self._reply.finish(ident, flaw)
            return
        # Counted before anything is awaited: requests that come together cannot pass the bound together.
        open_ = self._front.listening.setdefault(caller.who, Listens())
        if len(open_) >= LISTENS_EACH:
            busy = Refusal("resource_exhausted", f"at most {LISTENS_EACH} may be open at once")
            await self._refuse(busy)
            return
        open_.add(self)
        self._front.lasting.add(self)
        try:
            goodbye = await self._serve(wanted, open_.turn)
        finally:
            open_.discard(self)
            self._front.lasting.discard(self)
            if not open_:
                self._front.listening.pop(caller.who, None)
        if isinstance(goodbye, Refusal):
            await self._refuse(goodbye)
        elif goodbye:
            await self._reply.finish(ident, Spelled(listen_messages.listened(self._ident)))
        else:
            await self._reply.abandon(ident)

    async def _refuse(self, why: Refusal) -> None:
        method, client = "subscriptions/listen", self._listen.client
        trace = self._host.call(self._inbound(method, {})).trace_id
        spelled = spell_reason(why, method, client, trace, self._front.info)
        await self._reply.finish(self._listen.id, spelled)

    def cancel(self, ident: bytes | None = None) -> None:
        """End silently: the host gave up on the request, or went away."""
        self._settle(False)

    def end(self) -> None:
        """End with a result: the gateway stops."""
        self._settle(True)

    def _settle(self, goodbye: bool | Refusal) -> None:
        if not self._over.done():
            self._over.set_result(goodbye)

    async def _serve(self, wanted: dict[str, Any], turn: asyncio.Lock) -> bool | Refusal:
        host = self._host
        uris: list[str] = wanted.pop("resourceSubscriptions", [])
        events: dict[str, Any] | None = wanted.pop(EVENTS_WANTED, None)
        self._honoured, self._uris = wanted, frozenset(uris)
        unwatch = self._front.upstream.watch(
            host.caller,
            host.profile,
            self._changed,
            host.session,
            audit=AUDIT_WANTED in wanted,
            door=host.presented.door,
            holder=self._name,
            still=host.still,
        )
        held: list[str] = []
        try:
            if uris:
                await self._each(turn, "resources/subscribe", uris, held, self._over)
            if events is not None:
                await self._events(events)
            if (
                not self._over.done()
            ):  # the host may have given it up meanwhile, and hears nothing of it
                self._acknowledge(wanted, held)
            return await self._over
        finally:
            unwatch()
            try:
                # Servers that do not answer keep neither the place among `LISTENS_EACH` nor the goodbye waiting.
                await self._each(turn, "resources/unsubscribe", held, [])
            finally:
                # No gate lets an unsubscription through whose credential, grant or session has gone meanwhile; and a second end
                # may cancel this one.
                self._front.upstream.forget(self._name)

    async def _each(
        self,
        turn: asyncio.Lock,
        method: str,
        uris: list[str],
        granted: list[str],
        *enough: asyncio.Future[Any],
    ) -> None:
        """Ask this of all resources, for `ACKNOWLEDGED_S` at most; `granted` gets those that were granted in time. One that is
        `enough` ends it as well."""
        if not uris:
            return
        tasks: dict[asyncio.Task[bool], str] = {}
        everything = asyncio.ensure_future(self._ask_all(turn, method, uris, tasks))
        either: list[asyncio.Future[Any]] = [everything, *enough]
        first = asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait(either, timeout=ACKNOWLEDGED_S, return_when=first)
        finally:
            everything.cancel()
            for task, uri in tasks.items():
                if not task.done():
                    task.cancel()
                elif not task.cancelled() and task.result():
                    granted.append(uri)

    async def _ask_all(
        self,
        turn: asyncio.Lock,
        method: str,
        uris: list[str],
        tasks: dict[asyncio.Task[bool], str],
    ) -> None:
        """Ask for all of them, a few at a `turn` of its caller's: a thousand calls begun at once would keep everybody else waiting,
        of one request or of many."""
        for at in range(0, len(uris), A_STEP):
            async with turn:
                some = {
                    asyncio.ensure_future(self._resource(method, uri)): uri
                    for uri in uris[at : at + A_STEP]
                }
                tasks.update(some)
                await asyncio.wait(some, timeout=TURN_S)
            await asyncio.wait(some, timeout=STEP_S - TURN_S)
        await asyncio.wait(tasks)

    def _acknowledge(self, wanted: dict[str, Any], held: list[str]) -> None:
        honoured = {**wanted, "resourceSubscriptions": held} if held else wanted
        self._honoured, self._uris = honoured, frozenset(held)
        self._notify("notifications/subscriptions/acknowledged", {"notifications": honoured})
        # From here on changes are told at once; those that came before follow the acknowledgement.
        early, self._early = self._early, None
        for method, params in (early or {}).values():
            self._changed("", method, params)

    def _inbound(self, method: str, params: dict[str, Any]) -> mcp.Inbound:
        spec = METHODS.get(method, METHODS["resources/subscribe"])
        return mcp.Inbound(self._listen.id, method, params, self._listen.client, spec)

    async def _events(self, wanted: dict[str, Any]) -> None:
        """Subscribe to events (MGP §13.2), and honour what came of that; nothing where it was refused."""
        inbound = mcp.Inbound(self._listen.id, _SUBSCRIBE, wanted, self._listen.client, _METHOD)
        call = replace(self._host.call(inbound), listen=self._name)
        outcome = await self._front.kernel.handle(call, _Deaf())
        if isinstance(outcome, Answer):
            self._honoured[EVENTS_WANTED] = jsonrpc.decode(outcome.raw)

    async def _resource(self, method: str, uri: str) -> bool:
        call = replace(self._host.call(self._inbound(method, {"uri": uri})), listen=self._name)
        return isinstance(await self._front.kernel.handle(call, _Deaf()), Answer)

    def _changed(self, server: str, method: str, params: dict[str, Any]) -> None:
        wanted = _WANTED.get(method)
        if wanted not in self._honoured and not (
            method == "notifications/resources/updated" and str(params.get("uri")) in self._uris
        ):
            return
        still = self._host.still()
        if isinstance(still, Refusal):
            self._settle(still)
        elif self._early is not None:
            self._keep(self._early, method, params)
        else:
            self._notify(method, params)

    @staticmethod
    def _keep(early: dict[Any, tuple[str, dict[str, Any]]], method: str, params: Any) -> None:
        """Remember what changed: what is only said again is said once, and of records no more than there is room for."""
        key = len(early) if method in _EACH else (method, str(params.get("uri")))
        if len(early) < _EARLY or key in early:
            early[key] = method, params

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._reply.event(jsonrpc.notification(method, listen_messages.tag(params, self._ident)))
