"""Keeps accepted tool registrations in the state database, restores them at start, and tracks which connections provide which tools.

A registration of a shipped tool is a request that was found good, so the state keeps the requests, and the next
start finds them good again or says why not. A tool behind a connection lives as long as the connection.

The audit trail knows how often the store was changed: a gateway whose state is older than its record, or gone, does not start, because
tools would go back to what they were without it. Only the running gateway writes it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Back, Call, CannotAsk, Failure, Outcome
from gatewright.dialects.groundhog.register import Shipped, registered_of
from gatewright.dialects.groundhog.registration import Flawed, read_registration
from gatewright.dialects.groundhog.tool_registry import Conflict, Registry
from gatewright.servers.local import Function
from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase

__all__ = ["Ask", "RegisteredRequests", "Registrations"]


class RegisteredRequests:
    """The requests in one state database."""

    def __init__(self, state: StateDatabase) -> None:
        """Raises `StoreError`."""
        self._documents = Documents(state.section("registrations", "the registered tools"))
        try:
            self._requests = [
                msgspec.json.decode(body, type=dict[str, Any])
                for body in self._documents.all().values()
            ]
        except msgspec.MsgspecError as problem:
            raise StoreError(f"a registered tool cannot be read: {problem}") from problem

    @property
    def all(self) -> Sequence[dict[str, Any]]:
        """In the order in which they came."""
        return self._requests

    def put(self, requests: Sequence[dict[str, Any]]) -> None:
        """Keep these in their place. Raises `StoreError`, and then nothing has changed."""
        if not requests and not self._requests:
            return
        bodies = [msgspec.json.encode(one).decode() for one in requests]
        self._documents.replace({str(at): body for at, body in enumerate(bodies)})
        self._requests = list(requests)


log = logging.getLogger("gatewright.registry")

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Puts a request to a connection and waits for the result. Raises `CannotAsk`."""


class Registrations:
    """See the module's text. `shipped` are the tools that can be stood behind, by name."""

    def __init__(
        self, registry: Registry, state: StateDatabase, shipped: Mapping[str, Shipped]
    ) -> None:
        """Raises `StoreError` where what was registered cannot be read."""
        self.shipped = shipped
        self._registry = registry
        self._kept = RegisteredRequests(state)
        self._connections: dict[str, Ask] = {}
        self._behind: dict[tuple[str, str], list[str]] = {}
        """Name and version of a tool → the connections that answer for it, the first first."""
        self._load()

    def store(self) -> None:
        """Keep what is registered. Raises `StoreError`."""
        self._kept.put(
            [dict(one.request) for one in self._registry.tools if one.request is not None]
        )

    def _load(self) -> None:
        for request in self._kept.all:
            try:
                wanted = read_registration(request)
                base = self.shipped[wanted.name]
                run = base.make(wanted.profile)
                self._registry.add(registered_of(wanted, base.definition, run, request))
            except (Flawed, Conflict, KeyError) as problem:
                log.warning("a registered tool is not offered any more: %s", problem)

    # -- connections

    def connected(self, connection: str, ask: Ask) -> None:
        """From now on the connection of this name can be asked."""
        self._connections[connection] = ask

    def gone(self, connection: str) -> None:
        """It cannot any more: what no other connection stands behind is gone with it."""
        self._connections.pop(connection, None)
        alone = []
        for tool, behind in list(self._behind.items()):
            if connection in behind:
                behind.remove(connection)
                if not behind:
                    del self._behind[tool]
                    alone.append(tool)
        self._registry.remove(*alone)

    def stands_behind(self, connection: str, name: str, version: str) -> None:
        """It answers for this tool, which was registered; another one that does so already is asked first."""
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
