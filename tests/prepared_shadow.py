"""`Shadow`: test mode of prepared calls: makes each by the full pipeline, and fails it where call, facts or result differ from the prepared.

A gate behind all others and a filter on each side of all others look on. A difference breaks the call, and stands in `differences`.
"""

from __future__ import annotations

import logging

from gatewright.call import Answer, Back, Call, Event, Outcome, Refusal
from gatewright.call_policy import Policy
from gatewright.prepared import Prepared, PreparedCalls
from gatewright.standing import NOTHING, Standing

__all__ = ["Shadow"]

log = logging.getLogger("gatewright.kernel")

_ITS_OWN = frozenset(("id", "trace_id"))
_KEPT = 1000
_COUNTED = frozenset(("rate_limited", "quota_exceeded"))
"""What counts calls says last whether there is room, and is not asked twice about one that takes the walk."""


class Shadow:
    """Of one kernel. It is a gate, the last one; `first` and `last` are filters."""

    name = "shadow"

    def __init__(self, prepared: PreparedCalls) -> None:
        self.differences: list[str] = []
        self.compared = 0
        """How many calls were."""
        self._meant: dict[tuple[int, bytes], tuple[Prepared, Call]] = {}
        self._walking: dict[str, Prepared] = {}
        self._raw: dict[str, tuple[bytes, bool]] = {}
        self.first, self.last = _First(self), _Last(self)
        prepared.compare = self._take

    def around(self, policy: Policy) -> Policy:
        """The same policy, looked on."""
        seen = Policy(
            (*policy.gates, self), policy.dispatch, (self.first, *policy.filters, self.last)
        )
        seen.way = policy.way
        return seen

    def _take(self, prepared: Prepared, call: Call) -> None:
        if len(self._meant) >= _KEPT:
            self._meant.clear()
        self._meant[id(call.client), call.request] = prepared, call

    def stands(self, call: Call) -> Standing:
        """It says nothing."""
        return NOTHING

    def __call__(self, call: Call, back: Back) -> Call:
        """Compare a call that has passed every gate. Raises `RuntimeError`."""
        found = self._compared(call)
        if found is not None:
            prepared, meant = found
            for name in call.__struct_fields__:
                if name not in _ITS_OWN and getattr(meant, name) != getattr(call, name):
                    self.differs(f"{name}: {getattr(meant, name)!r} and {getattr(call, name)!r}")
            if [*meant.facts.items()] != [*call.facts.items()] or meant.tool is not call.tool:
                self.differs(f"facts: {meant.facts!r} and {call.facts!r}")
            self.compared += 1
            self._walking[call.id] = prepared
        return call

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        """A call has ended (`kernel.Ended`): one that was refused should not have been sent."""
        self._walking.pop(call.id, None)
        self._raw.pop(call.id, None)
        found = self._compared(call)
        counted = type(outcome) is Refusal and outcome.reason in _COUNTED
        if found is not None and not counted:
            self.differs(f"sent, and the walk says {outcome!r}")

    def _compared(self, call: Call) -> tuple[Prepared, Call] | None:
        """What a call that is walked would have been; None where what that rests on changed on the way: they answer for another time."""
        found = self._meant.pop((id(call.client), call.request), None)
        return found if found is not None and found[0].holds() else None

    def came(self, call: Call, outcome: Outcome) -> None:
        """Note a result as its server gave it."""
        prepared = self._walking.get(call.id)
        if prepared is not None and type(outcome) is Answer:
            plain = prepared.is_plain(outcome.raw)
            self._raw[call.id] = outcome.raw, plain
            if plain and outcome != Answer(outcome.raw):
                self.differs(f"{outcome!r} is not plain")

    def leaves(self, call: Call, outcome: Outcome) -> None:
        """Compare a result as its caller sees it."""
        raw, plain = self._raw.pop(call.id, (b"", False))
        if plain and (type(outcome) is not Answer or outcome.raw != raw):
            self.differs(f"a plain result became {outcome!r}")

    def differs(self, what: str) -> None:
        """Note a difference, and raise `RuntimeError`."""
        self.differences.append(what)
        log.error("prepared and walked calls differ: %s", what)
        raise RuntimeError(f"prepared and walked calls differ: {what}")


def _watch(prepared: PreparedCalls) -> Shadow | None:
    return Shadow(prepared) if prepared.mode == "shadowed" else None


PreparedCalls.watch = staticmethod(_watch)


class _Filter:
    name = "shadow"

    def stands(self, call: Call) -> Standing:
        return NOTHING

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def event(self, call: Call, event: Event) -> Event:
        return event


class _First(_Filter):
    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        self._shadow.came(call, outcome)
        return outcome


class _Last(_Filter):
    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        self._shadow.leaves(call, outcome)
        return outcome
