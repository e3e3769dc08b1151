"""`Decisions`: what an operator sees of tools that are held back, and accepts, in the process of the gateway itself (the web console)."""

from __future__ import annotations

from gatewright.pins.store import Pin, Pins

__all__ = ["Decisions"]


class Decisions:
    """Of one gateway. On the event loop. Every method raises `StoreError`."""

    def __init__(self, store: Pins) -> None:
        self._store = store

    def held(self, server: str, most: int) -> list[Pin]:
        """The first tools of a server, by name, that are held back."""
        return self._store.held(server, most)

    def one(self, server: str, tool: str) -> Pin | None:
        """What is known of one tool; None where nobody has seen it."""
        return self._store.one(server, tool)

    def held_counts(self) -> dict[str, int]:
        """How many tools of each server are held back, where any is."""
        return self._store.held_counts()

    def accept(self, server: str, tool: str, *, digest: str, by: str) -> Pin:
        """Rely on what a tool says now: from the next look on it may be used. Raises as `Pins.accept`."""
        found = self._store.accept(server, tool, digest=digest, by=by)
        self._store.decided()
        return found

    def undecided(self, most: int) -> list[Pin]:
        """The first tools of all servers that are held back and on which nobody has said a word, the longest first."""
        return self._store.undecided(most)

    def undecided_count(self) -> int:
        """How many there are."""
        return self._store.undecided_count()

    def refuse(self, server: str, tool: str, *, digest: str, by: str, why: str) -> Pin:
        """Leave a tool held back for as long as it says what it says now. Raises as `Pins.refuse`."""
        found = self._store.refuse(server, tool, digest=digest, by=by, why=why)
        self._store.decided()
        return found
