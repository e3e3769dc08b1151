"""Sliding-window rate limit of one subject: records call times; says whether and when the next may come, and how full windows are.

Theory: a limit of N calls in a window means that no stretch of that length, wherever it begins, holds more than N. So
the times of the calls are kept, and one more may come when the N-th newest is older than the window; how
long that takes is known exactly. (A leaky bucket, GCRA, forgets the times and lets twice as many through: N at
once and N more while it refills; docs/decisions says why that was given up.)

Two things keep it small and quick. Looking gives *spare* calls: so many may come, whenever they come, before anybody has to
look again, because time only makes room. And windows longer than a minute count in slots, a 240th of the window wide, each
as old as its last call: such a limit may be felt that much later, never too late.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["DAY", "HOUR", "MINUTE", "SECOND", "Full", "Standing", "Usage", "Window", "Windows"]

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EXACT = MINUTE
_SLOTS = 240
_SPARE = 1024
"""So many calls at most before the next look: it bounds how many times are kept."""
_NEVER = -(2**62)


class Window(msgspec.Struct, frozen=True, gc=False):
    """At most `limit` calls within any `span` nanoseconds."""

    limit: int
    span: int


class Windows:
    """Several windows that hold at the same time."""

    __slots__ = ("exact", "kept", "long", "most")

    def __init__(self, windows: Iterable[Window] = ()) -> None:
        every = tuple(windows)
        self.exact = tuple(one for one in every if one.span <= _EXACT)
        self.long = tuple(one for one in every if one.span > _EXACT)
        self.kept = max((one.span for one in self.exact), default=0)
        """For how many nanoseconds the times of single calls are needed."""
        self.most = max((one.limit for one in self.exact), default=0)
        """How many of them at most."""

    def __bool__(self) -> bool:
        return bool(self.exact or self.long)

    @property
    def span(self) -> int:
        """The longest of them; after so many idle nanoseconds nothing is owed."""
        return max((one.span for one in (*self.exact, *self.long)), default=0)


class Full(msgspec.Struct, frozen=True, gc=False):
    """No further call may come: which window says so the longest, nanoseconds until it does not, and
    how many calls it holds."""

    window: Window
    wait: int
    used: int


class Standing(msgspec.Struct, frozen=True, gc=False):
    """How full one window is: calls that it holds, nanoseconds until the next may come (0 where it may), and until it is empty."""

    window: Window
    used: int
    next_in: int
    empty_in: int


class _Slots:
    """The calls of one long window, in slots."""

    __slots__ = ("counts", "ends", "until", "used", "width")

    def __init__(self, span: int) -> None:
        self.width = span // _SLOTS
        self.until = _NEVER
        """When the newest slot ends."""
        self.ends: list[int] = []
        """The last call of each slot, and in `counts` how many it holds."""
        self.counts: list[int] = []
        self.used = 0

    def add(self, moment: int) -> None:
        self.used += 1
        if moment < self.until:
            # As old as its last call: such a window errs towards the stricter side (0019).
            self.ends[-1] = moment
            self.counts[-1] += 1
        else:
            self.until = moment + self.width
            self.ends.append(moment)
            self.counts.append(1)

    def take_back(self) -> None:
        if not self.counts:
            return
        self.used -= 1
        self.counts[-1] -= 1
        if not self.counts[-1]:
            self.counts.pop()
            self.ends.pop()
            self.until = _NEVER

    def since(self, moment: int) -> int:
        """How many calls are newer than `moment`; the others are forgotten."""
        gone = bisect_right(self.ends, moment)
        if gone:
            self.used -= sum(self.counts[:gone])
            del self.ends[:gone], self.counts[:gone]
        return self.used

    def newest(self, count: int) -> int:
        """The time of the `count`-th newest call, as late as its slot."""
        for end, held in zip(reversed(self.ends), reversed(self.counts), strict=True):
            count -= held
            if count <= 0:
                return end
        return _NEVER


class Usage:
    """The calls of one subject. All times are nanoseconds of one monotonic clock and never go back.

    Who counts calls takes one off `spare` and appends to `times`, while `spare` is above 0; else it has to `look`.
    `by` is whoever looked, so that others do not go on with what was spare under their windows.
    """

    __slots__ = ("_slots", "_told", "by", "spare", "times")

    def __init__(self) -> None:
        self.spare = 0
        self.times: list[int] = []
        """When calls came, oldest first: those of the exact windows, and what the slots do not have yet."""
        self.by: object = None
        self._slots: dict[int, _Slots] = {}
        self._told = 0
        """How many of `times` the slots have."""

    def look(self, windows: Windows, now: int) -> Full | None:
        """Count anew: fills `spare`, or says why there is none."""
        times = self.times
        spare, full = _SPARE, None
        for window in windows.exact:
            free = window.limit - len(times) + bisect_right(times, now - window.span)
            if free <= 0:
                full = _longer(full, window, times[-window.limit] - now, window.limit - free)
            elif free < spare:
                spare = free
        if windows.long or self._slots:
            spare, full = self._look_long(windows, now, spare, full)
        # Only every so often: cutting off the front of a list moves all the rest of it. What is cut off the slots have already.
        if len(times) > windows.most + _SPARE:
            del times[: bisect_right(times, now - windows.kept)]
            self._told = len(times)
        self.spare = 0 if full else spare
        return full

    def _look_long(
        self, windows: Windows, now: int, spare: int, full: Full | None
    ) -> tuple[int, Full | None]:
        self._fold(windows)
        for window in windows.long:
            slots = self._slots[window.span]
            free = window.limit - slots.since(now - window.span)
            if free <= 0:
                newest = slots.newest(window.limit)
                full = _longer(full, window, newest - now, window.limit - free)
            elif free < spare:
                spare = free
        return spare, full

    def standing(self, windows: Windows, now: int) -> list[Standing]:
        """How full each window is, for people; a call that comes meanwhile is judged by `look` alone."""
        times, found = self.times, []
        for window in windows.exact:
            start = bisect_right(times, now - window.span)
            held = times[start:]
            found.append(_standing(window, len(held), held[-window.limit :], now))
        if windows.long:
            self._fold(windows)
        for window in windows.long:
            slots = self._slots[window.span]
            used = slots.since(now - window.span)
            ends = [slots.newest(window.limit), slots.ends[-1]] if used else []
            found.append(_standing(window, used, ends, now))
        return found

    def take_back(self) -> None:
        """The newest call did not happen."""
        # It was counted in `times`, in the slots, or, where it was folded since, in both.
        self.spare += 1
        told = True
        if self.times:
            self.times.pop()
            told = self._told > len(self.times)
        if told:
            self._told = len(self.times)
            for slots in self._slots.values():
                slots.take_back()

    @property
    def last(self) -> int:
        """When the newest call was; long before everything where there is none."""
        return max(
            self.times[-1] if self.times else _NEVER,
            *(slots.ends[-1] for slots in self._slots.values() if slots.ends),
            _NEVER,
        )

    @property
    def held(self) -> int:
        """About how many calls it remembers."""
        return max(len(self.times), *(slots.used for slots in self._slots.values()), 0)

    def _fold(self, windows: Windows) -> None:
        """Tell the slots of the long windows what they have not heard yet."""
        long = {window.span for window in windows.long}
        for span in self._slots.keys() - long:
            del self._slots[span]
        for span in long:
            slots = self._slots.get(span)
            heard = self._told
            if slots is None:
                slots, heard = self._slots.setdefault(span, _Slots(span)), 0
            for moment in self.times[heard:]:
                slots.add(moment)
        self._told = len(self.times)


def _standing(window: Window, used: int, newest: Sequence[int], now: int) -> Standing:
    """`newest` are times of calls, oldest first: the last so many as the window lets in."""
    full = used >= window.limit and bool(newest)
    return Standing(
        window,
        used,
        max(0, newest[0] + window.span - now) if full else 0,
        max(0, newest[-1] + window.span - now) if newest else 0,
    )


def _longer(full: Full | None, window: Window, age: int, used: int) -> Full:
    """Of two windows without room the one that needs longer to get some; `age` is below 0."""
    wait = window.span + age
    return full if full is not None and full.wait >= wait else Full(window, wait, used)
