"""`Decisions`: what an operator sees of tools that are held back, and accepts, in the process of the gateway itself (the web console)."""

from __future__ import annotations

from gatewright.pins.store import Pin, Pins

__all__ = ["Decisions"]


class Decisions:
    """Of one gateway. On the event loop. Every method raises `StoreError`."""

    def __init__(self, store: Pins) -> None:
        self._store = store

    def some(self, server: str, tools: list[str]) -> dict[str, Pin]:
        """What is known of these tools of a server, by name; nothing of those that nobody has seen."""
        return self._store.some(server, tools)

    def accept(self, server: str, tool: str, *, digest: str, by: str) -> Pin:
        """Rely on what a tool says now: from the next look on it may be used. Raises as `Pins.accept`."""
        found = self._store.accept(server, tool, digest=digest, by=by)
        self._store.decided()
        return found
