"""A small gateway for the tests of doors: the real kernel and the real application between a scripted
owner of tools and a client that speaks ASGI, without a socket.

`House` is used as a context: on the way out every client leaves and the application closes, and a task
that is still there after that fails the test.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import shake_128
from math import inf
from typing import Any

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Back,
    Call,
    Caller,
    Failure,
    Gate,
    Outcome,
    Refusal,
    Tool,
    UserContext,
)
from gatewright.dialects.ggen.endpoint import Ggen
from gatewright.dialects.rest.endpoint import Rest
from gatewright.kernel import Kernel
from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face
from gatewright.mcp.protocol.request_state import Sealer
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_app import App
from gatewright.mcp.server.kept_answers import About, Kept
from gatewright.mcp.server.routes import Routes
from gatewright.mcp.server.server_context import Changes, Described, ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.telemetry.endpoint import Health
from tests.dialects.client import SECONDS, Answered, Sent, Wire, modern, rpc, within

__all__ = [
    "ANN",
    "BOB",
    "INFO",
    "MGP_OFFER",
    "House",
    "Script",
    "Session",
    "Upstream",
    "text",
]

ANN, BOB = Caller("ann"), Caller("bob")
INFO = {"name": "house", "version": "1"}
MGP_OFFER = {"version": "0.2.0", "extensions": list(EXTENSIONS)}
_KEYS = {"key-ann": ANN, "key-ann-2": ANN, "key-bob": BOB, "key-ann-owner": Caller("ann", "owner")}
_KEYS["key-ann-less"] = Caller("ann", user=(UserContext(trust="untrusted"),))
_KEYS["token-ann"], _KEYS["token-ann-more"] = (
    Caller("ann", token=True, user=(UserContext(scopes=scopes),))
    for scopes in (("read",), ("read", "write"))
)
_BOTH = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

Owner = Callable[[Call, Back], Awaitable[Outcome]]


def text(words: str, **more: Any) -> Answer:
    """The answer of a tool that says some words."""
    return Answer(jsonrpc.encode({"content": [{"type": "text", "text": words}], **more}))


class Script:
    """The kernel's dispatch: each name does what it was told to, and everything is noted."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.cancelled: list[str] = []
        self._does: dict[str, Owner] = {}
        self.began: asyncio.Queue[Call] = asyncio.Queue()

    def does(self, name: str, owner: Owner | Outcome) -> None:
        """From now on a call of this name, or else of this method, is answered so."""
        if isinstance(owner, (Answer, Refusal, Failure)):
            outcome = owner

            async def same(call: Call, back: Back) -> Outcome:
                return outcome

            owner = same
        self._does[name] = owner

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.calls.append(call)
        self.began.put_nowait(call)
        owner = self._does.get(call.name) or self._does.get(call.method)
        if owner is None:
            return Failure("method_not_found", f"Method not found: {call.method}")
        try:
            return await owner(call, back)
        except asyncio.CancelledError:
            self.cancelled.append(call.name or call.method)
            raise


