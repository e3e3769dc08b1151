"""Parses times typed in commands (`10m`, `30d`, ISO 8601) as past (`ago`) or future (`ahead`) Unix seconds; `CliError` for anything else."""

from __future__ import annotations

from gatewright.cli.errors import CliError, Exit
from gatewright.timestamps import TYPED, moment_of

__all__ = ["ago", "ahead"]


def ago(text: str, now: float) -> float:
    """Unix seconds of a moment in the past: `10m` means ten minutes before `now`. Raises `CliError`."""
    return _typed(text, now, ahead=False)


def ahead(text: str, now: float) -> float:
    """Unix seconds of a moment to come: `30d` means thirty days after `now`. Raises `CliError`."""
    return _typed(text, now, ahead=True)


def _typed(text: str, now: float, *, ahead: bool) -> float:
    try:
        return moment_of(text, now, ahead=ahead)
    except ValueError as problem:
        raise CliError(str(problem), code="usage", exit_code=Exit.USAGE, hint=TYPED) from None
