"""`Watchdog` of the event loop: counts stalls and logs long ones; a thread samples the loop's stack to name the call and function.

A timer on the loop notes when it is called; how much later than it asked for is how long everybody had to wait. Where a beat is missing
for too long, a thread reads the stack of the loop's thread once: the innermost place of ours says what is done, the kernel's frame
for which call. Twenty timers a second and nothing on the way of a call. Where the machine is so busy that the loop's thread waits for
a processor, that is no work of ours: it is counted, since everybody waits, but not logged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from types import FrameType

import msgspec

from gatewright.call import Call
from gatewright.kernel import Kernel

__all__ = ["BOUNDS", "Stall", "Watchdog", "place_of"]

log = logging.getLogger("gatewright.watchdog")

BOUNDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Seconds at most, of each bucket but the last."""
_TICK_S = 0.05
_LEAST_S = 0.01
"""Shorter ones are no stalls: every process waits as long for its turn."""
_QUIET_S = 1.0
_WALK = Kernel.walk.__code__


class Stall(msgspec.Struct, frozen=True):
    """One time that the loop stood still: when it ended (seconds since 1970), how long, and in what, as far as it was seen;
    `processor_s` of it on a processor, `queued_s` waiting for one."""

    at: float
    seconds: float
    processor_s: float
    queued_s: float = 0.0
    place: str = ""


class Watchdog:
    """Watches the loop that it is started on."""

    def __init__(self, threshold_s: float) -> None:
        """Stalls of so many seconds are logged."""
        self._threshold_s = threshold_s
        self.counts = [0] * (len(BOUNDS) + 1)
        """Stalls by how long they were, for each of `BOUNDS` and the rest."""
        self.stalled_s = 0.0
        self.longest: Stall | None = None
        self._last = self._spent = self._queued = 0.0
        self._schedstat = -1
        self._logged = float("-inf")
        self._seen: tuple[float, str] = (0.0, "")
        self._stop = threading.Event()
        self._begun = False

    def start(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._owner = threading.get_ident()
        self._schedstat = _opened()
        self._last, self._spent, self._queued = time.monotonic(), time.thread_time(), self._waited()
        self._timer = self._loop.call_later(_TICK_S, self._beat)
        self._thread = threading.Thread(target=self._look, name="gatewright-watchdog", daemon=True)
        self._thread.start()
        self._begun = True

    def adopt(self, threshold_s: float) -> None:
        """From now on those of so many seconds are logged."""
        self._threshold_s = threshold_s

    def close(self) -> None:
        """End, begun or not."""
        if not self._begun or self._stop.is_set():
            return
        self._stop.set()
        self._timer.cancel()
        self._thread.join()
        if self._schedstat >= 0:
            os.close(self._schedstat)
            self._schedstat = -1

    def _waited(self) -> float:
        """Seconds that the loop's thread has waited for a processor so far; 0.0 where the system does not say."""
        if self._schedstat < 0:
            return 0.0
        return int(os.pread(self._schedstat, 100, 0).split()[1]) / 1e9

    def _beat(self) -> None:
        now, spent, queued = time.monotonic(), time.thread_time(), self._waited()
        late = now - self._last - _TICK_S
        if late >= _LEAST_S:
            self._note(late, spent - self._spent, queued - self._queued)
        self._last, self._spent, self._queued = now, spent, queued
        self._timer = self._loop.call_later(_TICK_S, self._beat)

    def _note(self, late: float, spent: float, queued: float) -> None:
        at, place = self._seen
        found = Stall(time.time(), late, spent, queued, place if at == self._last else "")
        self.counts[sum(late > one for one in BOUNDS)] += 1
        self.stalled_s += late
        if self.longest is None or late > self.longest.seconds:
            self.longest = found
        now = time.monotonic()
        if late - queued < self._threshold_s or now - self._logged < _QUIET_S:
            return
        self._logged = now
        log.warning(
            "the event loop stood still for %.0f ms (%.0f ms on a processor, %.0f ms waiting for one): %s",
            late * 1000,
            spent * 1000,
            queued * 1000,
            found.place or "nobody saw in what",
        )

    def _look(self) -> None:
        """What the thread does."""
        while not self._stop.wait(_TICK_S):
            last = self._last
            missing = time.monotonic() - last - _TICK_S
            if missing >= self._threshold_s / 2 and self._seen[0] != last:
                place = self._place()
                # Else the loop went on meanwhile, and the stack is that of something else.
                if self._last == last:
                    self._seen = last, place

    def _place(self) -> str:
        # The stack goes on while it is read, and CPython 3.11 was seen to give something else for the frame behind one. Nobody would be told
        # of any further stall.
        try:
            return place_of(sys._current_frames().get(self._owner))
        except Exception:
            log.debug("the stack of the loop's thread could not be read", exc_info=True)
            return ""


def _opened() -> int:
    """This thread's scheduling statistics: time on a processor, and in the queue for one, in nanoseconds (Linux); -1 without."""
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def place_of(frame: FrameType | None) -> str:
    """Where a stack is: for which call, where one is on its way, and in which function of ours."""
    inner, call = "", None
    while frame is not None and call is None:
        module = str(frame.f_globals.get("__name__", ""))
        if not inner and module.startswith("gatewright."):
            inner = f"{module}:{frame.f_code.co_name}"
        if frame.f_code is _WALK:
            call = frame.f_locals.get("call")
        frame = frame.f_back
    return f"in {inner or 'no code of ours'}" + (_told(call) if isinstance(call, Call) else "")


def _told(call: Call) -> str:
    named = call.name if call.target is None else f"{call.target.server}/{call.target.name}"
    said = f"{call.method} {named}"[:200]
    return (
        f", call {call.id} (trace {call.trace_id}, caller {ascii(call.caller.id)[:100]}): {said!a}"
    )
