"""Tracks calls that wait for approval, and exempts a bounded number of repeats (polls) of each from the rate limits.

Theory. A call that waits was counted when it was asked, and its caller is told to repeat it. Such a repeat is a *look*: as long
as the call waits it costs nothing, and no limit refuses it, because what is used up by waiting would not be there for work. The
call that runs in the end is the one that was counted.

Looking is work as well, so it is free ten times at once and once a second after that, for each call that waits, and no more
than four looks may wait at the same time. What is beyond that is a call like any other: it is counted, and refused where a
limit says so. The queue bounds how many calls of one caller wait, each of which was counted; so nobody looks more often than
that many times a second without paying.

Where a caller was given a task to wait by, asking how that stands is a look at the call.

A look is known by what was asked in its own words (`audit.call_records.request_of`): that costs a digest, and only callers who
have something waiting pay it. What is forgotten, by a restart or by another spelling, is counted, and given back when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gatewright.audit.call_records import request_of
from gatewright.call import Call

__all__ = ["AT_ONCE", "EVERY_S", "HELD", "KEPT", "LOOK", "Polls"]

LOOK = "look_at"
"""The fact by which a look says which request for approval it looks at."""

AT_ONCE = 10
EVERY_S = 1.0
HELD = 4
KEPT = 10_000
"""So many callers are remembered before those are looked for of whom nothing waits any more."""

_Key = tuple[str, str, str, str]
_OF_TASKS = ("tasks/get", "tasks/result")


class _Waiting:
    """One call that waits. `due` is when its looks so far are paid off."""

    __slots__ = ("due", "ends", "held", "id")

    def __init__(self, id: str, ends: float) -> None:
        self.id = id
        self.ends = ends
        self.due = 0.0
        self.held = 0


class Polls:
    """`clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.waiting: dict[tuple[str, str], dict[_Key, _Waiting]] = {}
        """By caller, what waits; while nothing does, nobody need ask whether a call is a look at it (`free`)."""

    def free(self, call: Call) -> bool:
        """Whether this call is a look that costs nothing. Asked by everybody who counts; the first answer holds."""
        # Both gates that count ask: the second may not charge what the first found free.
        if LOOK in call.facts:
            return True
        if not self.waiting:
            return False
        mine = self.waiting.get((call.caller.kind, call.caller.id))
        if not mine:
            return False
        one, now = mine.get(_key(call)), self._clock()
        # Waiting repeats hold a request open each, so their number is bounded as well as their rate.
        if one is None or one.ends <= now or one.held >= HELD:
            return False
        due = max(one.due, now) + EVERY_S
        if due > now + AT_ONCE * EVERY_S:
            return False
        one.due = due
        call.facts[LOOK] = one.id
        return True

    def awaited(self, call: Call) -> bool:
        """Whether anything of its caller waits still, at which the call may be a look (`free`)."""
        mine = self.waiting.get((call.caller.kind, call.caller.id))
        if not mine:
            return False
        now = self._clock()
        return any(one.ends > now for one in mine.values())

    @contextmanager
    def held(self, call: Call, id: str, lasts_s: float) -> Iterator[bool]:
        """The call waits as the request `id`, for `lasts_s` seconds at most; whether it is the first that does."""
        whose, key = (call.caller.kind, call.caller.id), _key(call)
        one = self.waiting.get(whose, {}).get(key)
        first = one is None or one.id != id
        if one is None or first:
            self._sweep(whose)
            one = _Waiting(id, self._clock() + lasts_s)
            self.waiting.setdefault(whose, {})[key] = one
        one.held += 1
        try:
            yield first
        finally:
            one.held -= 1

    def over(self, call: Call) -> None:
        """The call waits no longer, because it runs or was denied: what comes now is another one."""
        whose = call.caller.kind, call.caller.id
        mine = self.waiting.get(whose, {})
        mine.pop(_key(call), None)
        if not mine:
            self.waiting.pop(whose, None)

    def _sweep(self, whose: tuple[str, str]) -> None:
        """Forget what has ended: of this caller, and of all where there are many."""
        now = self._clock()
        every = [*self.waiting] if len(self.waiting) >= KEPT else [whose]
        for caller in every:
            left = {key: one for key, one in self.waiting.get(caller, {}).items() if one.ends > now}
            if left:
                self.waiting[caller] = left
            else:
                self.waiting.pop(caller, None)


def _key(call: Call) -> _Key:
    """What was asked, in its caller's own words. How a task stands is one question, however it is put."""
    if call.method in _OF_TASKS:
        return "", "tasks", str(call.params.get("taskId")), ""
    # The arguments may have been changed on the way; a repeat is known by what the caller wrote.
    sanitized = call.facts.get("sanitized")
    if sanitized is not None:
        digest = str(sanitized["original_digest"])
    else:
        asked = request_of(call)
        digest = "" if asked is None else asked.digest
    return call.profile, call.method, call.name, digest
