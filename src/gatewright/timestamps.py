"""Parses times as people type them (`10m`, `30d`, ISO 8601); formats Unix times for the audit trail (ISO 8601 in UTC) and for people."""

from __future__ import annotations

from datetime import UTC, datetime

from gatewright.patterns import Pattern

__all__ = ["TYPED", "as_recorded", "as_shown", "moment_of"]

TYPED = "write 30s, 10m, 2h, 7d, or a date like 2030-01-31T12:00:00+00:00"
"""What to do about a text that is no moment."""
_SPAN = Pattern(r"(\d{1,6})\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def moment_of(text: str, now: float, *, ahead: bool = False) -> float:
    """Unix seconds of what was typed: `10m` means ten minutes before `now`, or behind it where it is `ahead`. Raises `ValueError`."""
    text = text.strip()
    span = _SPAN.fullmatch(text)
    try:
        if span is not None:
            seconds = int(span[1]) * _SECONDS[span[2]]
            moment = now + seconds if ahead else now - seconds
        else:
            found = datetime.fromisoformat(text)
            # Without an offset it is meant where the person is.
            moment = (found.astimezone() if found.tzinfo is None else found).timestamp()
        as_recorded(moment)  # calendars end with the year 9999, and begin with 1
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is not a moment") from None
    return moment


def as_recorded(moment: float) -> str:
    """Unix seconds in the form of the record: ISO 8601 in UTC with milliseconds."""
    found = datetime.fromtimestamp(moment, UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%S.") + f"{found.microsecond // 1000:03d}Z"


def as_shown(moment: float | None) -> str:
    """Unix seconds to the second, or nothing. Moments that no calendar has are shown as their year would be."""
    if moment is None:
        return ""
    try:
        return as_recorded(moment)[:19] + "Z"
    except (ValueError, OverflowError, OSError):
        return "after the year 9999" if moment > 0 else "before the year 1"
