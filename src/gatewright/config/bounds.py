"""Bounded msgspec types of configuration values (count, bytes, seconds, name), units for the reference, and the classes of audit events."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

__all__ = [
    "BYTES",
    "DAYS",
    "MILLISECONDS",
    "SECONDS",
    "TOKENS",
    "Bytes",
    "Count",
    "EventClass",
    "Name",
    "Seconds",
    "rate",
]

BYTES = {"unit": "bytes"}
DAYS = {"unit": "days"}
MILLISECONDS = {"unit": "ms"}
SECONDS = {"unit": "s"}
TOKENS = {"unit": "tokens"}
"""What `Meta(extra=…)` has for a key with a unit, the others likewise. The configuration reference prints it."""


def rate(of: str, per: str = "s") -> dict[str, str]:
    """The unit of a number of things in each stretch of time."""
    return {"unit": f"{of}/{per}"}


Count = Annotated[int, Meta(ge=1, le=2**40)]
Bytes = Annotated[int, Meta(ge=1, le=2**40, extra=BYTES)]
Seconds = Annotated[float, Meta(gt=0, le=86400, extra=SECONDS)]
Name = Annotated[str, Meta(min_length=1, max_length=128)]

EventClass = Literal[
    "tool_invocations", "security_events", "performance_events", "protocol_errors", "critical"
]
"""The classes into which Groundhog divides audit events."""
