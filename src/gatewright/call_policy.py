"""`Policy`: gates, dispatch, filters of one configuration; protocols of gates asked again after a wait; `CLOSED`: refuses all at start."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Event, Failure, Filter, Gate, Outcome, Refusal

__all__ = [
    "BROKEN",
    "CLOSED",
    "OUTCOMES",
    "UNCLEANED",
    "Dispatch",
    "Easing",
    "Holding",
    "Judge",
    "Policy",
    "Since",
    "refused",
]

log = logging.getLogger("gatewright.kernel")


class Dispatch(Protocol):
    """Where a call goes once every gate has let it pass."""

    async def __call__(self, call: Call, back: Back) -> Outcome: ...


@runtime_checkable
class Judge(Protocol):
    """A gate that can be asked again about a call which has passed it."""

    name: str

    def judge(self, call: Call) -> Refusal | None:
        """Why the call would not pass now; None where it would."""


@runtime_checkable
class Since(Protocol):
    """A gate that is asked about a call which has waited in a gate."""

    def since(self, call: Call) -> Refusal | None:
        """Why it may not go on as things stand now; None where it may."""


class Easing(Gate, Protocol):
    """A gate that needs long to judge large arguments, once another gate has changed them."""

    def eased(self, call: Call) -> Call | Awaitable[Call]:
        """The call with what `judge` then finds at hand; nothing is decided by it."""


class Holding(Protocol):
    """A filter that holds some of what a call sends back until it knows what follows."""

    def rest(self, call: Call) -> Event | None:
        """What it still held when the call has ended, as the caller may see it. Asked exactly once for each call that has sent
        anything besides its answer."""


OUTCOMES = (Answer, Refusal, Failure)
UNCLEANED = Failure("internal", "internal error; the details are in the gateway's log")
"""In place of an outcome that a filter broke at."""

BROKEN = Refusal("internal", "whether it may go on cannot be told; see the gateway's log")


def refused(judges: Sequence[Judge], call: Call) -> Refusal | None:
    """Why one of these gates would not let pass now a call that it has let pass; None where each would."""
    for judge in judges:
        try:
            refusal = judge.judge(call)
        except Exception:  # this call ends, and the others are judged
            log.exception("%s broke when it was asked again about call %s", judge.name, call.id)
            refusal = BROKEN
        if refusal is not None:
            return refusal if refusal.gate else replace(refusal, gate=judge.name)
    return None


def _those_with(parts: Sequence[object], method: str) -> Any:
    """Those that have the method of a protocol. `isinstance` asks the same, and takes 2 % of a start for it."""
    return tuple(one for one in parts if hasattr(one, method))


class Policy:
    """What one configuration does with a call, from the first gate to the last filter. Never changed: a
    call holds on to the one it began with, so the last call of it lets go of it."""

    __slots__ = (
        *("__weakref__", "_of", "_since", "dispatch", "easing", "filters", "gates", "holding"),
        *("judges", "way"),
    )

    def __init__(
        self, gates: Sequence[Gate], dispatch: Dispatch, filters: Sequence[Filter]
    ) -> None:
        self.gates = tuple(gates)
        self.judges: tuple[Judge, ...] = _those_with(self.gates, "judge")
        self.easing: tuple[Easing, ...] = _those_with(self.gates, "eased")
        self._since: tuple[Since, ...] = _those_with(self.gates, "since")
        self.dispatch = dispatch
        self._of: Policy | None = None
        """What this is the rest of: it is there as long as a call of it runs."""
        self.way: Callable[[Call], Any] | None = None
        """Of a call that every gate has let pass: the way that all calls like it go (`prepared.Line`), or None."""
        self.filters = tuple(filters)
        self.holding: tuple[Holding, ...] = _those_with(self.filters, "rest")

    def rest(self, dispatch: Dispatch) -> Policy:
        """What is left of it to do with a call that was sent already, whose answer `dispatch` waits for."""
        rest = Policy((), dispatch, self.filters)
        rest.judges, rest.easing, rest._since, rest._of = (
            self.judges,
            self.easing,
            self._since,
            self,
        )
        return rest

    def refused_since(self, call: Call) -> Refusal | None:
        """Why a call that every gate has let pass, and that has waited in one, may not go on as things stand now; None where it may."""
        found = refused(self.judges, call)
        if found is not None:
            return found
        return next(filter(None, (gate.since(call) for gate in self._since)), None)

    def cleaned(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome as its caller may see it. To be awaited only where a filter needs time for it."""
        try:
            for one in self.filters:
                said = one.outcome(call, outcome)
                if said is outcome:  # most filters find nothing
                    continue
                if not isinstance(said, OUTCOMES):
                    return self._slowly(call, said, one)
                outcome = said
        except Exception:
            log.exception("a filter broke at the outcome of call %s", call.id)
            return UNCLEANED
        return outcome

    async def _slowly(self, call: Call, cleaned: Awaitable[Outcome], by: Filter) -> Outcome:
        """The same, once the filter `by` is done."""
        try:
            outcome = await cleaned
            for one in self.filters[self.filters.index(by) + 1 :]:
                said = one.outcome(call, outcome)
                outcome = said if isinstance(said, OUTCOMES) else await said
        except Exception:
            log.exception("a filter broke at the outcome of call %s", call.id)
            return UNCLEANED
        return outcome

    def held(self, call: Call) -> list[Event] | None:
        """What the filters still held of a call that has ended; None where one of them broke."""
        try:
            return [event for one in self.holding if (event := one.rest(call)) is not None]
        except Exception:
            log.exception("a filter broke at the end of call %s", call.id)
            return None


class _Starting:
    """Refuses every call."""

    name = "starting"

    def __call__(self, call: Call, back: Back) -> Refusal:
        return Refusal("server_not_ready", "the gateway is starting", gate=self.name)


# Never reached behind `_Starting`; a policy needs a dispatch, and this one says for certain that nothing was sent.
async def _nowhere(call: Call, back: Back) -> Outcome:
    return Failure("upstream_unavailable", "the gateway is starting", {"sent": False})


CLOSED: tuple[Sequence[Gate], Dispatch, Sequence[Filter]] = ((_Starting(),), _nowhere, ())
"""For a kernel that has no configuration yet: it refuses every call."""
