"""A whole gateway between scripted clients and scripted servers, in one process: real kernel, doors and links, pipes in memory.

Whatever is said carries a mark that names whom it is about: `ann-7` is a call of ann's, and what its server says of it repeats
that. The clients and servers only write down what they got; whether they may have got it is judged here, from outside.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
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
from gatewright.stores.reader import AuditReader
from gatewright.transport.memory import MemoryPipe, pair
from gatewright.upstream.spec import ServerSpec
from gatewright.wire.mcp import META_CLIENT_CAPABILITIES, META_LOG_LEVEL, META_VERSION

__all__ = ["GRANTS", "MODERN", "PROFILES", "Client", "House", "Server"]

GRANTS: Mapping[str, frozenset[str]] = {
    "ann": frozenset({"one", "two", "evil"}),
    "bob": frozenset({"one", "evil"}),
    "cid": frozenset({"evil"}),
    "dan": frozenset({"one", "two", "evil"}),
}
PROFILES: Mapping[str, tuple[str, frozenset[str]]] = {
    "ann": ("", frozenset({"one", "two", "evil"})),
    "bob": ("", frozenset({"one", "two", "evil"})),
    "cid": ("", frozenset({"one", "two", "evil"})),
    "dan": ("narrow", frozenset({"one", "evil"})),
}
MODERN = frozenset({"bob", "dan"})
SERVERS = ("one", "two", "evil")

_CONFIG = """
[gateway]
anonymous = "deny"
[profiles.narrow]
servers = ["one", "evil"]
"""
_MARK = re.compile(r"\b(ann|bob|cid|dan)-(\d+)\b")
_CAN = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
_TOLD = frozenset(
    {
        "initialize",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "ping",
    }
)
_NOTES = frozenset(
    {
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "notifications/progress",
    }
)


def marks(message: Any) -> set[str]:
    """Whom a message is about."""
    return {found[1] for found in _MARK.finditer(json.dumps(message))}


def sources(message: Any) -> set[str]:
    """Which servers wrote any of it."""
    return set(re.findall(r"\bby-(one|two|evil)\b", json.dumps(message)))


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
            self.asked.append((ident, next(iter(_about(said)), "")))
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


def _about(message: Any) -> set[str]:
    return {found[0] for found in _MARK.finditer(json.dumps(message))}


class House:
    """The gateway and everybody around it."""

    gateway: Gateway

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self.served: list[tuple[str, str]] = []
        """Caller and server of each call that a server got."""
        self.questions = 0
        self.heard = 0
        self._number = 100
        self.servers = {name: Server(self, name) for name in SERVERS}
        self.clients: dict[str, Client] = {}
        self._reach = upstream.reach

    def number(self) -> int:
        self._number += 1
        return self._number

    async def open(self) -> None:
        upstream.reach = self.reach
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
            self.clients[name] = Client(self, name, callers.create(name, by="test")[1])
        await self.turns()

    async def close(self) -> None:
        for client in self.clients.values():
            client.pipe.close()
        await self.turns()
        await self.gateway.__aexit__(None, None, None)
        upstream.reach = self._reach
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

    # -- what is judged from outside

    def fault(self, what: str, message: Any) -> None:
        self.faults.append(f"{what}: {json.dumps(message)[:600]}")

    def judge_client(self, client: Client, said: Any) -> None:
        """What somebody received is about what is its own, from a server that it may see."""
        self.heard += 1
        name, own = client.name, marks(said) - {client.name}
        if own:
            self.fault(f"{name} heard of {own}", said)
        visible = GRANTS[name] & PROFILES[name][1]
        if sources(said) - visible:
            self.fault(f"{name} heard a server that it may not see", said)
        if any(
            client.marks.get(one) not in (None, *sources(said))
            for one in _about(said)
            if sources(said)
        ):
            self.fault(f"{name} heard another server than the one it called", said)
        self._judge_message(client, said)

    def _judge_message(self, client: Client, said: Any) -> None:
        method, params = said.get("method"), said.get("params") or {}
        name, servers = client.name, sources(said)
        if method == "notifications/message":
            logger = str(params.get("logger"))
            if servers - {logger.partition("/")[0]}:
                self.fault(f"{name} got a log line under another name", said)
        elif method == "notifications/resources/updated":
            # What no server lists that one may see is asked of the one server that there is.
            uri, seen = str(params.get("uri")), GRANTS[name] & PROFILES[name][1]
            owners = {uri.partition("://")[0]} & seen or seen
            if uri not in client.subscribed or servers - owners:
                self.fault(f"{name} got an update that it did not subscribe to", said)
        elif method == "notifications/progress" and params.get("progressToken") not in {
            f"{mark}-token" for mark in client.marks
        }:
            self.fault(f"{name} got progress that is not its own", said)
        for asked in _questions(said):
            self.questions += 1
            self._judge_question(client, asked, servers)
        self._judge_forged(client, said)

    def _judge_question(self, client: Client, asked: Any, servers: set[str]) -> None:
        params, open_ = asked.get("params") or {}, {one[0] for one in client.open.values()}
        if asked["method"] == "elicitation/create":
            begins = [
                one for one in servers if params["message"].startswith(f'Server "{one}" asks:')
            ]
            if not begins:
                self.fault(f"{client.name} was asked without the server's name", asked)
        if params.get("includeContext", "none") != "none":
            self.fault(f"{client.name} was asked for the context of other servers", asked)
        if servers - open_:
            self.fault(f"{client.name} was asked by a server that it had not called", asked)

    def _judge_forged(self, client: Client, said: Any) -> None:
        if not sources(said):
            return
        for holder in (
            said.get("result"),
            (said.get("error") or {}).get("data"),
            said.get("params"),
        ):
            found = holder if isinstance(holder, dict) else {}
            meta = found.get("_meta") if isinstance(found.get("_meta"), dict) else {}
            if "_mgp" in found or any(str(key).startswith("dev.gatewright/") for key in meta or {}):
                self.fault(f"{client.name} got what only the gateway says", said)
            if found.get("status") == "pending_approval":
                self.fault(f"{client.name} was told of an approval by a server", said)
            state = str(found.get("requestState", ""))
            if state.startswith("state-of"):
                self.fault(f"{client.name} got a state that is not sealed", said)

    def judge_server(self, pipe: _Pipe, said: Any) -> None:
        """What a server received belongs to a call or notification that may be, or answers what it asked."""
        method, ident, name = said.get("method"), said.get("id"), pipe.server.name
        if method == "tools/call":
            (mark,) = _about(said) or {""}
            caller = mark.partition("-")[0]
            if name not in GRANTS.get(caller, ()) or name not in PROFILES[caller][1]:
                self.fault(f"{name} got a call of {caller}", said)
            elif self.clients[caller].marks.get(mark) != name or ident is None:
                self.fault(f"{name} got a call that was not made to it", said)
            self.served.append((caller, name))
        elif method is None:
            self._judge_response(pipe, said)
        elif method.startswith("notifications/"):
            if method not in _NOTES or ident is not None:
                self.fault(f"{name} was told what nobody may tell it", said)
        elif method not in _TOLD and not method.startswith(("resources/", "logging/")):
            self.fault(f"{name} was asked what nobody may ask it", said)

    def _judge_response(self, pipe: _Pipe, said: Any) -> None:
        about = pipe.asked.pop(said.get("id"), None)
        words = re.findall(r"answer-of-(\w+)", json.dumps(said))
        if about is None:
            if not str(said.get("id")).startswith("free-"):
                self.fault(f"{pipe.server.name} got an answer that it did not ask for", said)
        elif words and pipe.server.name != "evil" and words[0] != about.partition("-")[0]:
            self.fault(f"{words[0]} answered for {about}", said)

    def judge_record(self) -> None:
        """The record names each call that a server got."""
        found: dict[tuple[str, str], int] = {}
        for record in AuditReader(self.folder / "state").tail(10_000_000):
            target = record.get("target") or {}
            key = str((record.get("actor") or {}).get("id")), str(target.get("server_id"))
            found[key] = found.get(key, 0) + 1
        for pair_ in set(self.served):
            if found.get(pair_, 0) < self.served.count(pair_):
                self.faults.append(f"the record names {found.get(pair_, 0)} calls of {pair_}")


def _questions(said: Any) -> list[Any]:
    if "method" in said and said.get("id") is not None:
        return [said]
    wanted = (said.get("result") or {}).get("inputRequests") if "result" in said else None
    return list(wanted.values()) if isinstance(wanted, dict) else []
