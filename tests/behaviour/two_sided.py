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

import gatewright.upstream.server as upstream
from gatewright.compose.gateway import Gateway
from gatewright.links.connect import Around
from gatewright.links.link import Link
from gatewright.settings.build import build
from gatewright.settings.documents import parse
from gatewright.upstream.spec import ServerSpec
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import CONFIG, HOSTS, KINDS, SERVERS, visible
from tests.behaviour.two_sided_judge import Judge
from tests.behaviour.two_sided_servers import Server, Work

__all__ = ["House", "Loop"]


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


class House(Judge):
    """The gateway and everybody around it."""

    gateway: Gateway

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.servers = {name: Server(self, name) for name in SERVERS}
        self.keys: dict[str, str] = {}
        self._reach = vars(upstream)["reach"]

    async def open(self) -> None:
        """Start the gateway, and let every client connect."""
        vars(upstream)["reach"] = self.reach
        settings = build([parse(CONFIG, Path("mgp.toml"))], {}, self.folder / "state")
        self.gateway = Gateway(settings)
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
        await self.turns(40)

    async def shut(self) -> None:
        """Stop the gateway."""
        for client in self.clients.values():
            client.close()
        await self.turns()
        for asked in self.asked.values():
            asked.gone = True  # calls that run as tasks end with the gateway, too
        await self._hurried(self.gateway.__aexit__(None, None, None))
        for server in self.servers.values():
            for end in list(server.ends):
                end.close()

    async def _hurried(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something long: its pauses are over at once."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait([task], timeout=0.002)
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
            vars(upstream)["reach"] = self._reach
        self.judge_record()

    async def reach(self, spec: ServerSpec, around: Around, capabilities: Any) -> Link:
        """Take the place of `upstream.reach`."""
        return await self.servers[spec.id].reach(spec, around, capabilities)

    def works(self, server: str) -> list[Work]:
        """The requests that a server has not answered."""
        return [one for _, one in self.servers[server].work()]

    def promised(self, server: str, kind: str) -> None:
        """Whoever may see the server may hear once more that a list of it has changed."""
        for name, client in self.clients.items():
            if server in visible(name):
                client.credit[f"notifications/{kind}/list_changed"] += 1

    async def dies(self, name: str) -> None:
        """All connections of a server end; it is there again afterwards."""
        server = self.servers[name]
        for kind in KINDS * 2:
            self.promised(name, kind)
        for end in list(server.ends):
            end.close()
        keeper = self.gateway.supervisor.fleet.servers[name]._main
        for _ in range(2000):
            if server.ends and keeper.link is not None and keeper.link.open:
                break
            keeper._poke.set()
            await self.pass_time(0.05)
            if "web" in SERVERS[name]:
                return  # noticed with the next request
        await self.turns()

    async def pass_time(self, seconds: float) -> None:
        """Let time go by at once."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        loop.ahead += seconds
        self.ahead += seconds
        await self.turns()

    async def turns(self, count: int = 14) -> None:
        """Let everybody have a turn."""
        for _ in range(count):
            await asyncio.sleep(0)
