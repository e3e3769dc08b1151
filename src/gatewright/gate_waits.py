"""`GateWaits`: awaits gates' verdicts (other types raise), lists waiting calls, asks all gates again after a wait, ends calls now refused.

Most gates answer at once, and cost nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from time import monotonic
from typing import Any, NamedTuple

from msgspec.structs import replace

from gatewright.call import Call, Gate, Refusal
from gatewright.call_policy import BROKEN, Judge, Policy, refused

__all__ = ["GateWaits", "Present", "waited"]


class Present(NamedTuple):
    """A call that has not ended, and since when (`time.monotonic`) it is where it is: with its owner, or in the gate it waits in."""

    call: Call
    since: float
    gate: str = ""
    """Which gate; empty for a call that is with its owner."""


async def waited(gate: Gate, verdict: Any) -> Call | Refusal:
    """The verdict of a gate, once it is there; a refusal says whose it is. Whatever is neither a call nor a refusal
    must not pass: fail closed."""
    if isinstance(verdict, Awaitable):
        verdict = await verdict
    if isinstance(verdict, Call):
        return verdict
    if not isinstance(verdict, Refusal):
        raise TypeError(f"gate {gate.name} returned {type(verdict).__name__}, which is no verdict")
    return verdict if verdict.gate else replace(verdict, gate=gate.name)


class _Wait:
    """A call that waits, the task that does, and why it is to end."""

    __slots__ = ("call", "gate", "refusal", "since", "task")

    def __init__(self, call: Call, gate: str) -> None:
        self.call = call
        self.gate = gate
        self.since = monotonic()
        self.refusal: Refusal | None = None
        self.task = asyncio.current_task()

    def ends(self) -> bool:
        """Whether the task was cancelled from here alone."""
        return self.refusal is not None and self.task is not None and self.task.uncancel() <= 0


class GateWaits:
    """Of one kernel."""

    def __init__(self) -> None:
        self._all: set[_Wait] = set()

    async def verdict(self, gate: Gate, verdict: Any, call: Call) -> Call | Refusal:
        """What `gate` says of a call, once it says so; the refusal of whoever ends the call first."""
        if not isinstance(verdict, Awaitable):
            return await waited(gate, verdict)
        wait = _Wait(call, gate.name)
        self._all.add(wait)
        try:
            said = await waited(gate, verdict)
            if wait.refusal is None:
                return said
            # A gate whose own time was up at once may answer in place of the cancellation: no word against the refusal.
            wait.ends()
            return wait.refusal
        except asyncio.CancelledError:
            if not wait.ends():
                raise  # by its caller, whoever else wanted it
            return wait.refusal or BROKEN
        finally:
            self._all.discard(wait)
            wait.task = None  # it holds what it was cancelled with, and that all of this

    async def again(self, policy: Policy, call: Call) -> Call | Refusal:
        """A call that every gate of `policy` has let pass, and that has waited in one: as it goes on, or why it may not as things
        stand now. What takes long is found out before that is asked, as that is a wait as well."""
        for gate in policy.easing:
            eased = gate.eased(call)
            said = eased if isinstance(eased, Call) else await self.verdict(gate, eased, call)
            if isinstance(said, Refusal):
                return said
            call = said
        return policy.refused_since(call) or call

    def present(self) -> list[Present]:
        """Those that wait now."""
        return [Present(one.call, one.since, one.gate) for one in self._all]

    def end(self, judges: Sequence[Judge]) -> int:
        """End those that these refuse: nothing of them was forwarded. How many those are. The call that asks for this is left
        alone."""
        asking, ended = asyncio.current_task(), 0
        for wait in tuple(self._all):
            if wait.refusal is not None or wait.task is None or wait.task is asking:
                continue
            wait.refusal = refused(judges, wait.call)
            if wait.refusal is not None:
                wait.task.cancel()
                ended += 1
        return ended
