"""`Registrations`: stores registrations of shipped tools in the state database, restores them at start; calls tools behind connections.

A registration of a shipped tool is a request that was found good, so the state keeps the requests, and the next
start finds them good again or says why not. A tool behind a connection lives as long as the connection.

The audit trail knows how often the store was changed: a gateway whose state is older than its record, or gone, does not start, because
tools would go back to what they were without it. Only the running gateway writes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from gatewright.call import Back, Call, CannotAsk, Failure, Outcome
from gatewright.dialects.groundhog.register import Shipped, registered_of
from gatewright.dialects.groundhog.registration import Flawed, read_registration
from gatewright.dialects.groundhog.tool_registry import Conflict, Registered, Registry
from gatewright.servers.listing import Listing
from gatewright.servers.local import Function
from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.opening import beside
from gatewright.storage.state import StateDatabase
from gatewright.transport.cancelled_tasks import let_go
from gatewright.transport.thread_turns import ThreadTurns

__all__ = ["Ask", "RegisteredRequests", "Registrations"]

log = logging.getLogger("gatewright.registry")

_FEW = 200
"""Of so many tools what is listed is made in some milliseconds."""


class RegisteredRequests:
    """The requests in one state database, each under the name and version of its tool. Written in a thread, on a connection of its own,
    one after the other, and each by itself: however many there are, one more costs what one costs."""

    def __init__(self, state: StateDatabase) -> None:
        """Raises `StoreError`."""
        self._state = state
        self._beside: StateDatabase | None = None
        self._turns = ThreadTurns()
        self._adding: set[asyncio.Task[None]] = set()
        self._flawed: dict[str, None] = {}
        try:
            self._requests = {
                key: msgspec.json.decode(body, type=dict[str, Any])
                for key, body in _documents(state).all().items()
            }
        except msgspec.MsgspecError as problem:
            raise StoreError(f"a registered tool cannot be read: {problem}") from problem

    @property
    def all(self) -> Mapping[str, dict[str, Any]]:
        """By key, in the order in which they came."""
        return self._requests

    def leave(self, key: str) -> None:
        """What is kept under this key is good for nothing any more: it goes with the next change."""
        self._flawed[key] = None

    async def add(self, name: str, version: str, request: Mapping[str, Any]) -> None:
        """Keep one more; return once it is on disk. It is kept also where whoever registered it is gone meanwhile. Raises
        `StoreError`, and then nothing has changed."""
        adding = asyncio.get_running_loop().create_task(self._add(name, version, request))
        self._adding.add(adding)
        adding.add_done_callback(self._added)
        await asyncio.shield(adding)

    async def _add(self, name: str, version: str, request: Mapping[str, Any]) -> None:
        key, gone = msgspec.json.encode([name, version]).decode(), tuple(self._flawed)
        try:
            await self._turns.run(partial(self._put, key, request, gone))
        except RuntimeError:
            raise StoreError("the gateway stops: nothing more is kept") from None
        for one in gone:
            self._requests.pop(one, None)
            self._flawed.pop(one, None)
        self._requests[key] = dict(request)

    def _added(self, adding: asyncio.Task[None]) -> None:
        self._adding.discard(adding)
        if not adding.cancelled() and (problem := adding.exception()) is not None:
            log.warning("a registration could not be stored: %s", problem)

    async def close(self) -> None:
        """Nothing more is kept, and the connection is closed once the thread that writes on it has ended."""
        await self._turns.end()
        if self._beside is not None:
            self._beside.close()

    def _put(self, key: str, request: Mapping[str, Any], gone: Sequence[str]) -> None:
        if self._beside is None:
            self._beside = beside(self._state)
        _documents(self._beside).put(key, msgspec.json.encode(request).decode(), without=gone)


def _documents(state: StateDatabase) -> Documents:
    return Documents(state.section("registrations", "the registered tools"))


Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Puts a request to a connection and waits for the result. Raises `CannotAsk`."""


