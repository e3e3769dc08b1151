"""`ServedRegistry`: what endpoints ask of an SDK server besides calls: capabilities, instructions, `x-mcp-header`; tells of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.kept_answers import NOTHING_TAKEN_BACK, Kept
from gatewright.mcp.server.server_context import Changes, Described
from gatewright.mcp.wire.headers_and_meta import param_headers
from gatewright.sdk.registry import Registry

__all__ = ["ServedRegistry"]


class ServedRegistry:
    """See the module's text. `capabilities` says at each hello what there is."""

    def __init__(
        self,
        registry: Registry,
        capabilities: Callable[[], dict[str, Any]],
        instructions: str,
    ) -> None:
        self.kept: Kept = NOTHING_TAKEN_BACK
        self._registry = registry
        self._capabilities = capabilities
        self._instructions = instructions
        self._watching: list[tuple[asyncio.AbstractEventLoop, Changes]] = []
        self._headers: dict[str, Mapping[tuple[str, ...], str]] = {}
        self._changes = 0

    async def settled(self) -> bool:
        """There is nothing to wait for."""
        return True

    async def describe(self, profile: str, caller: Caller) -> Described:
        """What the server can do."""
        return self._capabilities(), self._instructions

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
        """Tell `take` of changes, on the loop that runs now."""
        entry = asyncio.get_running_loop(), take
        self._watching.append(entry)

        def end() -> None:
            if entry in self._watching:
                self._watching.remove(entry)

        return end

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Something changed. Any thread may say so."""
        for loop, take in tuple(self._watching):
            # The empty text is the id of a server, which an SDK server has none of.
            loop.call_soon_threadsafe(take, "", method, params)

    def making(self, profile: str) -> None:
        """Nothing has to be waited for: all names are known."""

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        """The `x-mcp-header` annotations of a tool."""
        found = self._headers.get(name)
        if found is None:
            if name not in self._registry:
                return {}
            since = self._changes
            found = param_headers(self._registry.get(name).input_schema)
            if since == self._changes:
                self._headers[name] = found
        return found

    def forget(self, session: str) -> None:
        """Nothing is kept for a session."""

    def forget_tools(self) -> None:
        """The tools may not be what they were. From any thread."""
        self._changes += 1  # first: what is being read on the loop is not kept then
        self._headers.clear()
