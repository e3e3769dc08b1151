"""A whole gateway between scripted clients and scripted servers, in one process: real kernel, doors and links; pipes in memory, HTTP without
sockets, and time that a test moves on.

Whatever is said carries a mark that names whom it is about (`two_sided_facts`). Clients and servers write down what they get; whether they
may have got it is judged from outside (`two_sided_judge`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import gatewright.audit.trail as stores
import gatewright.servers.server as upstream
from gatewright.app.gateway import Gateway
from gatewright.approvals.feature import ApprovalsFeature
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval
from gatewright.call import UserContext
from gatewright.config import Settings
from gatewright.config.build import build
from gatewright.config.changes import versions
from gatewright.config.documents import parse
from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.http_link import HttpLink
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.servers.spec import ServerSpec
from gatewright.transport import slices
from tests.approvals.voting import voter
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import (
    CONFIG,
    DEN,
    HALL,
    HOSTS,
    KINDS,
    REGISTERING,
    SERVERS,
    Hosted,
    token_of,
    visible,
)
from tests.behaviour.two_sided_guests import Guest
from tests.behaviour.two_sided_loop import Loop, Waited
from tests.behaviour.two_sided_musts import Musts
from tests.behaviour.two_sided_rooms import Rooms
from tests.behaviour.two_sided_servers import End, Pipe, Server, Web
from tests.behaviour.two_sided_waits import PAGES
from tests.storage.parts import operators_in

__all__ = ["House", "Loop"]


_SETTINGS = build([parse(CONFIG, Path("mgp.toml"))], {}, Path("state"))
"""Read once: each house has a state folder of its own."""


class House(Musts):
    """The gateway and everybody around it."""

    gateway: Gateway
    desk: ApprovalQueue

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.servers = {name: Server(self, name) for name in SERVERS}
        self.rooms = Rooms(self)
        self.moved: dict[str, int] = {}
        """How often another one was put behind the id of each server, of those that were ever read anew."""
        self.stale: set[str] = set()
        """The plain URIs that results of servers named in whose place another one is."""
        self.keys: dict[tuple[str, str], str] = {}
        """By agent and role."""
        self._reach, self._flusher = vars(upstream)["reach"], vars(stores)["Flusher"]
        self._pause = vars(slices)["_REST_S"]

    async def open(self) -> None:
        """Start the gateway, and let every client connect."""
        vars(upstream)["reach"], vars(stores)["Flusher"] = self.reach, Waited
        # By the machine's clock a step takes long where others have the processor; by the house's it takes no time, and needs no pause.
        vars(slices)["_REST_S"] = 0.0
        storage = replace(_SETTINGS.storage, path=self.folder / "state")
        settings = self.settings(replace(_SETTINGS, storage=storage))
        self.gateway = Gateway(settings)
        self.stale.clear()
        self.links.clear()  # which are not remembered beyond a process, nor are pages
        self.pages.clear()
        await self.gateway.__aenter__()
        features = self.gateway.features
        (self.desk,) = (one.queue for one in features if isinstance(one, ApprovalsFeature))
        operators_in(self.desk._store._rows.state, "olga")
        self.gateway.reached.send(PAGES)
        # It takes time here as for everybody else in the model: none, so that nobody waits for their turn.
        self.desk._clock = self._loop.time
        self.run += 1
        self.rooms.begin()
        await self.gateway.supervisor.settled()
        for name, host in HOSTS.items():
            known = self.clients.get(name)
            if known is None:
                made = Guest if host.wire == "room" else Client
                self.clients[name] = made(self, name, self._key(host))
            else:
                known.connect()
        for where in (("rob", HALL), ("mal", HALL), ("pat", DEN), ("rob", DEN)):
            assert self.rooms.chairs[where].sit(token_of(where[0]))
        await self.rest()
        self.began_anew()

    def _key(self, host: Hosted) -> str:
        agent, role = key = host.agent, host.role
        if key not in self.keys:
            user = UserContext(role=role, permissions=REGISTERING.get(agent, ()))
            self.keys[key] = self.gateway.callers.create(agent, user=user, by="test")[1]
        return self.keys[key]

    async def shut(self) -> None:
        """Stop the gateway."""
        for client in self.clients.values():
            client.close()
        for chair in self.rooms.chairs.values():
            chair.leave()
        await self.rest()
        for asked in self.asked.values():
            asked.gone, asked.parked = True, False  # calls that run as tasks end, too
        await self._hurried(self.gateway.__aexit__(None, None, None))
        for server in self.servers.values():
            for end in list(server.ends):
                end.close()
        await self.rest()

    async def _hurried(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something long: its pauses are over at once."""
        task = asyncio.ensure_future(work)
        await self.rest()
        while not task.done():
            await self.pass_time(0.5)
        await task

    async def restart(self) -> None:
        """Stop the gateway, and start it again on the same state."""
        await self.shut()
        await self.open()

    async def close(self) -> None:
        """Stop everything, and look at the record."""
        try:
            await self.shut()
        finally:
            vars(upstream)["reach"], vars(stores)["Flusher"] = self._reach, self._flusher
            vars(slices)["_REST_S"] = self._pause
        self.judge_record()

    def settings(self, before: Settings, off: Collection[str] = ()) -> Settings:
        """The configuration with what stands behind each id by now, and without what is switched `off`."""
        servers = []
        for one in before.servers:
            times = self.moved.get(one.id, 0)
            moved = replace(one, enabled=one.id not in off)
            if times and one.url:
                moved = replace(moved, url=f"http://127.0.0.1:9/mcp?{times}")
            elif times:
                moved = replace(moved, command=f"{one.id}-{times}")
            servers.append(moved)
        return replace(before, servers=tuple(servers))

    async def reads_anew(self, off: Collection[str] = ()) -> None:
        """The gateway reads its configuration anew. Whoever sees a server may hear that its lists have changed, and whose names change then."""
        for client in self.clients.values():
            for kind in KINDS:
                client.credit[f"notifications/{kind}/list_changed"] += 4
        await self._hurried(self.gateway.adopt(self.settings(self.gateway.settings, off)))
        await self.rest()

    def moves(self, name: str) -> None:
        """Another one is put behind a server's id: it has no task of the former one, and gave out none of its states and links."""
        self.moved[name] = self.moved.get(name, 0) + 1
        server = self.servers[name]
        server.kept, server.called = {}, f"{name}.{self.moved[name]}"
        for shown in self.links.values():
            self.stale |= {uri for uri, whose in shown.items() if name in whose and "://l" in uri}

    async def reach(self, spec: ServerSpec, around: Around, capabilities: Any) -> Link:
        """Take the place of `servers.dial`."""
        return await self.servers[spec.id].reach(spec, around, capabilities)

    def shared(self, end: End) -> bool:
        known = self.gateway.supervisor.fleet.servers.get(end.server.name)
        return known is not None and self._is(end, known._main.link)

    def serves(self, client: Client, server: str) -> End | None:
        known = self.gateway.supervisor.fleet.servers.get(server)
        link = None if known is None else known.reconnector_of(client.handle).link
        return next((end for end in self.servers[server].ends if self._is(end, link)), None)

    @staticmethod
    def _is(end: End, link: Link | None) -> bool:
        """Whether a connection of a server is the other end of a link."""
        if isinstance(link, HttpLink):
            return isinstance(end, Web) and link.wire is end.wire
        return isinstance(end, Pipe) and isinstance(link, PipeLink) and end.reaches(link)

    def current(self, end: End) -> bool:
        """Whether the gateway still takes what a connection says for its server's: one that was registered may be on its way out."""
        name = end.server.name
        if "registered" not in SERVERS[name] and name not in self.moved:
            return True
        known = self.gateway.supervisor.fleet.servers.get(name)
        links = [] if known is None else [one.link for one in (known._main, *known._lanes.all())]
        return any(self._is(end, link) for link in links)

    def request(self, ident: str) -> Approval | None:
        return self.desk.get(ident)

    def undecided(self) -> list[Approval]:
        """What waits for an operator, oldest first."""
        found = self.desk._store.waiting()
        return [one for one in found if self.seen(one.id) is not None]

    def decides(self, one: Approval, *, yes: bool, edited: str = "") -> None:
        """An operator says yes or no, perhaps to other words than were asked with."""
        wanted = self.known[one.id]
        if yes:
            self.yes[wanted, edited or wanted.what] += 1
        else:
            self.no.add(one.id)
        words = json.dumps({"m": edited}) if edited else ""
        by = voter(self.desk._store._rows.state, "olga")
        self.desk.decide(one.id, yes, by=by, seen=one.arguments, edited=words)

    def other_rules(self, one: Approval) -> bool:
        """Whether other rules hold by now than those under which it was asked."""
        return one.policy.partition(" ")[0] != versions(self.gateway.settings)(one.server)

    def promised(self, server: str, kind: str) -> None:
        """Whoever may see the server may hear once more that a list of it has changed. What the hostile one takes is called
        otherwise in the lists of all others, too: the gateway finds that by itself, beside what the server says."""
        taken = server == "evil" and kind == "resources"
        for name, client in self.clients.items():
            client.credit[f"notifications/{kind}/list_changed"] += (server in visible(name)) + taken

    async def dies(self, name: str) -> None:
        """All connections of a server end; it is there again afterwards."""
        server = self.servers[name]
        for kind in KINDS * 2:
            self.promised(name, kind)
        for end in list(server.ends):
            end.close()
        if "web" in SERVERS[name]:
            await self.pass_time(0.05)
            return  # noticed with the next request
        known = self.gateway.supervisor.fleet.servers.get(name)
        if known is None:
            return
        for _ in range(200):
            keepers = [known._main, *known._lanes.all()]
            for keeper in keepers:
                keeper._poke.set()
            await self.pass_time(0.05)
            if all(keeper.link is not None and keeper.link.open for keeper in keepers):
                break
        else:
            self.fault(f"{name} was not connected again", name)

    def awaits_roots(self, name: str) -> bool:
        """Whether the gateway gives a server time to ask for roots on each new connection, as it once asked for them on the shared one."""
        known = self.gateway.supervisor.fleet.servers.get(name)
        main = None if known is None else known._main.link
        return main is not None and main.wants_roots

    def connects_in(self, name: str) -> float:
        """How long it is until the gateway tries again to connect a server that is away; 0 where it is there."""
        known = self.gateway.supervisor.fleet.servers.get(name)
        if known is None:
            return 0.0
        away = [one for one in (known._main, *known._lanes.all()) if one.link is None]
        return max([0.0, *(one._next_at - self.now() for one in away)])

    def now(self) -> float:
        return self._loop.time()

    @property
    def _loop(self) -> Loop:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        return loop

    async def pass_time(self, seconds: float) -> None:
        """Let time go by at once."""
        self._loop.put_forward(seconds)
        await self.rest()
        if seconds > 1.0:
            self.servers["evil"].formerly.clear()

    async def rest(self) -> None:
        """Let everybody do what there is to do."""
        await self._loop.rest()
