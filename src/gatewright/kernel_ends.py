"""Outcomes of calls that broke the kernel or could not be recorded; bars a retry where the tool may have run; awaits the durable record."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Protocol

from gatewright.call import Answer, Call, Outcome, Refusal, Unrecorded
from gatewright.call_policy import UNCLEANED
from gatewright.mcp.protocol.ended_calls import marked

__all__ = ["after", "broken", "settled", "unrecorded", "unsettled"]

log = logging.getLogger("gatewright.kernel")


class _Settling(Protocol):
    def settled(self) -> Awaitable[None] | None: ...


def unrecorded(call: Call, problem: Exception) -> Refusal:
    """The end of a call that cannot be recorded."""
    if isinstance(problem, Unrecorded):
        return Refusal("audit_unavailable", str(problem))
    log.error("the record of call %s broke", call.id, exc_info=problem)
    return Refusal("audit_unavailable", "the audit trail is broken; see the gateway's log")


def broken(call: Call, problem: Exception) -> Outcome:
    """The end of a call that broke something."""
    if isinstance(problem, Unrecorded):
        return Refusal("audit_unavailable", str(problem))
    log.error("call %s broke the kernel", call.id, exc_info=problem)
    return UNCLEANED


def after(call: Call, outcome: Outcome, instead: Outcome) -> Outcome:
    """What is said in place of an outcome: where the call may have been carried out, that goes for it, too."""
    ran = type(outcome) is Answer or outcome.once
    return marked(call, instead) if ran else instead


async def settled(waits: Awaitable[None], call: Call, outcome: Outcome) -> Outcome:
    """What its caller sees of a call, once its end is recorded."""
    try:
        await waits
    except Exception as problem:  # noqa: BLE001 - it may not have lasted
        return after(call, outcome, unrecorded(call, problem))
    return outcome


async def unsettled(trail: _Settling) -> Unrecorded | None:
    """Wait for the record of a call that was cancelled: why there is none, or None."""
    try:
        waits = trail.settled()
        if waits is not None:
            await waits
    except Exception as problem:  # noqa: BLE001 - whatever it is, there is no record
        return (
            problem if isinstance(problem, Unrecorded) else Unrecorded("the audit trail is broken")
        )
    return None
