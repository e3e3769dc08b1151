"""`gatewright doctor` check: features left out of this gateway; a problem where the configuration asks for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatewright.cli.finding import Finding
from gatewright.config import Settings, SettingsError
from gatewright.missing import Without, check_asked

__all__ = ["check_features"]


def check_features(settings: Settings, missing: Sequence[Without]) -> Iterator[Finding]:
    """Each that is missing. A gateway whose configuration asks for one does not start."""
    for one in missing:
        asked = _asked(settings, one)
        yield Finding(
            check="gateway",
            subject=f"feature {one.name}",
            level="problem" if asked else "warning",
            what="is not part of this gateway",
            why=asked or "calls that need it are refused",
            fix="use a gateway that has it, or switch off what needs it",
        )


def _asked(settings: Settings, one: Without) -> str:
    """What the configuration asks of it; empty where it asks for nothing."""
    try:
        check_asked(settings, [one])
    except SettingsError as problem:
        return "; ".join(map(str, problem.problems))
    return ""
