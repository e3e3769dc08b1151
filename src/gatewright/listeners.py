"""`Signal`: in-process publish and subscribe; `send` calls all listeners synchronously, in the order in which they subscribed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Signal"]

T = TypeVar("T")


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
