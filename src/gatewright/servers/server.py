"""`Server`: owns one tool server's main and session connections; sends calls, relists, resubscribes, handles permissions, reports status.

The main connection feeds the catalogue and serves every session that has no connection of its own (`session_affinity`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from gatewright.call import Back, Call, CannotAsk, Failure, Outcome, Refusal
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.client.server_requests import Outside
from gatewright.mcp.protocol.mcp_client import ASKABLE, Hello
from gatewright.servers.call_sender import CallSender, Route
from gatewright.servers.departures import Departures
from gatewright.servers.dial import reach
from gatewright.servers.draining import GONE_S
from gatewright.servers.ending import STOPPED, quieted
from gatewright.servers.listing import CHANGES, EMPTY, fetch_listing
from gatewright.servers.origin import origin_of
from gatewright.servers.permission_admission import Admission
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relist_delay import Paced
from gatewright.servers.relisting import Relisting
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_catalogue import Built, shelve
from gatewright.servers.server_life import LIFECYCLE, ServerLife
from gatewright.servers.server_screen import Screen
from gatewright.servers.session_affinity import SessionAffinity
from gatewright.servers.session_sink import SessionSink, session_reconnector
from gatewright.servers.spec import ServerSpec
from gatewright.servers.standard_error import StandardError
from gatewright.servers.states import State
from gatewright.servers.status import Status, stands
from gatewright.servers.straight_line import line_to
from gatewright.servers.subscriptions import ServerSubscriptions
from gatewright.servers.task_names import lead

__all__ = ["Server"]


class Server:
    """One configured server that is reached over a connection."""

    def __init__(
        self,
        spec: ServerSpec,
        info: Mapping[str, Any],
        told: Told,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.spec = spec
        self.id = spec.id
        self.listing = EMPTY
        self.farewell = "it is not configured any more"  # why it leaves, when it does
        self.shelved: Built | None = None  # what was made of it
        self.ended = False  # for good: its id is another one's by the next configuration
        self.wishes = ServerSubscriptions(self)
        self._relisting = Relisting(spec.id, lambda: self.shelved)
        self._info = info
        self._told = told
        self._screen = Screen(spec.id, told, origin_of(spec))
        self._authorizer = authorizer
        self._admission = Admission(lambda: self.spec, told.permits) if told.permits else None
        self._log = logging.getLogger(f"gatewright.server.{spec.id}")
        self.stderr = StandardError(self._log)
        self._loop = asyncio.get_running_loop()
        seen = told, self.stderr, self._relisting
        self.life = ServerLife(spec, *seen, self._reconnectors, self.spawn)
        self._departures = Departures()
        self._main = Reconnector(
            spec,
            # May ask anything of anybody: whose question it is, is found by the calls in flight (decision 0004).
            lambda: self._make(self, ASKABLE),
            connected=self._connected,
            changed=self.life.changed,
            leave=self._departures.leave,
        )
        self._lanes = SessionAffinity(spec, self._main, self._lane, self._end, told.opened)
        self._sender = CallSender(self._relisting, self._screen)
        self.way = partial(line_to, self, self.life, self._lanes, self._relisting, self._sender)
        self._relist = Paced(self._relist_now, self.spawn)
        self._renewed: Link | None = None  # made anew, and not told yet what is wanted of it
        self._stale: set[str] = set()  # has changed by the server's word
        self._unseen = False  # whether anything may have changed
        self._loading = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- life ----------------------------------------------------------------------------------------

    def _reconnectors(self) -> list[Reconnector]:
        return [self._main, *self._lanes.all()]

    def start(self) -> None:
        """Begin to connect, if the configuration lets it."""
        if self.spec.problem:
            self._main.state = "disconnected" if self.spec.stopped else "error"
            self._main.reason = self.spec.problem
        elif self.spec.enabled:
            self._main.start()
            if self.spec.idle_s:
                self.spawn(self.life.watch_idleness(self.spec.idle_s, self.wishes.wanted))

    async def settled(self) -> None:
        """Wait until the first attempt has succeeded or failed, or none is made any more."""
        if self.spec.enabled and not self.spec.problem:
            await self._main.settled()

    def adopt(self, spec: ServerSpec) -> None:
        """Go on with changed settings that need no new connection (`server_set.reconnects`)."""
        self.spec = self.life.spec = spec
        for keeper in self._reconnectors():
            keeper.adopt(spec)

    def follow(self, before: Server) -> None:
        """Take the place of another one: what clients wanted to hear of it they want to hear of this, and
        its last log lines stand before the first of this one."""
        self.wishes.follow(before.wishes)
        self.stderr.follow(before.stderr)
        # It was connected before it took over, when it had none of these subscriptions.
        if (link := self._main.link) is not None and link.open:
            self.spawn(self.wishes.renew(link))

    async def close(self, grace_s: float, reason: str = "the gateway stops") -> None:
        """Stop the server and everything that was started for it."""
        self._departures.grace_s = grace_s
        for task in list(self._tasks):
            task.cancel()
        keepers = [self._main, *self._lanes.close()]
        await asyncio.gather(self.wishes.close(), *(keeper.close(reason) for keeper in keepers))
        await self._departures.over(reason)

    async def end(self, timeout_s: float) -> None:
        """Stop it for good, once the calls that run on it have had `timeout_s`; it is not started anew meanwhile."""
        self.ended = True
        await quieted(self.life, self._reconnectors, timeout_s)
        await self.close(GONE_S, STOPPED)

    def forget(self, session: str) -> None:
        """A client session is over."""
        self.wishes.forget(session)
        if (keeper := self._lanes.drop(session)) is not None:
            self._end(keeper)

    def _end(self, keeper: Reconnector) -> None:
        self._departures.depart(keeper.end())

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for; a failure is logged."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.warning("%s", problem)

    @property
    def hello(self) -> Hello:
        """What the server said of itself when it was last connected."""
        return self.listing.hello

    @property
    def link(self) -> Link | None:
        """The main connection, while it is there."""
        return self._main.link

    def reconnector_of(self, session: str | None) -> Reconnector:
        """What keeps the connection that serves a session."""
        return self._lanes.own(session) or self._main

    def own_link(self, session: str) -> Link | None:
        """The connection of a session's own, while it is there."""
        return None if (keeper := self._lanes.own(session)) is None else keeper.link

    async def ready_for(self, session: str | None) -> Failure | None:
        """Wait for the connection that serves a session, as its calls do; why there is none, if so."""
        ready = await self.reconnector_of(session).ready(self.spec.restart_wait_s)
        return ready if isinstance(ready, Failure) else None

    async def reached(self, call: Call) -> Link | Failure | Refusal:
        """The connection on which a call's session tells something, which is everybody's only where the session has none of
        its own: waited for, and made, as for its calls."""
        taken = (self._main, None) if call.session is None else self._lanes.take(call)
        if not isinstance(taken, tuple):
            return taken
        keeper, known = taken[0], taken[0].link
        link = await keeper.ready(self.spec.restart_wait_s)
        if known is None and keeper is not self._main:
            keeper.roots_late()  # nobody could be asked for them
        return link

    def roots_late(self, session: str | None) -> bool:
        """Whether the session's own connection hears with its next call that its roots are others: outside of one nobody could say which."""
        keeper = self._lanes.own(session)
        return keeper is not None and keeper.roots_late()

    def call(
        self,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
        route: Route | None = None,
    ) -> Coroutine[Any, Any, Outcome]:
        """Put one call to the server, in its own names; waits for one that is just (re)starting. Never raises."""
        if self.life.quiet and (refused := self.life.refused(route)) is not None:
            return _said(refused)
        taken = self._lanes.take(call)
        if not isinstance(taken, tuple):
            return _said(taken)
        keeper, lease = taken
        if route is not None and keeper is not self._main:
            route.own = call.session
        if lease is None:
            return self._sender.put(keeper, method, params, call, back, route)
        # No route: what may become a task gets no lease (`session_affinity`), so nobody looks for this connection again.
        return self._leased(lease, self._sender.put(keeper, method, params, call, back))

    async def _leased(self, lease: str, call: Coroutine[Any, Any, Outcome]) -> Outcome:
        try:
            return await call
        finally:
            self._lanes.give_back(lease)

    async def call_common(
        self,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
        route: Route | None = None,
    ) -> Outcome:
        """The same on the main connection, for all who share it."""
        return await self._sender.put(self._main, method, params, call, back, route)

    def over(self, call: Call) -> Refusal | None:
        """Why the call cannot want anything: its session has ended, and nobody would end what it wants."""
        return self._lanes.over(call.session)

    def has_own(self, call: Call) -> bool:
        """Whether the call goes on a connection of its session's own."""
        taken = None if call.session is None else self._lanes.take(call)
        return isinstance(taken, tuple) and taken[0] is not self._main

    def _lane(self, key: str, call: Call | None) -> Reconnector:
        """A connection for one session, with what its client can be asked, or for calls without one."""
        sink, theirs = SessionSink(self, key), ASKABLE if call is None else call.client.capabilities
        capabilities = {name: theirs[name] for name in ASKABLE if name in theirs}
        roots = call is not None and "roots" in capabilities  # a lease shows them to others

        async def make() -> Link:
            await self.life.admits()
            link = await self._make(sink, capabilities, sink.outside if roots else None)
            try:
                return await sink.roots_told(link, self._main.link if roots else None)
            except BaseException:
                self._departures.leave(link)  # nobody else knows of it yet
                raise

        return session_reconnector(self.spec, sink, make, self._departures.leave)

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call (`Sink`)."""
        if method in CHANGES:
            self._stale.add(CHANGES[method])
            self._relist.ask()
        elif method == LIFECYCLE:
            self.life.heard(link, params, self._main)
        else:
            self._screen.said_by(link, method, params)

    def renewed(self, link: Link) -> None:
        """A link said hello anew (`Sink`): until the lists are fetched, no call of a tool passes."""
        self._renewed = link
        self.renewed_own()

    def renewed_own(self) -> None:
        """The same of a session's own connection: the server may be another one by now, for everybody."""
        self._relisting.begins()
        self.look()

    async def tell_own(self, session: str, link: Link) -> None:
        """Tell a session's new connection what that session wants to hear."""
        await self.wishes.renew_own(session, link)

    async def admit(self, link: Link, keeper: Reconnector | None = None) -> None:
        """Let a connection in, or hold it (`Sink`)."""
        if self._admission is not None:
            await self._admission.admit(link, (keeper or self._main).hold)

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer a server that asks for permissions (`Sink`)."""
        if self._admission is None:
            raise CannotAsk("Method not found")
        return await self._admission.answer(link, params)

    def permitted(self, *, blocked: str) -> None:
        """Its permissions stand differently. `blocked` says why it may not be connected, where that is so."""
        for keeper in self._reconnectors():
            if blocked:
                keeper.bar(blocked)
            else:
                keeper.again()

    def said_to(self, session: str, link: Link, method: str, params: dict[str, Any]) -> None:
        """The same, on a session's own connection."""
        if method in CHANGES:
            self.said(link, method, params)
        elif method == LIFECYCLE:
            self.life.heard(link, params, self.reconnector_of(session))
        else:
            self._screen.said_by(link, method, params, session)

    def look(self) -> None:
        """Fetch the lists anew, because changes may have been missed."""
        self._unseen = True
        self._relist.ask()

    async def _relist_now(self) -> None:
        link, renewed, self._renewed = self._main.link, self._renewed, None
        stale, self._stale = frozenset(self._stale), set()
        unseen, self._unseen = self._unseen, False
        with self._relisting.ends() if unseen else nullcontext():
            if link is None or not link.open or link.hello is None:
                return  # the next one is listed when it is there
            if renewed is link:
                await self.wishes.renew(link)
            await self._load(link, stale, everything=unseen)

    async def _load(
        self, link: Link, announced: frozenset[str] = frozenset(), *, everything: bool = True
    ) -> None:
        """Fetch what changed by the server's own word, or everything. What fails is tried again after a while."""
        failed = only = frozenset(CHANGES.values()) if everything else announced
        async with self._loading:  # an older answer must not overwrite a newer one
            try:
                listing = await fetch_listing(link, self.spec, self.listing, only)
                found = await shelve(self.spec, listing, self.shelved)
                # Judged and prepared before anybody can see it. What a newer connection has listed meanwhile stands.
                await self._told.looks(self.id, found.shelf.tools)
                await self._told.ahead(self.id, found)
                failed = only & listing.missed
            except ServerFailed as problem:
                # Who keeps the connection sees that it has ended.
                self._log.warning("the lists could not be fetched: %s", problem)
                return
            finally:
                if failed and link.open:  # else all is listed with the next one
                    self._stale |= failed
                    self._relist.again()
            if self._main.link is link:
                self.listing, self.shelved = found.listing, found
                self._told.listed(self.id, found, announced - failed)

    async def _make(
        self,
        sink: Server | SessionSink,
        capabilities: Mapping[str, Any],
        outside: Outside | None = None,
    ) -> Link:
        admits, main = None if self._admission is None else sink, sink is self
        if main:
            self.stderr.attempt()
        process = partial(self.stderr.process, main=main)
        whose = self._info, sink, process, self._departures.leave, self._authorizer, outside
        around = Around(*whose, admits=admits)
        return lead(await reach(self.spec, around, capabilities), self._told.tasks, self.spec, sink)

    async def _connected(self, link: Link) -> None:
        with self._relisting.ends():
            # Listen before looking: what changes in between is then told.
            await self.wishes.renew(link)
            await self._load(link)

    def permissions(self) -> Mapping[str, str]:
        """What it may have and what not."""
        permits = self._told.permits
        return {} if not permits else {key: one.value for key, one in permits.of(self.id).items()}

    @property
    def state(self) -> State:
        """Where the main connection stands."""
        return self._main.state

    def status(self) -> Status:
        """What an operator sees."""
        return stands(self.spec, self._main, self.listing, self.stderr, len(self._lanes.all()))


async def _said(outcome: Outcome) -> Outcome:
    return outcome
