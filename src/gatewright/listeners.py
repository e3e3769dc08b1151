"""`Signal`: in-process publish and subscribe; `send` calls all listeners synchronously, in order. `Groups`: who listens, by what they share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Groups", "Signal"]

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class Signal(Generic[T]):
    """Complete without any listener. Listeners must not raise where the owner does not say what happens then, and are told in the order in which they began to listen."""

    __slots__ = ("_count", "listeners")

    def __init__(self) -> None:
        self.listeners: dict[int, Callable[[T], object]] = {}
        """Empty while there are none: an owner that has to spell out what it tells asks this first."""
        self._count = 0

    def listen(self, take: Callable[[T], object]) -> Callable[[], None]:
        """Tell `take` of each value from now on, until the result is called."""
        self._count += 1
        number = self._count
        self.listeners[number] = take

        def end() -> None:
            self.listeners.pop(number, None)

        return end

    def send(self, value: T) -> None:
        """Tell all that listen now."""
        for take in tuple(self.listeners.values()):
            take(value)


class Groups(Generic[K, H]):
    """Things by what they have in common, each group in the order in which they came."""

    def __init__(self) -> None:
        self._groups: dict[K, dict[H, None]] = {}

    def add(self, key: K, one: H) -> None:
        """It is of this group from now on."""
        self._groups.setdefault(key, {})[one] = None

    def remove(self, key: K, one: H) -> None:
        """It is no more; nothing where it was not."""
        group = self._groups.get(key)
        if group is not None:
            group.pop(one, None)
            if not group:
                del self._groups[key]

    def of(self, key: K) -> dict[H, None]:
        """All of a group; not to be changed, nor kept."""
        return self._groups.get(key, {})

    def __iter__(self) -> Iterator[K]:
        """What there are groups of, in the order in which these began."""
        return iter(self._groups)
