"""`EventRate`: rate limit on one MGP server's events, half split among subscriptions, half common; counts dropped events.

Half of the rate is divided among the subscriptions, so that who subscribes to a loud channel makes nobody deaf to a rare one. The
other half is for whoever comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from gatewright.events.channels import LONGEST_NAME
from gatewright.events.early_events import Ident

__all__ = ["BURST", "RATE", "UNKNOWN_MOST", "EventRate"]

RATE, BURST = 100, 500
"""Events of one server a second, and at once after a pause. What is more nobody hears: it would wash out of what is kept
whatever else there is, and everybody pays for it."""
UNKNOWN_MOST = 256
"""Subscriptions that nobody has asked for, as it seems, of which is counted what is dropped: servers say what ids they like."""


class _Bucket(msgspec.Struct):
    at: float
    left: float

    def takes(self, now: float, rate: float, most: float) -> bool:
        self.left = min(most, self.left + (now - self.at) * rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class EventRate:
    """What one server may say now. Times are monotonic seconds."""

    def __init__(self, now: float) -> None:
        self._common = _Bucket(now, BURST)
        self._own: dict[Ident, _Bucket] = {}
        self.dropped: Counter[Ident] = Counter()
        """Events of each subscription that were left out since the last one that was passed on."""

    def share(self, now: float, idents: Collection[Ident]) -> None:
        """These are its subscriptions from now on. One that is new begins with a single event: who asks anew gets no new burst."""
        for gone in self._own.keys() - idents:
            del self._own[gone]
            self.dropped.pop(gone, None)
        for one in idents:
            if one not in self._own:
                self._own[one] = _Bucket(now, 1)

    def takes(self, now: float, ident: Ident, *, room: bool = True) -> bool:
        """Whether it may say something of a subscription now; counts it where it may not. There is no `room` where what it has said is
        still being told."""
        own = self._own.get(ident)
        half = RATE / 2
        if room and own is not None:
            rate = half / len(self._own)
            if own.takes(now, rate, max(1.0, rate)):
                return True
        if room and self._common.takes(now, half, BURST - half):
            return True
        if own is not None or ident in self.dropped or self._counts(ident):
            self.dropped[ident] += 1
        return False

    def _counts(self, ident: Ident) -> bool:
        return len(self.dropped) < UNKNOWN_MOST and len(str(ident)) <= LONGEST_NAME
