"""`EarlyEvents`: bounded buffer, by subscription id, of a server's MGP events that came before its answer to the subscription."""

from __future__ import annotations

from collections import deque

__all__ = ["EARLY_BYTES", "EARLY_MOST", "EarlyEvents", "Ident"]

EARLY_MOST, EARLY_BYTES = 100, 1024 * 1024
"""Events of one server that are kept so, and their bytes; of more the oldest go."""

Ident = str | int
"""A subscription, as its server calls it."""


class EarlyEvents:
    """Kept by id, so that nobody looks at those of another subscription; as long as `waiting` answers of the server are awaited."""

    def __init__(self) -> None:
        self.waiting = 0
        self._order: deque[tuple[Ident, bytes]] = deque()
        self._mine: dict[Ident, deque[bytes]] = {}
        self._bytes = 0

    def put(self, ident: Ident, raw: bytes) -> None:
        """Keep one."""
        self._order.append((ident, raw))
        self._mine.setdefault(ident, deque()).append(raw)
        self._bytes += len(raw)
        while len(self._order) > EARLY_MOST or self._bytes > EARLY_BYTES:
            self._forget(*self._order.popleft())

    def take(self, ident: Ident | None) -> bytes | None:
        """The oldest one of a subscription, which is kept no more."""
        mine = None if ident is None else self._mine.get(ident)
        if ident is None or mine is None:
            return None
        raw = mine[0]
        self._order.remove((ident, raw))
        self._forget(ident, raw)
        return raw

    def _forget(self, ident: Ident, raw: bytes) -> None:
        mine = self._mine[ident]
        mine.popleft()
        if not mine:
            del self._mine[ident]
        self._bytes -= len(raw)
