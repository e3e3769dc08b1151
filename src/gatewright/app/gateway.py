"""`Gateway`: builds audit, servers, kernel, features and endpoints from settings; starts, reloads and stops them; serves HTTP or stdio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import weakref
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from gatewright import pipeline
from gatewright.app.addresses import urls_of
from gatewright.app.announce import Ready, announced, with_servers
from gatewright.app.closing import close_all
from gatewright.app.features import FEATURES, features_of
from gatewright.app.metric_values import Numbers
from gatewright.app.policy_factory import Made, PolicyFactory, Revoked, Table
from gatewright.app.randomness import Pool
from gatewright.app.signals import Told, before, stop_signal
from gatewright.app.state_watcher import StateWatcher
from gatewright.app.worker import MODULE
from gatewright.audit.anchoring import anchoring_of, open_checked_state, open_trail
from gatewright.audit.events import Events
from gatewright.audit.notifications import witness
from gatewright.audit.sink_builder import positions_of
from gatewright.audit.sinks import SinkPositions
from gatewright.call import Who
from gatewright.call_policy import CLOSED, Policy
from gatewright.command_text import typed_as
from gatewright.config import Settings, is_loopback
from gatewright.config.command_environment import typed_for
from gatewright.config.held_secrets import hold_secrets
from gatewright.feature import (
    Counts,
    Feature,
    GatewayParts,
    Ground,
    Inside,
    Listener,
    Rights,
    extended,
    extensions_of,
    look_ahead,
    offered,
)
from gatewright.hosts import local_agents
from gatewright.identity.caller_names import Names
from gatewright.identity.gate import Keys
from gatewright.identity.key_lookup import FreshKeys
from gatewright.identity.keys import KeyStore
from gatewright.identity.own_credentials import own_callers
from gatewright.identity.recheck import Rechecking
from gatewright.identity.session_gate import Session
from gatewright.identity.sessions import METHOD as SESSIONS
from gatewright.identity.sessions import SessionList
from gatewright.in_force import InForce
from gatewright.kernel import Hooks, Kernel
from gatewright.listeners import Signal
from gatewright.mcp.protocol.request_state import Sealer
from gatewright.mcp.server.http_app import App
from gatewright.mcp.server.locality import worded, worded_nearby
from gatewright.mcp.server.long_lived import Dismissing
from gatewright.mcp.server.server_context import ServerContext, Standing, nothing_more
from gatewright.mcp.server.stdio import serve_stdio
from gatewright.missing import absent, check_asked, closed
from gatewright.secret_scanning import HELD, PROCESS, prepare
from gatewright.servers.administration import Administration
from gatewright.servers.dispatch_factory import dispatch_of
from gatewright.servers.former_policies import Running
from gatewright.servers.local import LocalServer
from gatewright.servers.own_urls import OwnUrls
from gatewright.servers.server_set import ServerSet
from gatewright.servers.settings_adapters import (
    authorizers_of,
    face_of,
    guard_of,
    http_limits,
    info_of,
    json_limits,
    profiles_of,
    specs_of,
    supervisor_of,
    terms_of,
)
from gatewright.servers.stopped_servers import StoppedServers, word_of
from gatewright.servers.supervisor import HELD_S
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.servers.task_store import ServerTaskStore
from gatewright.servers.turns import GoingOn, Turns
from gatewright.servers.uri_offload import UriReaders
from gatewright.storage.opening import beside
from gatewright.transport import http_server
from gatewright.transport.connection_limits import Seats
from gatewright.transport.workers import Workers

__all__ = ["Gateway"]

log = logging.getLogger("gatewright")


class Gateway:
    """Everything, put together. An async context: entered it runs, left it has stopped."""

    def __init__(
        self,
        settings: Settings,
        local: Sequence[LocalServer] = (),
        follows: Sequence[Sequence[Path]] = (),
        features: Sequence[type[Feature]] = FEATURES,
        handed: Sequence[object] = (),
    ) -> None:
        """`follows` are the files that its configuration comes from; `features` are made in this order; `handed`: see `Ground`."""
        self.settings = settings
        self._local = local
        self._made_of = features
        self._state = settings.storage.path
        self._random = Pool()
        self._turns = Turns()
        self._follows, self._handed = follows, handed
        self._tokens = {name: "gwt_" + os.urandom(32).hex() for name in ("operator", "local")}
        if settings.gateway.operators == "key":
            self._tokens["operator"] = ""
        HELD.hold(PROCESS, self._tokens.values())

    async def __aenter__(self) -> Gateway:
        try:
            await self._start()
        except BaseException:
            try:
                await close_all(vars(self))
            except Exception:  # why it did not start is what counts
                log.exception("what was opened for the start could not be closed")
            raise
        return self

    async def _start(self) -> None:
        settings = self.settings
        typed_as(typed_for(settings, os.environ))  # first: all that is made here inherits it
        self.missing = absent({one.name for one in self._made_of})
        check_asked(settings, self.missing)
        for one in self.missing:
            log.warning("%s", one.text)
        hold_secrets(settings)
        self.database = open_checked_state(self._state)
        positions = positions_of(settings)
        self.audit = open_trail(settings, self.database, self._random, taken=positions.taken)
        self._anchoring = await anchoring_of(self._state, self.audit, self.database)
        self.events = Events(self.audit)
        self.now = InForce(settings)
        self.callers = KeyStore(self.database, clock=time.time, random=os.urandom)
        self._workers = Workers(MODULE)
        self._listeners: list[Listener] = []
        self._stopped = StoppedServers(self.database)
        self._server_tasks = ServerTaskStore(beside(self.database), clock=time.time)
        self.features = self._made_features(positions)
        self._put_together()
        self._serve()
        prepare()
        for around in self._around:
            around.begin()
        self.supervisor.start()
        self._following = [asyncio.create_task(one) for one in self._work()]

    async def __aexit__(self, *exc: object) -> None:
        await close_all(vars(self))

    # -- parts

    def _made_features(self, positions: SinkPositions) -> Sequence[Feature]:
        names = Names(self.callers, local_agents.AGENTS, self.now.completed)
        ground = Ground(
            settings=self.settings,
            now=self.now,
            database=self.database,
            audit=self.audit,
            positions=positions,
            callers=self.callers,
            workers=self._workers,
            random=self._random,
            who=names.who,
            listeners=self._listeners,
            redeemed=Signal(),
            strained=Signal(),
            handed=self._handed,
        )
        return features_of(self._made_of, ground)

    def _put_together(self) -> None:
        settings, features = self.settings, self.features
        self._owners: dict[str, Who] = {}
        self._standing: dict[str, Standing] = {}
        self._judges = self._policies()
        table = self._judges.table(settings)
        events, side, stopped = self.events, self._side(), self._stopped
        self.supervisor = supervisor_of(settings, table.sight, events.server, side, stopped)
        witness(self.audit, self.supervisor.hub)
        self._around = [one.around(self.supervisor) for one in features]
        hooks = [Hooks((worded,), stands=(worded_nearby,)), *(one.hooks for one in self._around)]
        self.kernel = Kernel(*CLOSED, self.audit, Hooks.of(*hooks))
        self.administration = Administration(self.supervisor, self.again, events.acted, stopped)
        inside = self._inside = Inside(
            servers=self.supervisor,
            kernel=self.kernel,
            gates=pipeline.Gates._fields,
            administration=self.administration,
            rights=offered(features, Rights) or Rights(),
            counts=offered(features, Counts) or Counts(),
            going_on=GoingOn(
                again=self.again,
                in_line=partial(self.again, at_once=False),
                pressing=self._turns.pressing,
            ),
        )
        methods = [self.administration.methods, *(one.methods(inside) for one in features)]
        own = {name: method for one in methods for name, method in one.items()}
        own[SESSIONS] = SessionList(self._standing, inside.counts)
        shared = {name: one for around in self._around for name, one in around.shared.items()}
        of_calls = own, shared, events.retried, self._random
        self._dispatch = dispatch_of(self.supervisor, self.kernel, *of_calls)
        self._running = Running()
        self._judge_by(table, self.supervisor.fleet)

    def _policies(self) -> PolicyFactory:
        keys: Keys = FreshKeys(self.callers)
        for one in self.features:
            keys = one.keys(keys)
        hosts = local_agents.credentials(self._tokens["local"])
        tokens = own_callers(self._tokens, self.settings, hosts)
        parts = self.now, self.features, keys, tokens, Session(self._owners.get)
        return PolicyFactory(*parts, missing=self.missing, links=UriReaders(self._workers))

    def _side(self) -> ServerSide:
        """What servers are given: by the spine, in place of what is missing, by features."""
        pages = next((one.pages for one in self.features if one.pages), "")
        self._own_urls = OwnUrls(self.settings, pages)
        side = ServerSide(
            extensions=extensions_of(self.features),
            local=self._local,
            leads_here=self._own_urls.leads_here,
            opened=self._owners.__contains__,
            keep=self._server_tasks,
        )
        side = closed(side, self.missing, self.now)
        for one in self.features:
            side = one.side(side)
        return side

    def _serve(self) -> None:
        settings, now = self.settings, self.now
        self.front = ServerContext(
            kernel=self.kernel,
            announced=next(filter(None, (one.announced for one in self._around)), nothing_more),
            upstream=self.supervisor,
            identify=now.authenticate.identify,
            bearer=now.authenticate.bearer,
            protected=now.protected,
            face=face_of(settings, extensions_of(self.features)),
            info=info_of(settings),
            sealer=Sealer(os.urandom(32)),
            owners=self._owners,
            standing=self._standing,
            refused=self.events.refused,
            random=self._random,
            limits=json_limits(settings.limits),
            frame_bytes=settings.limits.frame_bytes,
            queue_bytes=settings.limits.queue_bytes,
            subscriptions=settings.limits.subscriptions_per_client,
        )
        counting = [one.numbers for one in self.features] + [one.numbers for one in self._around]
        numbers = Numbers(
            kernel=self.kernel,
            supervisor=self.supervisor,
            front=self.front,
            audit=self.audit,
            parts=counting,
            missing=[one.name for one in self.missing],
        )
        reached = self.reached = Signal[str]()
        own = GatewayParts(inside=self._inside, front=self.front, numbers=numbers, reached=reached)
        self._serving = [one.serve(own) for one in self.features]
        routes = [one.routes for one in self._serving]
        self.app = App(self.front, guard_of(settings), frozenset(settings.profiles), routes)

    def _work(self) -> Iterator[Coroutine[Any, Any, object]]:
        """What goes on until the end."""
        end_refused = self.kernel.end_refused
        watcher = StateWatcher(self.database, self.callers, self.events, end_refused)
        looks = [look for one in self._serving for look in one.looks]
        yield watcher.follow(looks, self.supervisor.sightings.look)
        yield Rechecking(self.now.tokens, self.kernel, self.front.tokens).follow()
        yield self._anchoring.follow()
        yield Dismissing(self.front).follow()
        for one in self._serving:
            yield from (work() for work in one.work)

    # -- other settings

    async def adopt(self, settings: Settings) -> None:
        """Go on with other settings, all that calls are judged by at once, when the servers that it needs are there or have had their
        time. What can only be chosen at the start has to be as it is (`changes.pinned`). Raises `SettingsError`."""
        async with self._turns.at_once():
            await self._adopt(settings)

    async def again(self, anew: Collection[str] = (), *, at_once: bool = True) -> None:
        """Go on with the same settings, and with these servers started anew. `at_once`: for an operator, who waits for no stranger."""
        async with self._turns.at_once() if at_once else self._turns.in_line():
            await self._adopt(self.settings, anew)

    async def _adopt(self, settings: Settings, anew: Collection[str] = ()) -> None:
        check_asked(settings, self.missing)
        hold_secrets(settings)
        whole, can = extended(self.features, settings), extensions_of(self.features)
        found = await asyncio.to_thread(specs_of, whole, whole.servers, can)
        table = await asyncio.to_thread(self._judges.table, whole)  # the last wait before `stage`
        specs = [word_of(one, self._stopped) for one in found]
        patience_s, entries = whole.gateway.startup_wait_s, authorizers_of(whole, specs)
        try:
            staged = await self.supervisor.stage(
                specs, entries, patience_s=patience_s, anew=anew, wanted=self._turns.wanted
            )
            await look_ahead(self.features, staged.fresh, whole)
            before, words = self.supervisor.catalogue, (profiles_of(whole), table.sight)
            fleet, version = self.supervisor.fleet_of(staged, *words), before.version
            await fleet.catalogue.warm(before.viewed)
            if before.version != version:  # a server offers something else by now
                fleet = self.supervisor.fleet_of(staged, *words)
            self._switch(table, fleet)
            self.settings = settings
        except BaseException:
            self.supervisor.discard()
            raise
        await self.supervisor.tell_differences(before)

    def _switch(self, table: Table, fleet: ServerSet) -> None:
        """Nothing here waits, so that no call begins in the middle of it."""
        settings, held_s = table.settings, HELD_S + self.settings.approvals.hold_s
        made, former = self._judge_by(table, fleet)
        self._own_urls.adopt(settings)
        self.front.adopt(terms := terms_of(settings, made.authenticate, self.now.protected))
        self.supervisor.switch(fleet, self._running.until(former), held_s, terms.info)
        self.app.adopt(guard_of(settings), frozenset(settings.profiles))
        for one in self.features:
            one.adopt(settings)
        self.kernel.end_refused([Revoked(made.gates["access"], fleet, made.authenticate.standing)])

    def _judge_by(self, table: Table, fleet: ServerSet) -> tuple[Made, weakref.ref[Policy]]:
        """Calls begin by this table from now on: their gates, and the policy before."""
        dispatch = self._dispatch(fleet)
        made = self._judges.of(table, fleet, dispatch)
        gates = pipeline.ordered_gates(made.gates.values())
        former = self.kernel.swap(gates, dispatch, made.filters)
        self.now.take(table.settings, made.gates, fleet, made.known)
        return made, former

    # -- serving

    async def serve_http(self, on_ready: Callable[[Ready], None], stop: Told | None = None) -> None:
        """Serve HTTP and WebSocket until `stop`, else a signal, comes: also while servers start, and then it is never ready."""
        settings, at = self.settings, self.settings.gateway
        server = await http_server.serve(
            self.app, host=at.host, port=at.port, limits=http_limits(settings.limits)
        )
        self._listeners.append(server)
        stop = stop or stop_signal()
        if is_loopback(at.host):
            self.reached.send(server.url)
        async with contextlib.AsyncExitStack() as serving:
            serving.push_async_callback(server.stop, 5.0)
            more = await self._listen(serving, server.seats)
            serving.callback(self.app.farewell)  # first of all: what would not end by itself
            urls = urls_of(server.url, settings.profiles, [one.urls for one in self._serving])
            ready = Ready(f"{server.url}/mcp", urls | more, {})
            bare = [*server.clear_text, *chain(*(one.clear_text() for one in self._serving))]
            follows = self._follows
            with announced(self._state, ready, self._tokens, clear_text=bare, follows=follows):
                if await before(stop, self.supervisor.settled()):
                    on_ready(with_servers(ready, self.supervisor.status()))
                await stop

    async def _listen(self, serving: contextlib.AsyncExitStack, seats: Seats) -> dict[str, str]:
        """Listen at the addresses of features, too: their URLs by name."""
        found: dict[str, str] = {}
        for one in self._serving:
            if one.listening is not None:
                found |= await serving.enter_async_context(one.listening(self.app, seats))
        return found

    async def serve_stdio(self, profile: str, host: str = "", stop: Told | None = None) -> None:
        """Serve the host at our standard input and output until it closes or `stop`, else a signal, comes."""
        shown = local_agents.credential(self._tokens["local"], host) if host else None
        served = asyncio.create_task(serve_stdio(self.front, profile, shown))
        (stop or stop_signal()).add_done_callback(lambda _: served.cancel())
        with contextlib.suppress(asyncio.CancelledError):
            await served