class Registrations:
    """See the module's text. `shipped` are the tools that can be stood behind, by name."""

    def __init__(
        self,
        registry: Registry,
        state: StateDatabase,
        shipped: Mapping[str, Shipped],
        ahead: Callable[[Listing], Awaitable[None]] | None = None,
    ) -> None:
        """`ahead` makes ready what the registry is about to list (`Making`). Raises `StoreError` where what was registered cannot be
        read."""
        self.shipped = shipped
        self._registry = registry
        self._kept = RegisteredRequests(state)
        self._connections: dict[str, Ask] = {}
        self._behind: dict[tuple[str, str], list[str]] = {}
        """Name and version of a tool → the connections that answer for it, the first first."""
        self._stands: dict[str, dict[tuple[str, str], None]] = {}
        """Connection → those that it answers for."""
        self._ahead = ahead
        self._leaving: set[asyncio.Task[None]] = set()
        self._load()

    async def store(self, one: Registered) -> None:
        """Keep what was registered now. Raises `StoreError`."""
        if one.request is not None:
            await self._kept.add(one.name, one.version, one.request)

    async def close(self) -> None:
        """Nothing more is kept."""
        for one in self._leaving:
            one.cancel()
        await self._kept.close()

    def _load(self) -> None:
        for key, request in self._kept.all.items():
            try:
                wanted = read_registration(request)
                base = self.shipped[wanted.name]
                run = base.make(wanted.profile)
                self._registry.add(registered_of(wanted, base.definition, run, request))
            except (Flawed, Conflict, KeyError) as problem:
                log.warning("a registered tool is not offered any more: %s", problem)
                self._kept.leave(key)

    # -- connections

    def connected(self, connection: str, ask: Ask) -> None:
        """From now on the connection of this name can be asked."""
        self._connections[connection] = ask

    def gone(self, connection: str) -> None:
        """It cannot any more: what no other connection stands behind is gone with it."""
        self._connections.pop(connection, None)
        alone = []
        for tool in self._stands.pop(connection, ()):
            behind = self._behind[tool]
            behind.remove(connection)
            if not behind:
                del self._behind[tool]
                alone.append(tool)
        self._leave(alone)

    def _leave(self, tools: Sequence[tuple[str, str]]) -> None:
        """Nobody answers for these."""
        if self._ahead is None or len(self._registry.tools) <= _FEW:
            self._registry.remove(*tools)
        elif tools:
            leaving = asyncio.ensure_future(self._registry.leave(tools, self._ahead))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            leaving.add_done_callback(let_go)

    def stands_behind(self, connection: str, name: str, version: str) -> None:
        """It answers for this tool, which was registered; another one that does so already is asked first."""
        # It left, or is another caller's, since the tool was looked at.
        if connection not in self._connections:
            if (name, version) not in self._behind:
                self._leave([(name, version)])
            return
        self._stands.setdefault(connection, {})[name, version] = None
        behind = self._behind.setdefault((name, version), [])
        if connection not in behind:
            behind.append(connection)

    def connection(self, connection: str, name: str, version: str) -> Function | None:
        """The function that asks for each call of a tool whoever stands behind it then; None where this
        connection cannot be asked."""
        if connection not in self._connections:
            return None

        async def run(arguments: dict[str, Any], call: Call, back: Back) -> Outcome | Any:
            behind = self._behind.get((name, version))
            if not behind:
                return Failure("upstream_unavailable", f"who offers {name} is not connected")
            params = {
                "tool_id": name,
                "tool_version": version,
                "execution_id": f"exec-{call.id}",
                "parameters": arguments,
            }
            try:
                return _wrapped(await self._connections[behind[0]]("tools/invoke", params))
            except CannotAsk as problem:
                return Failure("upstream_error", f"who offers {name} said: {problem.message}")

        return run


def _wrapped(found: Any) -> Any:
    """What a connection answered: its `data`, or all of it."""
    if isinstance(found, dict) and "data" in found:
        found = found["data"]
    if isinstance(found, dict) and ("content" in found or "structuredContent" in found):
        return {"structuredContent": found, "content": []}
    return found
