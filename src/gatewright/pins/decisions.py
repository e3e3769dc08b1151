"""`Decisions`: lets an operator in the web console see, accept or refuse held-back tools, within the gateway's process."""

from __future__ import annotations

from collections.abc import Callable

from gatewright.pins.store import Held, Pin, Pins

__all__ = ["Decisions"]


class Decisions:
    """Of one gateway. On the event loop. Every method raises `StoreError`."""

    def __init__(self, store: Pins, decided: Callable[[str, str, str], object]) -> None:
        """`decided` is told of each tool, by server and name, with the digest of what was accepted, empty where it was refused: whoever
        hears that it is accepted may call it at once."""
        self._store = store
        self._decided = decided

    def some(self, server: str, tools: list[str]) -> dict[str, Pin]:
        """What is known of these tools of a server, by name; nothing of those that nobody has seen."""
        return self._store.some(server, tools)

    def heads(self, server: str, tools: list[str]) -> dict[str, Pin]:
        """The same without definitions, which may have megabytes together."""
        return self._store.heads(server, tools)

    def accept(self, server: str, tool: str, *, digest: str, by: str) -> Pin:
        """Rely on what a tool says now. Raises as `Pins.accept`."""
        found = self._store.accept(server, tool, digest=digest, by=by)
        self._decided(server, tool, digest)
        return found

    def undecided(
        self, most: int, server: str = "", after: Held | None = None, *, newest: bool = False
    ) -> list[Pin]:
        """The first tools, of all servers or one, that are held back and on which nobody has said a word, the longest or the `newest`
        first, from behind one on; without their definitions, as `heads`."""
        return self._store.undecided(most, server, after, newest=newest)

    def undecided_count(self, server: str = "") -> int:
        """How many there are."""
        return self._store.undecided_count(server)

    def refuse(self, server: str, tool: str, *, digest: str, by: str, why: str) -> Pin:
        """Leave a tool held back for as long as it says what it says now. Raises as `Pins.refuse`."""
        found = self._store.refuse(server, tool, digest=digest, by=by, why=why)
        self._decided(server, tool, "")
        return found
