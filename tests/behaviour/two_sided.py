"""A whole gateway between scripted clients and scripted servers, in one process: real kernel, doors and links; pipes in memory, HTTP without
sockets, and time that a test moves on.

Whatever is said carries a mark that names whom it is about (`two_sided_facts`). Clients and servers write down what they get; whether they
may have got it is judged from outside (`two_sided_judge`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import gatewright.stores.audit as stores
import gatewright.upstream.server as upstream
from gatewright.compose.gateway import Gateway
from gatewright.links.connect import Around
from gatewright.links.http_link import HttpLink
from gatewright.links.link import Link
from gatewright.links.pipe_link import PipeLink
from gatewright.settings.build import build
from gatewright.settings.documents import parse
from gatewright.upstream.spec import ServerSpec
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import CONFIG, HOSTS, KINDS, SERVERS, visible
from tests.behaviour.two_sided_loop import Loop, Waited
from tests.behaviour.two_sided_musts import Musts
from tests.behaviour.two_sided_servers import End, Pipe, Server, Web

__all__ = ["House", "Loop"]


class House(Musts):
    """The gateway and everybody around it."""

    gateway: Gateway

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.servers = {name: Server(self, name) for name in SERVERS}
        self.keys: dict[str, str] = {}
        self._reach, self._flusher = vars(upstream)["reach"], vars(stores)["Flusher"]

    async def open(self) -> None:
        """Start the gateway, and let every client connect."""
        vars(upstream)["reach"], vars(stores)["Flusher"] = self.reach, Waited
        settings = build([parse(CONFIG, Path("mgp.toml"))], {}, self.folder / "state")
        self.gateway = Gateway(settings)
        self.links.clear()  # which are not remembered beyond a process, nor are pages
        self.pages.clear()
        await self.gateway.__aenter__()
        await self.gateway.supervisor.settled()
        callers = self.gateway._office.callers
        for agent in dict.fromkeys(one.agent for one in HOSTS.values()):
            if agent not in self.keys:
                self.keys[agent] = callers.create(agent, by="test")[1]
        for name, host in HOSTS.items():
            known = self.clients.get(name)
            if known is None:
                self.clients[name] = Client(self, name, self.keys[host.agent])
            else:
                known.connect()
        await self.rest()

    async def shut(self) -> None:
        """Stop the gateway."""
        for client in self.clients.values():
            client.close()
        await self.rest()
        for asked in self.asked.values():
            asked.gone = True  # calls that run as tasks end with the gateway, too
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
        self.judge_record()

    async def reach(self, spec: ServerSpec, around: Around, capabilities: Any) -> Link:
        """Take the place of `upstream.reach`."""
        return await self.servers[spec.id].reach(spec, around, capabilities)

    def shared(self, end: End) -> bool:
        return self._is(end, self.gateway.supervisor.fleet.servers[end.server.name]._main.link)

    def serves(self, client: Client, server: str) -> End | None:
        link = self.gateway.supervisor.fleet.servers[server].link_of(client.handle)
        return next((end for end in self.servers[server].ends if self._is(end, link)), None)

    @staticmethod
    def _is(end: End, link: Link | None) -> bool:
        """Whether a connection of a server is the other end of a link."""
        if isinstance(link, HttpLink):
            return isinstance(end, Web) and link.wire is end.wire
        return isinstance(end, Pipe) and isinstance(link, PipeLink) and end.reaches(link)

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
        known = self.gateway.supervisor.fleet.servers[name]
        for _ in range(200):
            keepers = [known._main, *known._lanes.all()]
            for keeper in keepers:
                keeper._poke.set()
            await self.pass_time(0.05)
            if all(keeper.link is not None and keeper.link.open for keeper in keepers):
                break
        else:
            self.fault(f"{name} was not connected again", name)

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

    async def rest(self) -> None:
        """Let everybody do what there is to do."""
        await self._loop.rest()
