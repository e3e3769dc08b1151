"""What work costs in processor time of this thread, and by how much more the larger of two costs.

Processor time is nearly the same on a busy machine; what a busy machine adds is taken out by the least of several turns. Ratios
are compared and not seconds, so that nothing depends on how fast the machine is.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["DOUBLED", "cost", "grows", "queued_ms"]

Work = Callable[[], object]

DOUBLED = 2.3
"""By how much work may cost more whose input is twice as long, when it is linear."""
_MEASURABLE_S = 0.004
_TURNS = 12


def cost(work: Work) -> float:
    """Processor seconds of one turn, without the garbage collector: it looks at what earlier tests have left."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun
    finally:
        if collecting:
            gc.enable()


def grows(small: Work, large: Work, most: float = DOUBLED**2) -> float:
    """How many times the large work costs what the small one does, or 1 where both cost too little to tell. Where it is more than
    `most` (for work four times as large, unless another is given), turns are added, and what counts is the least cost of each."""
    of_large = cost(large)
    if of_large < _MEASURABLE_S:
        return 1.0
    of_small = cost(small)
    for _ in range(_TURNS):
        if of_large <= most * of_small:
            break
        of_small, of_large = min(of_small, cost(small)), min(of_large, cost(large))
    return of_large / of_small


def queued_ms(*processes: int) -> float:
    """How many milliseconds the main threads of these processes have waited for a processor so far: what other programs of the
    machine keep them waiting. 0 where the system does not say (`/proc/PID/schedstat` of Linux, in nanoseconds)."""
    found = 0.0
    for pid in processes:
        said = Path(f"/proc/{pid}/schedstat")
        if said.exists():
            found += int(said.read_text(encoding="ascii").split()[1]) / 1e6
    return found
