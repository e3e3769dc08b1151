"""The parts of the door around the kernel of a test house, and a client on a pipe that never leaves the test."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gatewright.call import Caller, Unrecorded, Who
from gatewright.dialects.groundhog.client import GroundhogPeer
from gatewright.dialects.groundhog.outcomes import spell_error
from gatewright.dialects.groundhog.sessions import Sessions
from gatewright.dialects.groundhog.types import Parts, Refused, Terms
from gatewright.identity.session_gate import Session as SessionGate
from gatewright.transport.base import Closed
from tests.dialects.client import SECONDS
from tests.dialects.house import House

__all__ = ["Client", "Notes", "Rig"]


class Notes:
    """A record of what was refused before it was a call."""

    def __init__(self) -> None:
        self.found: list[Refused] = []
        self.room = True
        self.broken = False

    def __call__(self, refused: Refused) -> bool:
        if self.broken:
            raise Unrecorded("the disk is full")
        self.found.append(refused)
        return self.room


class Client:
    """One client: a pipe whose other end is the test."""

    waiting = 0

    def __init__(self, parts: Parts, caller: Caller | None, credential: str | None = None) -> None:
        self.peer = GroundhogPeer(
            parts, caller, door="groundhog", credential=credential, profile=""
        )
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.peer.attach(self)
        self._count = 0

    # -- a pipe

    def send(self, message: bytes) -> None:
        if self.closed.is_set():
            raise Closed("closed")
        self.sent.put_nowait(message)

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            asyncio.get_running_loop().call_soon(self.peer.closed, "closed")

    async def wait_closed(self) -> str:
        await asyncio.wait_for(self.closed.wait(), SECONDS)
        return "closed"

    # -- a client

    async def next(self) -> Any:
        return json.loads(await asyncio.wait_for(self.sent.get(), SECONDS))

    def begin(self, method: str, params: Any = None, **more: Any) -> None:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": f"r{self._count}", "method": method, **more}
        self.peer.message(json.dumps({**message, "params": params or {}}).encode())

    async def ask(self, method: str, params: Any = None, **more: Any) -> Any:
        """The response to a request."""
        self.begin(method, params, **more)
        found = await self.next()
        assert found["id"] == f"r{self._count}"
        return found

    async def result(self, method: str, params: Any = None, **more: Any) -> Any:
        found = await self.ask(method, params, **more)
        assert "result" in found, found
        return found["result"]

    async def data(self, method: str, params: Any = None, **more: Any) -> Any:
        """What the error of a response says."""
        found = await self.ask(method, params, **more)
        assert "error" in found, found
        return found["error"]["data"]


class Rig:
    """A context: the parts, and clients that leave at its end."""

    def __init__(self, *, anonymous: bool = False, most: int = 100, **terms: Any) -> None:
        self._owners: dict[str, Who] = {}
        self.house = House(SessionGate(self._owners.get), anonymous=anonymous)
        self._terms = terms
        self._most = most
        self.notes = Notes()
        self.now = 1_000_000.0
        self.ended: list[str] = []
        self.trust: dict[str, str] = {}
        self.asks: dict[str, Any] = {}
        self._clients: list[Client] = []

    def starting(self) -> asyncio.Event:
        """Servers start until this is set."""
        started = asyncio.Event()

        async def settled() -> bool:
            await started.wait()
            return True

        self.house.upstream.settled = settled  # type: ignore[method-assign]
        return started

    async def __aenter__(self) -> Rig:
        await self.house.__aenter__()
        self.house.front.owners = self._owners
        sessions = Sessions(
            self._owners,
            clock=lambda: self.now,
            random=self.house.front.random,
            timeout_s=3600,
            most=self._most,
            ended=self.ended.append,
        )
        self.parts = Parts(
            front=self.house.front,
            sessions=sessions,
            names=_named,
            spell=spell_error,
            note=self.notes,
            trust=lambda caller: self.trust.get(caller.id, "verified"),
            held=lambda caller: ["filesystem.read"],
            user=lambda caller: {
                "user_id": caller.id,
                "role": "reader",
                "trust_level": "verified",
                "allowed_resources": ["/srv"],
            },
            limits=lambda caller: {"limited": 0},
            risk=lambda parameters: "dangerous" if "secret" in parameters else "",
            now=lambda: self.now,
            providers=self,
            terms=Terms(**self._terms),
        )
        return self

    async def __aexit__(self, *problem: Any) -> None:
        for client in self._clients:
            client.close()
        await asyncio.sleep(0)
        await self.house.__aexit__(*problem)

    def client(self, caller: Caller | None, credential: str | None = None) -> Client:
        found = Client(self.parts, caller, credential)
        self._clients.append(found)
        return found

    # -- providers

    def connected(self, connection: str, ask: Any) -> None:
        self.asks[connection] = ask

    def gone(self, connection: str) -> None:
        del self.asks[connection]


async def _named(profile: str, caller: Caller, tool_id: str, version: str | None) -> str:
    return tool_id if version is None else f"{tool_id}@{version}"