class Upstream:
    """What doors ask of servers besides calls."""

    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
        self.instructions = ""
        self.watching: dict[int, tuple[Caller, str, Changes]] = {}
        self.audits: list[bool] = []
        self.holders: list[str | None] = []
        """By which name each is heard of."""
        self.headers: dict[str, Mapping[tuple[str, ...], str]] = {}
        self.forgotten: list[str] = []
        self.kept: Kept = self
        self.taken_back: set[str] = set()
        """What no caller may see any more of what was kept for it."""
        self.tools: dict[str, Tool] = {}
        self._count = itertools.count()
        self.waits: list[Callable[[], Awaitable[None]]] = []
        """What the next calls wait for, the last first."""

    async def settled(self) -> bool:
        return True

    async def describe(self, profile: str, caller: Caller) -> Described:
        return dict(self.capabilities), self.instructions

    def watch(
        self,
        caller: Caller,
        profile: str,
        take: Changes,
        session: str | None = None,
        *,
        audit: bool = False,
        door: str = "",
        holder: str | None = None,
        still: Callable[[], Caller | Refusal] | None = None,
    ) -> Callable[[], None]:
        number = next(self._count)
        self.watching[number] = caller, profile, take
        self.audits.append(audit)
        self.holders.append(holder)
        return lambda: self.watching.pop(number, None) and None

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Let a server say something on its own account."""
        for _, _, take in list(self.watching.values()):
            take("srv", method, params or {})

    def making(self, profile: str) -> Awaitable[None] | None:
        return self.waits.pop()() if self.waits else None

    def meant(self, caller: Caller, profile: str, about: About) -> About:
        return about

    def withheld(self, caller: Caller, profile: str, about: About) -> bool:
        return about.name in self.taken_back

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        return self.headers.get(name, {})

    def tool(self, profile: str, name: str, caller: Caller) -> Tool | None:
        return self.tools.get(name)

    def offers(self, profile: str) -> bool:
        return bool(self.tools)

    def forget(self, session: str) -> None:
        self.forgotten.append(session)


class Trails:
    """An audit that keeps how each call ended."""

    spent_s: float | None = None

    def __init__(self) -> None:
        self.ended: list[tuple[Call, Outcome]] = []

    def open(self, call: Call) -> Trails:
        return self

    def intent(self, call: Call) -> bool:
        return False

    async def on_disk(self) -> None:
        """Nothing is kept on a disk."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        self.ended.append((call, outcome))
        return outcome

    async def settled(self) -> None:
        """Nothing is kept on a disk."""


