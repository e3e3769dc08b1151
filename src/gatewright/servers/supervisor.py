"""`Supervisor`: starts, stages, switches and retires servers; keeps catalogue and tasks, routes notifications, answers look-ups.

Another configuration is another server set. What it does not change goes on as it is; what it changes is
started beside the old, which ends when no call can need it any more. Between `stage`, which takes its
time, and `switch`, which does not, the set before serves alone.

Also the interface of this folder towards the endpoints: what they ask besides calls.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from gatewright.call import Caller, Target, Tool
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.related_tasks import named
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.describe import describe
from gatewright.servers.kept_answers import KeptAnswers
from gatewright.servers.listener import Listener, Still, Take
from gatewright.servers.listing import CHANGES
from gatewright.servers.local_offers import LocalOffers
from gatewright.servers.notifications import AUDIT, ServerNotifications
from gatewright.servers.retiring import Retiring
from gatewright.servers.server import Server
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_catalogue import Built
from gatewright.servers.server_life import LIFECYCLE
from gatewright.servers.server_set import ServerSet, Staged, reconnects
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import Change, State
from gatewright.servers.status import Status
from gatewright.servers.supervisor_dependencies import NOTHING, ServerSide
from gatewright.servers.task_methods import STATUS, ServerTasks
from gatewright.servers.task_owners import MadeTasks
from gatewright.servers.task_subject import sees
from gatewright.servers.turns import came_up
from gatewright.servers.view import Profile
from gatewright.servers.visibility import Visibility

__all__ = ["HELD_S", "REPLACED", "Audited", "Supervisor"]

log = logging.getLogger("gatewright.servers")

Audited = Callable[[str, str, dict[str, Any]], None]
"""Takes a lifecycle event: `SERVER_CONNECTED` or `SERVER_DISCONNECTED`, server id, details."""

HELD_S = 130.0
"""For how long gates hold a call up, at most: its caller is asked (`approvals.gate`)."""


REPLACED = "it was replaced"
"""Why a connection ended after another one had taken its place: its server was never away."""


class Supervisor:
    """Make it on the running loop, then `await start()`. `info` is what we call ourselves to servers;
    `sight` says who may see what; `event` takes lifecycle events for the record; `side` is what the rest of the
    gateway gives; `authorizers` are who gets us into protected servers, by server id."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        info: Mapping[str, Any],
        profiles: Mapping[str, Profile] | None = None,
        sight: Sight = EVERYTHING,
        event: Audited = lambda *_: None,
        side: ServerSide = NOTHING,
        authorizers: Mapping[str, Authorizer] | None = None,
        startup_wait_s: float = 10.0,
    ) -> None:
        self.info = info
        self.hub = ServerNotifications(self._may_see, self._may_read, self._names, side.clean, self._holders)  # fmt: skip
        self.sightings = Visibility(self.hub, lambda: self.catalogue)
        self.tasks = ServerTasks(MadeTasks(time.time, os.urandom, side.keep), lambda: self.retiring)
        """Those that servers made: what is known of them outlives every configuration."""
        self.kept = KeptAnswers(lambda: self.fleet, self.tasks.made)
        self._side = side
        self._event = event
        self._local = {one.id: one for one in side.local}
        self.offers_here = LocalOffers({one.id: one.spec for one in side.local}, lambda: self.catalogue, self.hub)  # fmt: skip
        tokens = authorizers or {}
        servers = {spec.id: self._made(spec, tokens.get(spec.id)) for spec in specs}
        catalogue = Catalogue(self._listable(specs), profiles, sight, reserved=side.reserved)
        self.fleet = ServerSet({spec.id: spec for spec in specs}, servers, self._local, catalogue)
        self._startup_wait_s = startup_wait_s
        self._startup: asyncio.Task[None] | None = None
        self.staged: list[Server] = []
        """What is started for a configuration that does not serve yet."""
        self.retiring = Retiring()
        self._closed = False
        for one in side.local:
            one.changed.listen(partial(self.offers_here.offered, one.id))

    @property
    def catalogue(self) -> Catalogue:
        """What all servers offer together."""
        return self.fleet.catalogue

    @property
    def _servers(self) -> Mapping[str, Server]:
        return self.fleet.servers

    def _listable(self, specs: Sequence[ServerSpec]) -> list[ServerSpec]:
        return [*specs, *(one.spec for one in self._local.values())]

    def _made(self, spec: ServerSpec, authorizer: Authorizer | None) -> Server:
        """A server that speaks for its id only while it stands in the fleet."""

        def listed(server: str, shelved: Built, announced: frozenset[str]) -> None:
            if self._servers.get(server) is made:
                self._listed(server, shelved, announced)

        def said(server: str, method: str, params: dict[str, Any], session: str | None) -> None:
            # What is recorded, and where servers stand, is the gateway's to say, and no server's.
            if self._servers.get(server) is not made or method in (AUDIT, LIFECYCLE):
                return
            if method in STATUS or named(params) is not None:
                self._of_task(made, method, params, session)
            else:
                self.hub.tell(server, method, params, session)

        def changed(change: Change) -> None:
            if self._servers.get(made.id) is made:
                side.changed(change)

        side = self._side
        judged = side.permits, side.looks, self._ahead, side.leads_here
        told = Told(listed, said, self._event, *judged, self.tasks.made, side.opened, changed)
        return (made := Server(spec, self.info, told, authorizer))

    def _ahead(self, server: str, shelved: Built) -> Awaitable[None]:
        return self.catalogue.ahead(server, shelved)

    # -- life ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all servers, without waiting for any."""
        for one in self._local.values():
            self.catalogue.put(one.id, one.listing)
        for server in self._servers.values():
            server.start()
        self._startup = asyncio.get_running_loop().create_task(self._all_settled())

    async def _all_settled(self) -> None:
        await asyncio.gather(*(server.settled() for server in self._servers.values()))

    async def settled(self) -> bool:
        """Wait until every server is connected or has failed, but no longer than `startup_wait_s`
        after the first question. False where some are still starting."""
        startup = self._startup
        if startup is not None and startup.done():
            return True
        if startup is not None:
            await asyncio.wait([startup], timeout=self._startup_wait_s)
            if not startup.done():
                self._startup_wait_s = 0.0  # nobody else waits for them again
        return startup is not None and startup.done()

    async def close(self, grace_s: float = 5.0) -> None:
        """Stop everything that was started, giving each server `grace_s` at each step."""
        self._closed = True
        if self._startup is not None:
            self._startup.cancel()
        every = {*self._servers.values(), *self.staged, *self.retiring}
        closing = (server.close(grace_s) for server in every)
        await asyncio.gather(*closing, self.retiring.hurried())

    # -- another configuration -----------------------------------------------------------------------

    async def stage(
        self,
        specs: Sequence[ServerSpec],
        authorizers: Mapping[str, Authorizer],
        *,
        patience_s: float,
        anew: Collection[str] = (),
        wanted: asyncio.Event | None = None,
    ) -> Staged:
        """Start what another configuration needs and what does not run yet, or is to run `anew`, beside
        what runs, and wait until it is connected or has failed, for at most `patience_s`; once somebody else
        has `wanted` to go on, no longer than is fair (`turns`). Follow up with `fleet_of` and `switch`, or `discard`."""
        if self._closed:
            raise RuntimeError("the gateway stops: no server is started any more")
        servers: dict[str, Server] = {}
        for spec in specs:
            known = self._servers.get(spec.id)
            new = known is None or known.ended or spec.id in anew
            if known is None or new or reconnects(known.spec, spec):
                known = self._made(spec, authorizers.get(spec.id))
                self.staged.append(known)
            servers[spec.id] = known
        staged = Staged({spec.id: spec for spec in specs}, servers, tuple(self.staged))
        for server in staged.fresh:
            server.start()
        await came_up(staged.fresh, patience_s, wanted)
        return staged

    def discard(self) -> None:
        """Stop what was staged: it is not wanted after all. Nobody waits for it, as how long a process takes is its own to decide."""
        staged, self.staged = self.staged, []
        for server in staged:
            self.retiring.add(server, (), 0.0, "it was not wanted after all", tasks=False)

    def fleet_of(self, staged: Staged, profiles: Mapping[str, Profile], sight: Sight) -> ServerSet:
        """The fleet of the other configuration. Changes nothing yet."""
        fresh = {server.id: server.listing for server in staged.fresh}
        specs = self._listable([*staged.specs.values()])
        shelved = {one.id: one.shelved for one in staged.fresh if one.shelved is not None}
        catalogue = self.catalogue.renewed(specs, profiles, sight, fresh, shelved)
        return ServerSet(staged.specs, staged.servers, self._local, catalogue)

    def switch(
        self,
        fleet: ServerSet,
        over: Sequence[asyncio.Future[None]],
        held_s: float = HELD_S,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """From now on this fleet serves, and `info` is what servers hear us called. What it does not have any more is stopped
        when all of `over` are done: then no call is left that began before; or after the time limit of a call and `held_s`, for
        which the gates may hold one up before it is sent."""
        before, self.fleet = self.fleet, fleet
        self.info = self.info if info is None else info
        self.staged = []
        for name, server in fleet.servers.items():
            former = before.servers.get(name)
            if former is server:
                server.adopt(fleet.specs[name])
            elif former is None:  # nobody was told of it while it was started beside what served
                self._side.changed(Change(name, "registered", server.state, "start"))
            else:
                server.follow(former)
                self._side.replaced(
                    Change(name, former.state, server.state, "configuration_change")
                )
            # Listed since the fleet was made, when nobody heard it; taken once everything has switched, as it is then.
            late = fleet.catalogue.listing(name) is not server.listing
            if late or former is not server:  # what it listed before, nobody has looked at
                take = self._catch_up if late else self._look_once
                asyncio.get_running_loop().call_soon(take, server)
        for name, server in before.servers.items():
            if fleet.servers.get(name) is not server:
                why = REPLACED if name in fleet.servers else server.farewell
                now = fleet.servers.get(name)  # if it serves no more, nobody can ask about tasks
                tasks = now is not None and not now.spec.stopped
                self.retiring.add(server, over, held_s, why, tasks=tasks)

    async def tell_differences(self, before: Catalogue) -> None:
        """Tell those who listen which of their lists are others than in the catalogue before."""
        await self.sightings.differences(before)

    # -- for operators -------------------------------------------------------------------------------

    @property
    def states(self) -> Mapping[str, State]:
        """Server id → state."""
        return self.fleet.states

    def status(self) -> list[Status]:
        """What an operator sees, in the order of the configuration."""
        return self.fleet.status()

    def call_s(self, server: str) -> float:
        """How long one call to a server may take."""
        return self.fleet.call_s(server)

    # -- for doors -----------------------------------------------------------------------------------

    async def describe(self, profile: str, caller: Caller) -> tuple[dict[str, Any], str]:
        """Capabilities and instructions of a profile's servers for a caller, once they have started or had their time. Raises `KeyError`."""
        await self.settled()
        if not self.catalogue.knows(profile):
            raise KeyError(profile)
        if (making := self.catalogue.making(profile)) is not None:
            await making
        view = self.catalogue.view(profile)
        names = self.catalogue.servers(profile, caller)
        hellos = ((one, self.catalogue.listing(one).hello) for one in names)
        known = [(name, hello) for name, hello in hellos if hello.revision]
        return describe(known, mirror=view.unprefixed)

    def tell_audit(self, server: str, events: Sequence[dict[str, Any]]) -> bool:
        """Tell an audit server of each event; False where it is not there, or did not negotiate `audit`."""
        found = self._servers.get(server)
        link = None if found is None else found.link
        hello = link.hello if link is not None and link.open else None
        if link is None or hello is None or hello.mgp is None:
            return False
        if "audit" not in hello.mgp.extensions:
            return False
        for event in events:
            link.notify(AUDIT, event)
        return True

    def watch(
        self,
        caller: Caller,
        profile: str,
        take: Take,
        session: str | None = None,
        *,
        audit: bool = False,
        door: str = "",
        holder: str | None = None,
        still: Still | None = None,
    ) -> Callable[[], None]:
        """Tell `take` of what servers say that the caller may see; the result ends that."""
        one = Listener(caller, profile, session, take, audit, door, holder or session, still)
        return self.hub.watch(one)

    def making(self, profile: str) -> Awaitable[None] | None:
        """What to wait for before names of a profile are looked up; None where they are all known."""
        return self.catalogue.making(profile)

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        """The `x-mcp-header` annotations of a tool by its exposed name; empty for those that the caller must not learn of."""
        tool = self.catalogue.tool(profile, name) if self.catalogue.knows(profile) else None
        if tool is None or not tool.headers or not self.catalogue.sight.tool(caller, tool):
            return {}
        return tool.headers

    def tool(self, profile: str, name: str, caller: Caller) -> Tool | None:
        """A tool by any of its names, where the caller may see it."""
        tool = self.catalogue.tool(profile, name)
        return tool if tool and self.catalogue.sight.tool(caller, tool) else None

    def offers(self, profile: str) -> bool:
        """Whether there is any tool in a profile, whoever may see it."""
        return bool(self.catalogue.view(profile).items("tools/list"))

    def forget(self, session: str) -> None:
        """A session is over: give up what was kept for it."""
        for server in (*self._servers.values(), *self.retiring):
            server.forget(session)
        self._side.ended(session)

    def _listed(self, server: str, shelved: Built, announced: frozenset[str]) -> None:
        before, listing = self.catalogue.listing(server), shelved.listing
        changed = self.catalogue.put(server, listing, shelved)
        if changed:
            self._look_at(server)
        for method, name in CHANGES.items():
            # By identity: what says the same is the same list (`listing.settled`).
            same = all(before.of(one) is listing.of(one) for one in _sections(name))
            if not same or name in announced:
                self.hub.tell(server, method, {})

    def _catch_up(self, server: Server) -> None:
        if self._servers.get(server.id) is server and server.shelved is not None:
            self._listed(server.id, server.shelved, frozenset())

    def _look_once(self, server: Server) -> None:
        if self._servers.get(server.id) is server and server.shelved is not None:
            self._look_at(server.id)

    def _of_task(
        self, server: Server, method: str, params: dict[str, Any], session: str | None
    ) -> None:
        """What is said of a task is told to whoever has it, and to nobody else."""
        found = self.tasks.heard(server, method, params, session)
        if found is not None:
            task = found[0]  # judged by the catalogue that there is when it is told
            may = lambda now, profile: sees(self.catalogue, now, profile, task=task)  # noqa: E731
            self.hub.tell(server.id, method, found[1], owner=task.owner, sees=may)

    def _look_at(self, server: str) -> None:
        """Let whoever wants to know see what is on a shelf now."""
        for warning in (shelf := self.catalogue.shelf(server)).warnings:
            log.warning("server %s: %s", server, warning)
        try:
            self._side.shelved(server, shelf.tools)
        except Exception:  # what could not be judged is asked about again with each call
            log.exception("server %s: its tools could not be looked at", server)

    def _names(self, one: Listener, server: str, uri: str) -> Collection[str]:
        found = self._servers.get(server)
        return () if found is None else found.wishes.names(uri, one.holder, one.session)

    def _holders(self, server: str, uri: str) -> Collection[str]:
        found = self._servers.get(server)
        return () if found is None else found.wishes.holders(uri)

    def _may_read(self, caller: Caller, server: str, uri: str) -> bool:
        return self.catalogue.sight.resource(caller, Target(server, uri))

    def _may_see(self, caller: Caller, profile: str, server: str) -> bool:
        return self.catalogue.knows(profile) and server in self.catalogue.servers(profile, caller)


def _sections(name: str) -> Sequence[Any]:
    return ("resources", "resourceTemplates") if name == "resources" else (name,)
