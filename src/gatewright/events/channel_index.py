"""`ChannelIndex`: subscriptions by channel name and prefix (`tool.*`), found in the time of a name, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Generic, TypeVar

from gatewright.listeners import Groups

__all__ = ["ChannelIndex"]

T = TypeVar("T", bound=Hashable)


class ChannelIndex(Generic[T]):
    """Which of some things are about a channel, by the names and patterns that each was put under."""

    def __init__(self) -> None:
        self._under: dict[T, tuple[str, ...]] = {}
        self._names: Groups[str, T] = Groups()

    def __len__(self) -> int:
        return len(self._under)

    def put(self, one: T, names: tuple[str, ...]) -> None:
        """It is about these from now on, and about nothing else."""
        for name in self._under.pop(one, ()):
            self._names.remove(name, one)
        for name in names:
            self._names.add(name, one)
        if names:
            self._under[one] = names

    def any(self, channel: str) -> bool:
        """Whether any is about a channel."""
        return any(self._names.of(name) for name in _names_of(channel))

    def about(self, channel: str) -> list[T]:
        """Those that are, each once."""
        return list(
            dict.fromkeys(one for name in _names_of(channel) for one in self._names.of(name))
        )

    def among(self, channel: str, some: Collection[T]) -> list[T]:
        """The same of some of them, which are found by hash: takes time in proportion to these, or to those that are, whichever are fewer."""
        groups = [group for name in _names_of(channel) if (group := self._names.of(name))]
        if sum(map(len, groups)) < len(some):
            return [one for one in self.about(channel) if one in some]
        return [one for one in some if any(one in group for group in groups)]


def _names_of(channel: str) -> Iterator[str]:
    """Under which names and patterns a channel is meant (`channels.matches`)."""
    yield channel
    at = channel.find(".")
    while at >= 0:
        yield channel[: at + 1] + "*"
        at = channel.find(".", at + 1)
