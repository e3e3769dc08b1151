"""How often may one caller call? A limit on calls a minute, spread evenly after the first minute's worth.

Theory (GCRA, the generic cell rate algorithm): per caller one number is kept, the time at which its
calls so far would all be paid for at one call per `step`. A call that would put this time more than
a minute ahead is refused, and the excess is exactly how long to wait. A refused call costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Back, Call, Refusal

__all__ = ["Rate"]

_MINUTE = 60_000_000_000
_SWEEP_AT = 1024


class Rate:
    """Gate `rate`. Whole nanoseconds, so that the wait it names is exact."""

    name = "rate"

    def __init__(self, calls_per_minute: int | None, clock_ns: Callable[[], int]) -> None:
        """`calls_per_minute` counts for each caller by itself; None is no limit.
        `clock_ns` is monotonic nanoseconds."""
        self._limit = calls_per_minute
        self._step = 0 if calls_per_minute is None else _MINUTE // calls_per_minute
        self._ahead = 0 if calls_per_minute is None else self._step * (calls_per_minute - 1)
        self._clock = clock_ns
        self._paid: dict[str, int] = {}
        self._sweep_at = _SWEEP_AT

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        if self._limit is None:
            return call
        now = self._clock()
        who = call.caller.id
        paid = self._paid.get(who, now)
        ahead = paid - now
        if ahead > self._ahead:
            return self._refuse(self._limit, ahead)
        self._paid[who] = (paid if ahead > 0 else now) + self._step
        if len(self._paid) > self._sweep_at:
            self._sweep(now)
        return call

    def _refuse(self, limit: int, ahead: int) -> Refusal:
        wait_ms = -(-(ahead - self._ahead) // 1_000_000)
        return Refusal(
            "rate_limited",
            f"Rate limited: {limit} calls per minute exceeded; the next one may come in {wait_ms} ms",
            {"limit": limit, "window_secs": 60, "current": -(-ahead // self._step) + 1},
            wait_ms,
        )

    def _sweep(self, now: int) -> None:
        """Forget callers who owe nothing: for the limiter they are new callers."""
        self._paid = {who: paid for who, paid in self._paid.items() if paid > now}
        self._sweep_at = max(_SWEEP_AT, 2 * len(self._paid))
