"""A whole gateway between scripted clients and scripted servers, in one process: real kernel, doors and links, pipes in memory.

Whatever is said carries a mark that names whom it is about: `ann-7` is a call of ann's, and what its server says of it repeats
that. The clients and servers only write down what they got; whether they may have got it is judged here, from outside.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import gatewright.upstream.server as upstream
from gatewright.call import Caller
from gatewright.compose.gateway import Gateway
from gatewright.links.connect import Around
from gatewright.links.link import Link
from gatewright.links.pipe_link import PipeLink
from gatewright.protocol.mcp_client import Handshake
from gatewright.serving.duplex import Duplex
from gatewright.settings.build import build
from gatewright.settings.documents import parse
from gatewright.transport.memory import MemoryPipe, pair
from gatewright.upstream.spec import ServerSpec
from gatewright.wire.mcp import META_CLIENT_CAPABILITIES, META_LOG_LEVEL, META_VERSION
from tests.behaviour.two_sided_judge import GRANTS, PROFILES, Judge, about

__all__ = ["MODERN", "Client", "House", "Server"]

MODERN = frozenset({"bob", "dan"})
SERVERS = ("one", "two", "evil")

_CONFIG = """
[gateway]
anonymous = "deny"
[profiles.narrow]
servers = ["one", "evil"]
"""
_CAN: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


class Server:
    """A tool server of which the test writes every message."""

    def __init__(self, house: House, name: str) -> None:
        self.house, self.name = house, name
        self.pipes: list[_Pipe] = []

    @property
    def calls(self) -> list[tuple[_Pipe, int, str]]:
        """The calls that it has not answered: pipe, id, mark."""
        return [(pipe, *one) for pipe in self.pipes for one in pipe.calls.items()]

    def tools(self) -> list[dict[str, Any]]:
        return [{"name": f"{self.name}-tool", "inputSchema": {"type": "object"}}]


class _Pipe:
    """One connection of a server."""

    pipe: MemoryPipe

    def __init__(self, server: Server) -> None:
        self.server = server
        self.calls: dict[int, str] = {}
        self.asked: dict[str, str] = {}
        self.count = 0

    def message(self, data: bytes) -> None:
        """Take one message of the gateway (`Receiver`)."""
        said = json.loads(data)
        self.server.house.judge_server(self, said)
        method, ident = said.get("method"), said.get("id")
        if method is None or ident is None:
            return
        if method == "tools/call":
            self.calls[ident] = said["params"]["arguments"].get("mark", "?")
            return
        self.say(id=ident, result=self._result(method))

    def _result(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            capabilities = {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "logging": {},
            }
            info = {"name": self.server.name, "version": "1"}
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": info,
            }
        if method == "tools/list":
            return {"tools": self.server.tools()}
        if method == "resources/list":
            name = self.server.name
            return {"resources": [{"uri": f"{name}://r", "name": name}]}
        return {"contents": [], "prompts": [], "resourceTemplates": []}

    def closed(self, reason: str) -> None:
        """The gateway has gone (`Receiver`)."""
        if self in self.server.pipes:
            self.server.pipes.remove(self)

    def say(self, **message: Any) -> None:
        if self in self.server.pipes:
            self.pipe.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def ask(self, method: str, mark: str) -> None:
        """Ask something in the middle of a call."""
        self.count += 1
        ident = f"{self.server.name}-q{self.count}"
        self.asked[ident] = mark
        text = f"about {mark} by-{self.server.name}"
        params: dict[str, Any] = {
            "message": text,
            "requestedSchema": {"type": "object", "properties": {}},
        }
        if method == "sampling/createMessage":
            content = {"type": "text", "text": text}
            params = {"messages": [{"role": "user", "content": content}], "maxTokens": 1}
            params["includeContext"] = "allServers"
        self.say(id=ident, method=method, params=params)


class Client:
    """A host of which the test writes every message."""

    pipe: MemoryPipe
    door: Duplex

    def __init__(self, house: House, name: str, key: str) -> None:
        self.house, self.name, self.key = house, name, key
        self.modern = name in MODERN
        self.open: dict[int, tuple[str, dict[str, Any], str]] = {}
        """By id: server, params and mark of calls that are not answered."""
        self.marks: dict[str, str] = {}
        """By mark: the server that it was meant for, of all calls ever."""
        self.subscribed: set[str] = set()
        self.asked: list[tuple[Any, str]] = []
        self.connect()

    def connect(self) -> None:
        front = self.house.gateway.front
        caller = front.identify("websocket", self.key)
        assert isinstance(caller, Caller)
        profile = PROFILES[self.name][0]
        self.door = Duplex(front, caller, door="websocket", credential=self.key, profile=profile)
        theirs, self.pipe = pair(self.door, self)
        self.door.attach(theirs)
        self.open.clear()
        self.asked.clear()
        if not self.modern:
            info = {"name": self.name, "version": "1"}
            hello = {"protocolVersion": "2025-11-25", "capabilities": _CAN, "clientInfo": info}
            self.say(id=0, method="initialize", params=hello)
            self.say(method="notifications/initialized")

    def say(self, **message: Any) -> None:
        if self.modern and "method" in message and "id" in message:
            meta = {
                META_VERSION: "2026-07-28",
                META_CLIENT_CAPABILITIES: _CAN,
                META_LOG_LEVEL: "debug",
            }
            params = dict(message.get("params") or {})
            params["_meta"] = {**params.get("_meta", {}), **meta}
            message["params"] = params
        self.pipe.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, server: str, ident: int | None = None, **more: Any) -> None:
        number = self.house.number()
        mark = f"{self.name}-{number}"
        self.marks[mark] = server
        params = {"name": f"{server}__{server}-tool", "arguments": {"mark": mark}}
        params["_meta"] = {"progressToken": f"{mark}-token"}
        if not more:
            self.open[number] = server, params, mark
            self.say(id=number, method="tools/call", params=params)
        else:
            self.say(method="tools/call", params=params)  # without an id nobody may run it

    def message(self, data: bytes) -> None:
        """Take one message of the gateway (`Receiver`)."""
        said = json.loads(data)
        self.house.judge_client(self, said)
        ident = said.get("id")
        if "method" in said and ident is not None:
            self.asked.append((ident, next(iter(about(said)), "")))
        elif ident in self.open and "method" not in said:
            found = said.get("result", {})
            if found.get("resultType") == "input_required":
                self.asked.append((ident, found["requestState"]))
            else:
                del self.open[ident]

    def answer(self, which: int) -> None:
        """Answer a question that is open."""
        if not self.asked:
            return
        ident, state = self.asked.pop(which % len(self.asked))
        words = {"action": "accept", "content": {"who": f"answer-of-{self.name}"}}
        if not self.modern:
            self.say(id=ident, result=words)
        elif ident in self.open:
            server, params, mark = self.open.pop(ident)
            number = self.house.number()
            self.open[number] = server, params, mark
            answers = {f"q{n}": words for n in range(1, 8)}
            more = {"requestState": state, "inputResponses": answers}
            self.say(id=number, method="tools/call", params={**params, **more})

    def closed(self, reason: str) -> None:
        """The gateway has gone (`Receiver`)."""


class House(Judge):
    """The gateway and everybody around it."""

    gateway: Gateway

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._number = 100
        self.servers = {name: Server(self, name) for name in SERVERS}
        self.clients: dict[str, Client] = {}
        self._reach = vars(upstream)["reach"]

    def number(self) -> int:
        self._number += 1
        return self._number

    async def open(self) -> None:
        vars(upstream)["reach"] = self.reach
        text = _CONFIG
        for name in SERVERS:
            text += f'[[servers]]\nid = "{name}"\ncommand = "{name}"\n'
        for agent, servers in GRANTS.items():
            for server in sorted(servers):
                text += f'[[grants]]\nagent = "{agent}"\nserver = "{server}"\n'
        settings = build([parse(text, Path("mgp.toml"))], {}, self.folder / "state")
        self.gateway = Gateway(settings)
        await self.gateway.__aenter__()
        callers = self.gateway._office.callers
        await self.gateway.supervisor.settled()
        for name in GRANTS:
            made = Client(self, name, callers.create(name, by="test")[1])
            self.clients[name] = made
            self.known[name] = made.marks
        await self.turns()

    async def close(self) -> None:
        for client in self.clients.values():
            client.pipe.close()
        await self.turns()
        await self.gateway.__aexit__(None, None, None)
        vars(upstream)["reach"] = self._reach
        self.judge_record()

    async def reach(self, spec: ServerSpec, around: Around, capabilities: Any) -> Link:
        server = self.servers[spec.id]
        link, end = PipeLink(spec, around.info, around.sink), _Pipe(server)
        link.admits = around.admits
        pipe, end.pipe = pair(link, end)
        server.pipes.append(end)
        hand = Handshake(info=around.info, capabilities=capabilities, era="legacy", face=spec.face)
        await link.greet(pipe, hand)
        return link

    async def back(self, server: str) -> None:
        """Wait until a server that ended is there again."""
        async with asyncio.timeout(20):
            while not self.servers[server].pipes or self._link(server) is None:
                self.gateway.supervisor.fleet.servers[server]._main._poke.set()
                await asyncio.sleep(0.001)
        await self.turns()

    def _link(self, server: str) -> Link | None:
        link = self.gateway.supervisor.fleet.servers[server].link
        return link if link is not None and link.open else None

    async def turns(self, count: int = 12) -> None:
        for _ in range(count):
            await asyncio.sleep(0)
