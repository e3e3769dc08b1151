"""`ServerSubscriptions`: log levels, resource subscriptions at one server, per shared or session connection: bounded, renewed, carried over.

A *wish* (a log level or subscription) is that of one session, or of one open `subscriptions/listen`, and ends with it: nobody
ends another's, and who has neither could not be told anything. The wishes of all who share the main connection are joined
(`log_levels`, `resource_subscriptions`); those of a session with a connection of its own stand there. Each new connection is
told all of it.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.mcp.client.link import Link, ServerFailed, ServerRefused
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.log_levels import LogLevels
from gatewright.servers.resource_subscriptions import Subscriptions, name_of
from gatewright.servers.spec import ServerSpec
from gatewright.servers.subscription_counts import WishCounts

__all__ = ["ServerSubscriptions", "Wished"]

log = logging.getLogger("gatewright.servers")

_PATIENCE_S = 10.0

_UNHEARD = Refusal(
    "invalid_request",
    "this asks to be told of changes, and there is no session to tell them in: begin one with initialize, "
    "or ask with subscriptions/listen",
)


class Wished(Protocol):
    """What wishes need of their server."""

    id: str
    spec: ServerSpec

    @property
    def hello(self) -> Hello:
        """What it said of itself when it was last connected."""

    @property
    def link(self) -> Link | None:
        """The main connection, while it is there."""

    def own_link(self, session: str) -> Link | None:
        """The connection of a session's own, while it is there."""

    async def ready_for(self, session: str | None) -> Failure | None:
        """Wait for the connection that serves a session; why there is none, if so."""

    def has_own(self, call: Call) -> bool:
        """Whether the call goes on a connection of its session's own."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    def look(self) -> None:
        """Fetch the lists anew."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""

    async def call_common(
        self, method: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """The same on the connection that is shared."""


class _Connection:
    """What is wanted on one connection: the main one, or where there is a `session`, that session's own."""

    def __init__(
        self, server: Wished, session: str | None, party: Callable[[str], str] = str
    ) -> None:
        self.party = party
        self._server = server
        self._session = session
        self.id = server.id
        self.spawn, self.look = server.spawn, server.look
        self.levels = LogLevels(self)
        self.resources = Subscriptions(self, changes=session is None)

    @property
    def hello(self) -> Hello:
        """What the server said of itself."""
        return self._server.hello

    @property
    def link(self) -> Link | None:
        """The connection, while it is there."""
        return self._server.link if self._session is None else self._server.own_link(self._session)

    @property
    def call_s(self) -> float:
        """How long a call may take that says nothing else."""
        return self._server.spec.call_s

    async def ready(self) -> Failure | None:
        """Wait for the connection; why there is none, if so."""
        return await self._server.ready_for(self._session)

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""
        puts = self._server.call_common if self._session is None else self._server.call
        return await puts(method, params, call, back)

    async def said(self, link: Link, method: str, params: dict[str, Any]) -> bool | None:
        """Whether a connection was told and took it; None where it did not say."""
        if not link.open:
            return None
        try:
            await link.fetch(method, params, _PATIENCE_S, self._whose(params.get("uri")))
        except ServerFailed as problem:
            log.info("server %s: a wish was not taken: %s", self.id, problem)
            return False if isinstance(problem, ServerRefused) else None
        return True

    def _whose(self, uri: str | None) -> str:
        """For whom something is told: a resource says something of who wants word of it, a level of nobody."""
        return "" if uri is None else self.resources.party(uri)

    def follow(self, before: _Connection) -> None:
        """Want what was wanted on another one."""
        self.levels.follow(before.levels)
        self.resources.follow(before.resources)

    def take(self, holder: str, other: _Connection) -> None:
        """Want what a holder wants on another connection, in its place."""
        self.levels.take(holder, other.levels)
        self.resources.take(holder, other.resources)
        other.forget(holder)

    def forget(self, holder: str) -> None:
        """Somebody wants nothing any more."""
        self.levels.forget(holder)
        self.resources.forget(holder)

    def holders(self) -> set[str]:
        """Who wants something here."""
        held = (holder for holders in self.resources.held.values() for holder in holders)
        return {*held, *self.levels.holders()}

    async def renew(self, link: Link) -> None:
        """Tell it everything when it is new. What it refuses is asked for again with the next wish for it."""
        self.spawn(self.levels.renew(link))
        await self.resources.renew(link)


class ServerSubscriptions:
    """The wishes about one server."""

    def __init__(self, server: Wished) -> None:
        self._server = server
        self._counts = WishCounts(self._number)
        self._common = _Connection(server, None, self._counts.party)
        self._own: dict[str, _Connection] = {}
        self._line = [weakref.ref(self)]
        """Those of all who had, and will have, the server's place, the oldest first: a list that they share. It keeps none of them:
        whoever was never let go would else have kept all that came after."""

    def _of(self, call: Call) -> _Connection:
        """The wishes on the connection that serves a call."""
        session = call.session
        if session is None or not self._server.has_own(call):
            return self._common
        if session not in self._own:
            self._own[session] = self._made(session)
        return self._own[session]

    def _made(self, session: str) -> _Connection:
        return _Connection(self._server, session, self._counts.party)

    @property
    def resources(self) -> Subscriptions:
        """What those want to hear of who share the main connection."""
        return self._common.resources

    def wanted(self) -> list[str]:
        """The resources that anybody wants to hear of, on whichever connection."""
        every = self._common, *self._own.values()
        return [uri for one in every for uri in one.resources.wanted()]

    @property
    def _chain(self) -> list[ServerSubscriptions]:
        """These, and those of whoever took the server's place since: the last is the one that is heard now."""
        found = [one for it in self._line if (one := it()) is not None]
        return found[found.index(self) :]

    def _number(self, holder: str, session: str | None) -> int:
        return sum(one.resources.number(holder) for one in self._where(session))

    def _where(self, session: str | None) -> list[_Connection]:
        """Where wishes of a session may stand."""
        own = self._own.get(session) if session is not None else None
        return [self._common] if own is None else [self._common, own]

    def names(self, uri: str, holder: str | None, session: str | None) -> set[str]:
        """The names under which somebody hears of a resource."""
        if holder is None:
            return set()
        return {name for one in self._where(session) for name in one.resources.names(uri, holder)}

    def holders(self, uri: str) -> set[str]:
        """Who hears of a resource under any name, on whichever connection."""
        every = self._common, *self._own.values()
        return {holder for one in every for holder in one.resources.holders(uri)}

    def led(self, name: str, call: Call) -> str | None:
        """The resource that a caller holds, or asks for, under a name."""
        holder = call.holder
        every = self._where(call.session) if holder is not None else ()
        found = (one.resources.led(name, holder or "") for one in every)
        return next((uri for uri in found if uri is not None), None)

    async def level(self, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One session's `logging/setLevel`."""
        holder = call.holder
        if holder is None:
            return _UNHEARD
        levels = self._of(call).levels
        outcome = await levels.set(holder, params, call, back)
        now = self._chain[-1]
        if now is not self:
            now._common.levels.take_over(holder, levels.wanted(holder))
        return outcome

    async def subscribe(self, uri: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One holder's wish to hear of a resource."""
        holder = call.holder
        if holder is None:
            return _UNHEARD
        known = name_of(call, uri) in self.names(uri, holder, call.session)
        busy = None if known else self._counts.refusal(call)
        if busy is not None:
            return busy
        self._counts.add(holder, call)
        resources = self._of(call).resources
        try:
            outcome = await resources.subscribe(uri, holder, params, call, back)
        finally:
            self._counts.settle(holder)
        now = self._chain[-1]
        if now is not self and isinstance(outcome, Answer):
            # The configuration changed while this server was asked: its successor has to know of it, too.
            now._counts.add(holder, call)
            now.resources.take_over(uri, holder, resources.held.get(uri, {}).get(holder, ()))
            now._counts.settle(holder)
        return outcome

    async def unsubscribe(
        self, uri: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """The end of one holder's wish."""
        holder = call.holder
        if holder is None:
            return _UNHEARD
        on = self._of(call)
        self._leave(uri, call, holder, on)
        try:
            return await on.resources.unsubscribe(uri, holder, params, call, back)
        finally:
            self._counts.settle(holder)

    def leave(self, uri: str, call: Call) -> None:
        """The end of a wish, because its name leads elsewhere now."""
        if call.holder is not None:
            self._leave(uri, call, call.holder)

    def _leave(self, uri: str, call: Call, holder: str, on: _Connection | None = None) -> None:
        """End a wish wherever it may stand, but for one connection: what was wanted before the configuration was read anew
        stands on the main one, too."""
        for wishes in self._chain:
            for other in wishes._where(call.session):
                if other is not on:
                    other.resources.leave(uri, holder, call)
            wishes._counts.settle(holder)

    # -- connections and sessions --------------------------------------------------------------------

    def follow(self, before: ServerSubscriptions) -> None:
        """Want what another server was to tell."""
        line = self._line = before._line
        line[:] = [*(one for one in line if one() is not None), weakref.ref(self)]
        self._counts.follow(before._counts)
        for one in (before._common, *before._own.values()):
            self._common.follow(one)
        for (
            session,
            one,
        ) in before._own.items():  # for when the session has a connection of its own here, too
            self._own.setdefault(session, self._made(session)).follow(one)

    def forget(self, holder: str) -> None:
        """A session or a listening is over, and wants nothing any more."""
        # A listening wants something on the connection of its session, if on any of a session's own.
        session = self._counts.session(holder)
        self._counts.forget(holder)
        own = self._own.pop(holder, None)
        if own is not None:
            own.resources.drop_all()
        for one in self._where(session):
            one.forget(holder)

    async def close(self) -> None:
        """Listen no more. Returns when that has ended."""
        for one in (self._common, *self._own.values()):
            await one.resources.close()

    async def renew(self, link: Link) -> None:
        """Tell a new main connection everything that is wanted there."""
        if link.hello is not None:
            await self._common.renew(link)

    async def renew_own(self, session: str, link: Link) -> None:
        """Tell the new connection of a session what that wants."""
        own = self._own.get(session)
        if own is not None and link.hello is not None:
            for holder in own.holders():  # what is told there need not be told to everybody's
                own.take(holder, self._common)
            await own.renew(link)
