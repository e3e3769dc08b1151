"""Outcomes of calls that may have run: marks those not to be made again; refusals of calls ended by policy in mid-call or given up."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import Answer, Call, Failure, Outcome, Refusal, Unrecorded
from gatewright.mcp.wire.codes import UNTOUCHED, reason_of

__all__ = ["given_up", "interrupted", "marked", "revoked"]


def marked(call: Call, outcome: Outcome) -> Outcome:
    """The outcome of a call that was handed to its owner, with the word that it is not to be made again (`Failure.once`)
    unless it was certainly not sent, or making it twice does no harm."""
    if type(outcome) is Answer:
        again = not outcome.tool_error  # a tool that says that it failed has run
    elif type(outcome) is Failure and outcome.error is not None:
        again = False  # what the code of a server's own error means, whoever spells it looks up
    else:
        sent = outcome.details.get("sent")  # type: ignore[union-attr]
        again = sent is False or (sent is not True and _by_reason(outcome.reason))  # type: ignore[union-attr]
    return outcome if again or call.repeatable else replace(outcome, once=True)


def interrupted(refusal: Refusal) -> Refusal:
    """What the caller hears of a call that was with its owner when policy ended it. Before a call runs the same reason says that
    nothing ran, and a token with another scope leads on; here the call may have been carried out."""
    said = f"the call was ended while it ran: {refusal.message}"
    kept = {name: value for name, value in refusal.details.items() if name != "scope"}
    return replace(refusal, message=said, details={**kept, "sent": True})


def revoked(outcome: Outcome) -> bool:
    """Whether nothing more of its call may reach the caller: one that is not allowed any more, or that cannot be recorded. A drain, an
    operator's stop and limits end a call as well, and say nothing against the text that had come before."""
    if type(outcome) is not Refusal:
        return False
    code = reason_of(outcome.reason).mgp_code
    return outcome.reason == "audit_unavailable" or code not in _OF_THE_MOMENT


_OF_THE_MOMENT = range(2000, 4000)
"""MGP codes of the states of servers and of the gateway, of resources and of limits."""


def given_up(call: Call | None, stopped: BaseException) -> Refusal | None:
    """What is said of a call whose caller gave it up, and whose end could not be recorded: the cause of what `stopped` it tells
    (`kernel`). None where it is recorded, or was none yet."""
    why = stopped.__cause__
    if call is None or not isinstance(why, Unrecorded):
        return None
    refusal = Refusal("audit_unavailable", str(why))
    return refusal if call.repeatable or not why.ran else replace(refusal, once=True)


def _by_reason(reason: str) -> bool:
    return reason_of(reason).mgp_code in UNTOUCHED
