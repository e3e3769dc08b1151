"""The one way through. Every call of every door is walked here, and nowhere else.

Gates may only refuse or add facts; filters may only clean. The record is owned by `handle`,
outside everything that can fail, so that no refusal, crash or cancellation escapes it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec.structs import replace

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
    Unrecorded,
)

__all__ = ["Audit", "Dispatch", "Kernel", "Trail"]

log = logging.getLogger("gatewright.kernel")


class Trail(Protocol):
    """The record of one call."""

    def intent(self, call: Call) -> bool:
        """Write down that the call is about to be forwarded. Raises `Unrecorded`.

        True where `on_disk` has to be awaited before the call may be forwarded.
        """

    async def on_disk(self) -> None:
        """Return once everything written so far would survive a power cut. Raises `Unrecorded`."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        """Write the end down and return what the caller may see: `outcome`, or a refusal when
        it could not be recorded. Never awaits, so a cancellation cannot skip it."""

    async def settled(self) -> None:
        """Return once the record is as durable as the configuration promises.

        Raises `Unrecorded`.
        """


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


def _unrecorded(call: Call, problem: Exception) -> Refusal:
    """The end of a call that cannot be recorded."""
    if isinstance(problem, Unrecorded):
        return Refusal("audit_unavailable", str(problem))
    log.error("the record of call %s broke", call.id, exc_info=problem)
    return Refusal("audit_unavailable", "the audit trail is broken; see the gateway's log")


def _close(trail: Trail, call: Call, outcome: Outcome) -> Outcome:
    try:
        return trail.close(call, outcome)
    except Exception as problem:  # noqa: BLE001 - nobody may see what was not recorded
        return _unrecorded(call, problem)


def _refused(gate: Gate, verdict: object) -> Refusal:
    """The refusal of a gate. Whatever is neither a call nor a refusal must not pass: fail closed."""
    if not isinstance(verdict, Refusal):
        raise TypeError(f"gate {gate.name} returned {type(verdict).__name__}, which is no verdict")
    return verdict if verdict.gate else replace(verdict, gate=gate.name)


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
        except Exception as problem:  # noqa: BLE001 - whatever it is, there is no record
            return _unrecorded(call, problem)
        outcome: Outcome = Failure("cancelled", "the call was cancelled")  # if never resumed
        try:
            for gate in self._gates:
                verdict = await gate(call, back)
                if type(verdict) is not Call:
                    outcome = _refused(gate, verdict)
                    break
                call = verdict  # what is known even if we end here
            else:
                outcome = await self._forward(call, back, trail)
        except Unrecorded as problem:
            outcome = Refusal("audit_unavailable", str(problem))
        except Exception:
            log.exception("call %s broke the kernel", call.id)
            outcome = Failure("internal", "internal error; the details are in the gateway's log")
        finally:
            outcome = _close(trail, call, outcome)
        try:
            await trail.settled()
        except Exception as problem:  # noqa: BLE001 - it may not have lasted
            return _unrecorded(call, problem)
        return outcome

    async def _forward(self, call: Call, back: Back, trail: Trail) -> Outcome:
        if trail.intent(call):
            await trail.on_disk()
        outcome = await self._dispatch(call, _Filtered(call, back, self._filters))
        for one in self._filters:
            outcome = one.outcome(call, outcome)
        return outcome
