"""`Line`: pieces of event-loop work done one after another, each in slices of milliseconds; weighs what waits, so that it can be bounded.

For what many are told: thousands of listeners are told of one thing in slices, and each of them hears what was said first before what
was said next.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Generator, Hashable

from gatewright.transport.slices import AT_ONCE, begun, whole

__all__ = ["WAITING_MOST", "Line"]

log = logging.getLogger("gatewright.transport")

WAITING_MOST = 64 * 1024 * 1024
"""How much may wait for the sake of one, before there is no `room` for more of it. What it is measured in is for whoever puts it there."""

_Steps = Generator[None, None, object]


class Line:
    """Complete without a running loop as long as all that is put there is `few`."""

    def __init__(self, most: int = WAITING_MOST) -> None:
        self._most = most
        self._waiting: deque[tuple[_Steps, Hashable, int]] = deque()
        self._weights: Counter[Hashable] = Counter()
        self._going = False

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting or being done."""
        return not self._going

    def room(self, whose: Hashable) -> bool:
        """Whether more may be put there for its sake; one piece always may, however heavy."""
        return self._weights[whose] < self._most

    def put(self, steps: _Steps, number: int, whose: Hashable = None, weight: int = 0) -> None:
        """Do these steps, so many, behind all that was put there before. A first slice is done at once where nothing was; and all of
        them, where they are few."""
        if not self._going and number <= AT_ONCE:
            self._going = True  # what it leads to is behind it
            try:
                self._done(steps)
            finally:
                self._going = False
            if not self._waiting:
                return
        else:
            self._waiting.append((steps, whose, weight))
            self._weights[whose] += weight
        if not self._going:
            self._going = True
            begun(self._all())

    @staticmethod
    def _done(steps: _Steps) -> None:
        try:
            whole(steps)
        except Exception:
            log.exception("what was to be done in order failed")

    def _all(self) -> Generator[None, None, None]:
        try:
            while self._waiting:
                steps, whose, weight = self._waiting.popleft()
                try:
                    yield from steps
                except Exception:
                    log.exception("what was to be done in order failed")
                self._weights[whose] -= weight
                if self._weights[whose] <= 0:
                    del self._weights[whose]
        finally:
            self._going = False
