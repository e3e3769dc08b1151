"""In-memory taints of sessions (untrusted or private data read, and by which tool), bounded, with expiry.

A *holder* is a caller and its session, or the caller alone where its endpoint knows no sessions or the configuration says so:
the same text may then have come through any of its connections. For each mark the last tool that brought it is kept, because a
person who is asked wants to know why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gatewright.servers.top_counts import TopCounter

__all__ = ["KEPT", "Holder", "Taints"]

KEPT = 100_000
"""So many holders; of more, that one of whoever has the most goes that read nothing for the longest time."""

Holder = tuple[str, str, str]
"""Kind and id of a caller, and a session."""

_Caller = tuple[str, str]
_Marks = dict[str, tuple[str, float]]


class Taints:
    """`clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[_Caller, dict[str, _Marks]] = {}
        """By caller and session, in the order of the last reading."""
        self._most: TopCounter[_Caller] = TopCounter()
        self._count = 0

    def add(self, holder: Holder, marks: Iterable[str], tool: str) -> None:
        """The holder has read something through `tool`, now."""
        now, caller, session = self._clock(), holder[:2], holder[2]
        mine = self._held.get(caller)
        if mine is None:
            mine = self._held[caller] = {}
        held = mine.pop(session, None)  # it is put back as the last that has read
        new = held is None
        if held is None:
            held = {}
        for mark in marks:
            held[mark] = tool, now
        mine[session] = held
        if not new:
            self._most.renew(caller)
            return
        self._most.add(caller)
        self._count += 1
        if self._count > KEPT:
            # Of whoever has the most: many sessions of one wash nothing out that another has read.
            most = self._most.first()
            self._taken((*most, next(iter(self._held[most]))))

    def _taken(self, holder: Holder) -> _Marks:
        """What a holder has read, which is not held any more."""
        caller, session = holder[:2], holder[2]
        mine = self._held.get(caller, {})
        found = mine.pop(session, None)
        if found is None:
            return {}
        if not mine:
            del self._held[caller]
        self._most.remove(caller)
        self._count -= 1
        return found

    def of(self, holder: Holder, lasts_s: float) -> Mapping[str, str]:
        """Mark → the tool that brought it, for as long as that counts."""
        held = self._held.get(holder[:2], {}).get(holder[2])
        if held is None:
            return {}
        oldest = self._clock() - lasts_s
        found = {mark: tool for mark, (tool, at) in held.items() if at > oldest}
        if not found:
            self._taken(holder)
        return found
