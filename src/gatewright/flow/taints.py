"""In-memory taints of sessions (untrusted or private data read, and by which tool), bounded, with expiry.

A *holder* is a caller and its session, or the caller alone where its endpoint knows no sessions or the configuration says so:
the same text may then have come through any of its connections. For each mark the last tool that brought it is kept, because a
person who is asked wants to know why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["KEPT", "Holder", "Taints"]

KEPT = 100_000
"""So many holders; of more, those go first that read nothing for the longest time."""

Holder = tuple[str, str, str]
"""Kind and id of a caller, and a session."""


class Taints:
    """`clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[Holder, dict[str, tuple[str, float]]] = {}

    def add(self, holder: Holder, marks: Iterable[str], tool: str) -> None:
        """The holder has read something through `tool`, now."""
        now = self._clock()
        held = self._held.pop(holder, {})  # and to the end: the order is that of the last reading
        for mark in marks:
            held[mark] = tool, now
        self._held[holder] = held
        if len(self._held) > KEPT:
            del self._held[next(iter(self._held))]

    def of(self, holder: Holder, lasts_s: float) -> Mapping[str, str]:
        """Mark → the tool that brought it, for as long as that counts."""
        held = self._held.get(holder)
        if held is None:
            return {}
        oldest = self._clock() - lasts_s
        found = {mark: tool for mark, (tool, at) in held.items() if at > oldest}
        if not found:
            del self._held[holder]
        return found
