"""`rehearsed`: dry run of a call: asks every gate in order, without making the call, and returns each gate's `Verdict`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Call, CannotAsk, Event, Gate, Question, Refusal
from gatewright.gate_waits import waited

__all__ = ["Verdict", "rehearsed"]

log = logging.getLogger("gatewright.kernel")


class Verdict(msgspec.Struct, frozen=True):
    """What one gate would say of a call: `call` as it hands it on, or `refusal`."""

    gate: str
    call: Call
    refusal: Refusal | None = None


class _Nobody:
    """The way back of a call that is not made."""

    def emit(self, event: Event) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody is asked about a call that is not made")


_NOBODY = _Nobody()


async def rehearsed(gates: Sequence[Gate], call: Call) -> list[Verdict]:
    """What each gate would say of this call, in their order, without making it: nothing is
    forwarded, recorded, asked of anybody or used up. A gate that would do such a thing has a method
    `rehearse` beside its `__call__`. After a refusal the gates that follow are still asked, unless
    it is not known yet what is called."""
    found: list[Verdict] = []
    for gate in gates:
        call = replace(call, facts=dict(call.facts))  # what each found out stays told apart
        rehearse = getattr(gate, "rehearse", None)
        try:
            verdict = gate(call, _NOBODY) if rehearse is None else await rehearse(call)
            verdict = await waited(gate, verdict)
        except Exception:
            log.exception("gate %s broke in a rehearsal", gate.name)
            said = "this gate broke; the details are in the log"
            verdict = Refusal("internal", said, gate=gate.name)
        if isinstance(verdict, Call):
            call = verdict
            found.append(Verdict(gate.name, call))
            continue
        found.append(Verdict(gate.name, call, verdict))
        if call.target is None:
            break
    return found
