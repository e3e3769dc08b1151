"""`ChannelIndex`: subscriptions by channel name and prefix (`tool.*`); `Groups`: by caller, by holder. Lookups do not walk all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

__all__ = ["ChannelIndex", "Groups"]

T = TypeVar("T", bound=Hashable)


class Groups(Generic[T]):
    """Things by what they have in common, each group in the order in which they came."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, dict[T, None]] = {}

    def add(self, key: Hashable, one: T) -> None:
        """It is of this group from now on."""
        self._groups.setdefault(key, {})[one] = None

    def remove(self, key: Hashable, one: T) -> None:
        """It is no more; nothing where it was not."""
        group = self._groups.get(key)
        if group is not None:
            group.pop(one, None)
            if not group:
                del self._groups[key]

    def of(self, key: Hashable) -> dict[T, None]:
        """All of a group; not to be changed, nor kept."""
        return self._groups.get(key, {})


class ChannelIndex(Generic[T]):
    """Which of some things are about a channel, by the names and patterns that each was put under."""

    def __init__(self) -> None:
        self._under: dict[T, tuple[str, ...]] = {}
        self._names: Groups[T] = Groups()

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

    def among(self, channel: str, some: Iterable[T]) -> list[T]:
        """The same of some of them: takes time in proportion to these."""
        groups = [group for name in _names_of(channel) if (group := self._names.of(name))]
        return [one for one in some if any(one in group for group in groups)]


def _names_of(channel: str) -> Iterator[str]:
    """Under which names and patterns a channel is meant (`channels.matches`)."""
    yield channel
    at = channel.find(".")
    while at >= 0:
        yield channel[: at + 1] + "*"
        at = channel.find(".", at + 1)
