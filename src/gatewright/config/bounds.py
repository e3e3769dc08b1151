"""Bounded types of configuration values (count, seconds, name) and the event classes, shared by several tables."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

__all__ = ["Count", "EventClass", "Name", "Seconds"]

Count = Annotated[int, Meta(ge=1, le=2**40)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
Name = Annotated[str, Meta(min_length=1, max_length=128)]

EventClass = Literal[
    "tool_invocations", "security_events", "performance_events", "protocol_errors", "critical"
]
"""How Groundhog divides the events of the record."""
