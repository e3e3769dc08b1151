"""What work costs in processor time of this thread, and by how much more the larger of two costs.

Processor time is nearly the same on a busy machine; what a busy machine adds is taken out by the median of several turns, and the least
of several tries. Ratios are compared and not seconds, so that nothing depends on how fast the machine is.

Of work that is mostly memory (a set of thousands) what the system takes to give it is measured, in steps: there, count.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from math import inf, sqrt
from pathlib import Path
from statistics import median
from types import FrameType, ModuleType
from typing import Any

__all__ = ["DOUBLED", "cost", "grows", "growth", "least", "lines_run", "queued_ms", "queued_since"]

Work = Callable[[], object]

DOUBLED = 2.3
"""By how much work may cost more whose input is twice as long, when it is linear."""
MEASURABLE_S = 0.004
"""Processor time below which the clock and the caches of the machine say more than the work."""
_REPEATED_S = 0.001
"""How long work is done again and again that takes less time; in each further try twice as long as in the one before."""
_FEWEST, _SOON_S = 7, 0.05
"""Turns before anything is said, of work that takes less time: one that was slow for the small work alone would hide growth."""
_TURNS, _LONG_S = 16, 0.5
"""How many turns a try may have, and the time after which it gets no more."""
_TRIES = 4


def cost(work: Work, times: int = 1) -> float:
    """Processor seconds of doing it once, of so many in a row, without the garbage collector: it looks at what earlier tests have
    left."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time()
        for _ in range(times):
            work()
        return (time.thread_time() - begun) / times
    finally:
        if collecting:
            gc.enable()


def _measured(work: Work, repeated_s: float) -> tuple[int, float]:
    """How often work has to be done in a row to be measured, on a machine as fast as this one, and what it costs once. Work that was
    held up the first time would be done too seldom."""
    times = 1
    while True:
        found = cost(work, times)
        if found * times < _SOON_S:
            found = min(found, cost(work, times))
        if found * times >= repeated_s:
            return times, found
        times *= 2 if found * times * 4 > repeated_s else 4


def grows(small: Work, large: Work, most: float = DOUBLED**2) -> float:
    """How many times the large work costs what the small one does. Where it is more than `most` (for work four times as large,
    unless another is given), all is tried again, and the least counts: what others do to a machine goes by, and work that grows
    faster than its size does so every time."""
    least = inf
    for number in range(_TRIES):
        least = min(least, _tried(small, large, most, _REPEATED_S * 2**number))
        if least <= most:
            break
    return least


def _tried(small: Work, large: Work, most: float, repeated_s: float) -> float:
    """The median of turns, which are added while it is more than `most`, each of the large work between two of the small one. Least
    costs would be of other moments: a core whose neighbour is busy takes nearly twice as long for all, for some tenths of a second."""
    times_large, of_large = _measured(large, repeated_s)
    times_small, of_small = _measured(small, repeated_s)
    spent = of_large * times_large + of_small * times_small
    turns = [of_large / of_small] if spent > _SOON_S else []
    while True:
        enough = len(turns) >= _FEWEST or spent > _SOON_S
        if turns and enough and (median(turns) <= most or len(turns) >= _TURNS or spent > _LONG_S):
            return median(turns)
        before, of_large, of_small = of_small, cost(large, times_large), cost(small, times_small)
        turns.append(2 * of_large / (before + of_small))
        spent += of_large * times_large + of_small * times_small


def least(tried: Callable[[], float], most: float) -> float:
    """The least of up to four tries, of which there are no more once one is at most `most`: what others do to a machine goes by."""
    found = tried()
    for _ in range(_TRIES - 1):
        if found <= most:
            break
        found = min(found, tried())
    return found


def growth(work: Callable[[bytes], object], texts: Iterable[bytes]) -> list[float]:
    """By how much the cost of a text twice as long is more, twice in a row, from the first length on at which it can be measured by
    itself. Texts come whole, so that none is exactly twice as long: what is said is of one that were. A step is no growth: what is
    read once more from some length on costs more there, and no more than that from half of it to twice. Empty where all cost too
    little."""
    found: list[float] = []
    former: bytes | None = None
    for less, more in pairwise(texts):
        small, large, before = partial(work, less), partial(work, more), former
        former = less
        if not found and any(cost(small) < MEASURABLE_S for _ in range(3)):
            continue
        longer = len(more) / len(less) / 2
        ratio = grows(small, large, DOUBLED * longer) / longer
        if ratio > DOUBLED and before is not None:
            longer = len(more) / len(before) / 4
            ratio = min(
                ratio, sqrt(grows(partial(work, before), large, DOUBLED**2 * longer) / longer)
            )
        found.append(ratio)
        if len(found) == 2:
            break
    return found


def queued_ms(*processes: int) -> dict[str, float]:
    """How many milliseconds each thread of these processes, and of those that they have started, has waited for a processor so far:
    what other programs of the machine keep them waiting. All threads, because a call waits for the server behind the gateway as well, and
    for a thread that has the interpreter and no processor. Nothing where the system does not say (`/proc/PID/task/TID/schedstat` of
    Linux, in nanoseconds)."""
    found: dict[str, float] = {}
    open_ = [*processes]
    while open_:
        for task in Path(f"/proc/{open_.pop()}/task").glob("*"):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                waited = int((task / "schedstat").read_text(encoding="ascii").split()[1]) / 1e6
                found[task.name] = waited
                open_ += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def queued_since(before: Mapping[str, float], *processes: int) -> float:
    """How many milliseconds those threads have waited since `queued_ms` said `before`. Each by itself: a thread that has ended
    takes what it had waited along, and the sum of all would be less than before."""
    now = queued_ms(*processes)
    return sum(max(0.0, waited - before.get(task, 0.0)) for task, waited in now.items())


def lines_run(modules: ModuleType | tuple[ModuleType, ...], work: Work) -> int:
    """How many lines of these modules' Python run: loops are seen, built-in functions that go through a text are one line. Lines of
    others are not looked at: to be told of them would cost more than they do."""
    files = {one.__file__ for one in (modules if isinstance(modules, tuple) else (modules,))}
    count = 0

    def line(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def called(frame: FrameType, _event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
