"""Counter that yields the key with the highest count in constant time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["TopCounter"]

K = TypeVar("K", bound=Hashable)


class TopCounter(Generic[K]):
    """Of keys that are counted one at a time."""

    def __init__(self) -> None:
        self._counts: dict[K, int] = {}
        self._having: dict[int, dict[K, None]] = {}
        self._top = 0

    def __bool__(self) -> bool:
        """Whether anybody has any."""
        return bool(self._counts)

    def add(self, key: K) -> None:
        """One more."""
        self._set(key, self._counts.get(key, 0) + 1)

    def remove(self, key: K) -> None:
        """One less, of somebody who has one."""
        self._set(key, self._counts[key] - 1)

    def renew(self, key: K) -> None:
        """Somebody who has one counts as the last that got it."""
        same = self._having[self._counts[key]]
        same[key] = same.pop(key)

    def first(self) -> K:
        """Who has the most; of several, whoever has had so many for longest."""
        return next(iter(self._having[self._top]))

    def _set(self, key: K, count: int) -> None:
        before = self._counts.pop(key, 0)
        if before:
            same = self._having[before]
            del same[key]
            if not same:
                del self._having[before]
        if count:
            self._counts[key] = count
            self._having.setdefault(count, {})[key] = None
        self._top = max(self._top, count)
        # Counts change by one, so this takes one step at most.
        while self._top and self._top not in self._having:
            self._top -= 1
