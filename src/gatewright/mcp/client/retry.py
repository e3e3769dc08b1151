"""Retries a failed call by recovery hints of the server's or the gateway's error: waits, repetitions, fallback tool; audits each attempt.

The rules are `mcp.protocol.recovery`; this drives them, for the gateway towards its servers and for the SDK's client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from gatewright.call import Failure, Outcome
from gatewright.mcp.protocol.recovery import Again, Hint, Instead, Report, Retries, read_hint
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of

__all__ = ["Attempt", "Sleep", "Trying", "hint_of", "persist"]

Sleep = Callable[[float], Awaitable[None]]


class Attempt(msgspec.Struct, frozen=True):
    """One repetition that is about to be made, for the record."""

    number: int
    """From 1; 0 for the fallback tool, which is no repetition."""
    wait_s: float
    code: int
    """Of the error that led to it; a JSON-RPC code or MGP's."""
    message: str
    fallback_tool: str | None = None


class Trying(Protocol):
    """One call that may be made several times."""

    async def again(self) -> Outcome:
        """The same call once more."""

    async def instead(self, tool: str) -> Outcome | None:
        """The same arguments to another tool; None where there is no such tool for the caller."""

    def left(self) -> float:
        """Seconds until the caller's deadline."""

    async def note(self, attempt: Attempt) -> None:
        """Write down that an attempt is about to be made. Raises where it may not be made unrecorded."""


def hint_of(failure: Failure) -> Hint:
    """What a failure says of asking again: the server's own error, or what we found out ourselves."""
    if failure.error is not None:
        error = _decoded(failure.error)
        return Hint() if error is None else read_hint(error, mgp=failure.mgp)
    row = reason_of(failure.reason)
    wait = row.retry_after_ms if failure.retry_after_ms is None else failure.retry_after_ms
    return Hint(
        row.retryable,
        wait,
        row.retry_strategy or "fixed_delay",
        row.max_retries or None,
        refused=failure.details.get("sent") is False,
    )


async def persist(
    outcome: Outcome, call: Trying, retries: Retries, *, sleep: Sleep = asyncio.sleep
) -> Outcome:
    """The outcome after all that recovery allows, `outcome` being that of the first attempt.

    The end of a call that was repeated in vain is its last error. Where a fallback tool fails as well, its error is
    reported; where it cannot be called at all, the one before.
    """
    while type(outcome) is Failure:
        step = retries.after(hint_of(outcome), left_s=call.left())
        if isinstance(step, Report):
            break
        code, message = _spoken(outcome)
        if isinstance(step, Instead):
            await call.note(Attempt(0, 0.0, code, message, step.tool))
            return await call.instead(step.tool) or outcome
        # Written down before it is made: an attempt that cannot be recorded is not made.
        await call.note(Attempt(step.attempt, step.wait_s, code, message))
        await _wait(step, sleep)
        outcome = await call.again()
    return outcome


async def _wait(step: Again, sleep: Sleep) -> None:
    if step.wait_s > 0:
        await sleep(step.wait_s)


def _spoken(failure: Failure) -> tuple[int, str]:
    error = _decoded(failure.error) if failure.error is not None else None
    if error is None:
        return reason_of(failure.reason).mgp_code, failure.message
    code, message = error.get("code"), error.get("message")
    return (code if isinstance(code, int) else 0), str(message)[:300]


def _decoded(error: bytes) -> dict[str, object] | None:
    try:
        found = jsonrpc.decode(error)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
