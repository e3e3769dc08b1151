"""Parses times typed in commands (`10m`, `30d`, ISO 8601) and formats timestamps for output."""

from __future__ import annotations

from datetime import UTC, datetime

from gatewright.cli.output import CliError, Exit
from gatewright.patterns import Pattern

__all__ = ["ago", "ahead", "as_recorded", "as_shown"]

_SPAN = Pattern(r"(\d{1,6})\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def ago(text: str, now: float) -> float:
    """Unix seconds of a moment in the past: `10m` means ten minutes before `now`."""
    span = _span(text)
    return _date(text) if span is None else _written(text, now - span)


def ahead(text: str, now: float) -> float:
    """Unix seconds of a moment to come: `30d` means thirty days after `now`."""
    span = _span(text)
    return _date(text) if span is None else _written(text, now + span)


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


def _span(text: str) -> int | None:
    found = _SPAN.fullmatch(text.strip())
    return None if found is None else int(found[1]) * _SECONDS[found[2]]


def _written(text: str, moment: float) -> float:
    """The moment, where it can be written down: calendars end with the year 9999, and begin with 1."""
    try:
        as_recorded(moment)
    except (ValueError, OverflowError, OSError):
        raise _no_moment(text) from None
    return moment


def _date(text: str) -> float:
    try:
        found = datetime.fromisoformat(text.strip())
        if found.tzinfo is None:
            found = found.astimezone()  # without an offset it is meant where the person is
        return _written(text, found.timestamp())
    except (ValueError, OverflowError, OSError):
        raise _no_moment(text) from None


def _no_moment(text: str) -> CliError:
    return CliError(
        f"{text!r} is not a moment",
        code="usage",
        exit_code=Exit.USAGE,
        hint="write 30s, 10m, 2h, 7d, or a date like 2030-01-31T12:00:00+00:00",
    )
