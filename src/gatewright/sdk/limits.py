"""`TimeLimits` of an SDK registry, in seconds: one tool run, validation, discovery, and waiting for the registry's lock."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["TimeLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """The four time limits of a registry. Raises `ValueError` for one that is not above zero."""

    tool_s: float = 30.0
    """One run of a tool, unless the tool or the caller says less."""
    validation_s: float = 5.0
    """All validators of one call together. Schemas need none: their cost is bounded before they run."""
    discovery_s: float = 2.0
    """One look for tools. What is not known by then is reported as not known."""
    lock_s: float = 0.5
    """How long a change of the registry waits for another one."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if not getattr(self, one.name) > 0:
                raise ValueError(f"{one.name} has to be above 0 seconds")