class House:
    """See the module's text."""

    def __init__(
        self,
        *gates: Gate,
        anonymous: bool = True,
        guard: Guard | None = None,
        routes: Callable[[ServerContext], Sequence[Routes]] = lambda _: (),
        **front: Any,
    ) -> None:
        self._routes = routes
        self.script = Script()
        self.upstream = Upstream()
        self.trails = Trails()
        self.now = 1000.0
        self._anonymous = anonymous
        self._random = itertools.count(1)
        self._wires: list[Wire] = []
        self.gone: set[str] = set()
        """Keys that are good no more."""
        self.leaving: list[Callable[[], None]] = []
        """What clients of other kinds do at the end."""
        self._guard = guard or Guard()
        self._gates = gates
        # A slow machine must not decide the form of an answer.
        self._options = {"stream_after_s": 3600.0} | front

    async def __aenter__(self) -> House:
        self.front = ServerContext(
            kernel=Kernel(self._gates, self.script, (), self.trails),
            upstream=self.upstream,
            identify=self.identify,
            face=Face(EXTENSIONS),
            info=INFO,
            sealer=Sealer(b"k" * 32),
            clock=lambda: self.now,
            random=lambda size: shake_128(b"%d" % next(self._random)).digest(size),
            **self._options,
        )
        shown = self.front, self.upstream
        endpoints = (Health(self._numbers), Ggen(*shown), Rest(*shown))
        routes = [*(one.routes for one in endpoints), *self._routes(self.front)]
        self.app = App(self.front, self._guard, frozenset({"small"}), routes)
        return self

    async def __aexit__(self, *problem: object) -> None:
        for wire in self._wires:
            wire.leave()
        for leave in self.leaving:
            leave()
        await self.app.close()
        if problem[0] is None:
            await self.quiet()

    async def quiet(self) -> None:
        """Wait until nothing runs any more but the test."""
        mine = asyncio.current_task()
        async with asyncio.timeout(SECONDS):
            while others := [one for one in asyncio.all_tasks() if one is not mine]:
                await asyncio.wait(others)

    def identify(self, door: str, credential: str | None) -> Caller | Refusal:
        """Who presents a credential."""
        if credential is None:
            if self._anonymous:
                return ANONYMOUS
            return Refusal("auth_required", "authentication is required")
        found = None if credential in self.gone else _KEYS.get(credential)
        return found or Refusal("auth_failed", "the credential is not valid")

    def _numbers(self) -> dict[str, Any]:
        return {
            "servers": {"srv": "connected"},
            "calls": {("tool", "ok"): len(self.script.calls)},
            "sessions": len(self.app.streamable.sessions),
            "audit_ok": True,
            "in_flight": 0,
            "waiting": 0,
            "tools": {},
            "tool_bounds": (1.0, inf),
            "audit_written": 0,
            "audit_lag": 0,
            "audit_sinks": {},
            "took": [(0.5, 1), (2.0, 0), (inf, 2)],
            "took_s": 7.5,
        }

    # -- clients

    def open(
        self,
        sent: Sent | bytes = b"",
        *,
        method: str = "POST",
        path: str = "/mcp",
        key: str | None = None,
        headers: Mapping[str, str | None] | None = None,
        extra: Sequence[tuple[bytes, bytes]] = (),
        held: asyncio.Event | None = None,
    ) -> Wire:
        """Begin a request. A header of value None is left out; `extra` headers come as they are; the last byte waits for `held`."""
        body, own = sent if isinstance(sent, Sent) else (sent, {})
        full: dict[str, str | None] = {"host": "localhost", **_BOTH, **own}
        if key is not None:
            full["authorization"] = f"Bearer {key}"
        full |= headers or {}
        raw = [
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in full.items()
            if value is not None
        ]
        wire = Wire(self.app, method, path, [*raw, *extra], body, held)
        self._wires.append(wire)
        return wire

    async def post(self, sent: Sent | bytes, **options: Any) -> Answered:
        """A request and its whole response."""
        return await self.open(sent, **options).whole()

    async def modern(
        self, method: str, params: Mapping[str, Any] | None = None, **more: Any
    ) -> Answered:
        """A modern request and its whole response; `key` and `path` are the transport's."""
        outer = {name: more.pop(name) for name in ("key", "path", "headers") if name in more}
        return await self.post(modern(method, params, **more), **outer)

    async def session(
        self,
        revision: str = "2025-11-25",
        capabilities: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Session:
        """A legacy session after its handshake."""
        params = {"protocolVersion": revision, "capabilities": dict(capabilities or {})}
        params["clientInfo"] = {"name": "test", "version": "1"}
        hello = await self.post(rpc("initialize", params, 0), **options)
        session = Session(self, hello, options)
        done = await session.send(rpc("notifications/initialized"))
        assert (done.status, done.body) == (202, b"")
        return session

    async def began(self) -> Call:
        """The next call that reaches its owner."""
        return await within(self.script.began.get())


class Session:
    """A client with a legacy session."""

    def __init__(self, house: House, hello: Answered, options: dict[str, Any]) -> None:
        assert hello.status == 200, hello
        self._house = house
        self._options = options
        self.hello = hello.json["result"]
        self.ident = hello.headers["mcp-session-id"]
        self._next = itertools.count(1)

    def _with(self, headers: Mapping[str, str | None] | None) -> dict[str, Any]:
        own = {
            "mcp-session-id": self.ident,
            "mcp-protocol-version": self.hello["protocolVersion"],
        }
        return self._options | {"headers": {**own, **(headers or {})}}

    def open(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        ident: Any = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Wire:
        """Begin a request."""
        number = next(self._next) if ident is None else ident
        return self._house.open(rpc(method, params, number), **self._with(headers))

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """The last message of a request's response."""
        answered = await self.open(method, params, **more).whole()
        return answered.messages[-1]

    async def send(
        self, message: bytes, headers: Mapping[str, str | None] | None = None
    ) -> Answered:
        """Post any message."""
        return await self._house.post(message, **self._with(headers))

    def get(self, last: str | None = None) -> Wire:
        """Open the session's own stream, or take one up after the event `last`."""
        headers = {"accept": "text/event-stream", "content-type": None, "last-event-id": last}
        return self._house.open(method="GET", **self._with(headers))

    async def delete(self, **options: Any) -> Answered:
        """End the session."""
        full = self._with(None) | options
        return await self._house.open(method="DELETE", **full).whole()
