"""Runs one request of a call, a JSON head and a payload, in a worker process with a time limit; also the refusal when the queue is full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Call, Refusal
from gatewright.transport.workers import Workers

__all__ = ["BUSY_MS", "JUDGE_S", "Answered", "ordered", "too_busy"]

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
