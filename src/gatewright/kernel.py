"""The one way through. Every call of every door is walked here, and nowhere else.

Gates may only refuse or add facts; filters may only clean. The record is owned by `handle`,
outside everything that can fail, so that no refusal, crash or cancellation escapes it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from gatewright.call import (
    Back,
    Call,
    Event,
    Failure,
    Filter,
    Gate,
    Outcome,
    Question,
    Refusal,
)

__all__ = ["Audit", "Dispatch", "Kernel", "Trail", "Unrecorded"]

log = logging.getLogger("gatewright.kernel")


class Unrecorded(Exception):  # noqa: N818 - the promise it names: no record, no call
    """The trail cannot be written. Raised by `Audit.open` and `Trail.intent`."""


class Trail(Protocol):
    """The record of one call."""

    def intent(self, call: Call) -> None:
        """Write down that the call is about to be forwarded. Raises `Unrecorded`."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        """Write the end down and return what the caller may see: `outcome`, or a refusal when
        it could not be recorded. Never awaits, so a cancellation cannot skip it."""

    async def settled(self) -> None:
        """Return once the record is as durable as the configuration promises."""


class Audit(Protocol):
    """Where trails come from."""

    def open(self, call: Call) -> Trail:
        """Begin the record of one call. Raises `Unrecorded`."""


class Dispatch(Protocol):
    """Where a call goes once every gate has let it pass."""

    async def __call__(self, call: Call, back: Back) -> Outcome: ...


class _Filtered:
    """A `Back` whose events pass the filters; questions pass as they are."""

    __slots__ = ("_back", "_call", "_filters")

    def __init__(self, call: Call, back: Back, filters: Sequence[Filter]) -> None:
        self._call = call
        self._back = back
        self._filters = filters

    def emit(self, event: Event) -> None:
        for one in self._filters:
            cleaned = one.event(self._call, event)
            if cleaned is None:
                return
            event = cleaned
        self._back.emit(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        return await self._back.ask(question)


class Kernel:
    """Gates, dispatch, filters and record, in this order, for every call."""

    def __init__(
        self,
        gates: Sequence[Gate],
        dispatch: Dispatch,
        filters: Sequence[Filter],
        audit: Audit,
    ) -> None:
        self._gates = tuple(gates)
        self._dispatch = dispatch
        self._filters = tuple(filters)
        self._audit = audit

    async def handle(self, call: Call, back: Back) -> Outcome:
        """Walk one call to its end. Never raises, except for the cancellation of its task."""
        try:
            trail = self._audit.open(call)  # no record, no call
        except Unrecorded as problem:
            return Refusal("audit_unavailable", str(problem))
        outcome: Outcome = Failure("cancelled", "the call was cancelled")  # if never resumed
        try:
            call, outcome = await self._walk(call, back, trail)
        except Unrecorded as problem:
            outcome = Refusal("audit_unavailable", str(problem))
        except Exception:
            log.exception("call %s broke the kernel", call.id)
            outcome = Failure("internal", "internal error; the details are in the gateway's log")
        finally:
            outcome = trail.close(call, outcome)
        await trail.settled()
        return outcome

    async def _walk(self, call: Call, back: Back, trail: Trail) -> tuple[Call, Outcome]:
        for gate in self._gates:
            verdict = await gate(call, back)
            if type(verdict) is Refusal:
                return call, verdict
            call = verdict  # type: ignore[assignment]
        trail.intent(call)
        outcome = await self._dispatch(call, _Filtered(call, back, self._filters))
        for one in self._filters:
            outcome = one.outcome(call, outcome)
        return call, outcome
