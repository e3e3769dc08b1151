"""Sends a call's arguments or result to a worker process with a time limit; turns `Busy` and `Overtime` into a refusal or failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Call, Failure, Refusal
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["BUSY_MS", "JUDGE_S", "Answered", "of_arguments", "of_result", "ordered", "too_busy"]

JUDGE_S = 3
"""Seconds for the arguments of one call. What the counted budget of validators allows takes one on a slow machine."""
BUSY_MS = 1000
"""When to come again where too much waits."""

Answered = tuple[dict[str, Any], bytes]
"""What a worker says to an order: the head of its answer, and a text."""


async def ordered(
    workers: Workers, call: Call, order: Mapping[str, Any], load: bytes, seconds: int
) -> Answered:
    """The answer to one order. Raises `Busy`, `Overtime`."""
    head = msgspec.json.encode(order)
    answer, text = await workers.run(call.payer, head, load, seconds)
    said: dict[str, Any] = msgspec.json.decode(answer)
    return said, text


def too_busy() -> Refusal:
    """Why arguments are not judged now."""
    text = "too much waits to be judged already; send less at a time"
    return Refusal("resource_exhausted", text, retry_after_ms=BUSY_MS)


async def of_arguments(
    workers: Workers, call: Call, order: Mapping[str, Any], load: bytes, done: str
) -> Answered | Refusal:
    """The answer to an order about arguments; `done` is what is done with them, for messages (`checked`)."""
    try:
        return await ordered(workers, call, order, load, JUDGE_S)
    except Busy:
        return too_busy()
    except Overtime:
        text = f"the arguments take more than {JUDGE_S} s to be {done}; send less"
        return Refusal("invalid_args", text, {"rule": "too_costly"})


async def of_result(
    workers: Workers,
    call: Call,
    order: Mapping[str, Any],
    raw: bytes,
    seconds: int,
    done: tuple[str, str],
) -> Answered | Failure:
    """The answer to an order about a result; `done` is what is done with it: in a word (`cleaned`), and of what in full
    (`{} take more than {} s to be cleaned of secrets`)."""
    word, whole = done
    try:
        return await ordered(workers, call, order, raw, seconds)
    except Busy:
        text = f"too many large results wait to be {word} already; ask for less at a time"
        return Failure("resource_exhausted", text, retry_after_ms=BUSY_MS)
    except Overtime:
        text = f"{whole.format(f'{len(raw)} bytes', seconds)}; ask the tool for less"
        return Failure("output_invalid", text, {"rule": "too_costly", "bytes": len(raw)})
