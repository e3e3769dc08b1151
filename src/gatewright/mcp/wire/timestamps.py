"""Parses and formats timestamps of MGP messages: ISO 8601, UTC."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["moment_of", "moment_text"]


def moment_of(text: str) -> float:
    """Unix seconds of an ISO 8601 timestamp; one without an offset is UTC. Raises `ValueError`."""
    try:
        found = datetime.fromisoformat(text)
        moment = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        moment_text(moment)  # with its offset a year may lie outside of the calendar
        return moment
    except (ValueError, OverflowError):
        raise ValueError(
            f"expires_at: {text[:40]!r} is no moment; write it like 2030-01-31T12:00:00Z"
        ) from None


def moment_text(moment: float) -> str:
    """Unix seconds as text, with milliseconds where there are any."""
    found = datetime.fromtimestamp(moment, UTC)
    spec = "milliseconds" if found.microsecond else "seconds"
    return found.isoformat(timespec=spec).replace("+00:00", "Z")
