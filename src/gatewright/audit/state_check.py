"""Compares state database and audit trail before a gateway starts or a command writes; fails if the state is older or the trail gone.

Cheap to import, because commands import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gatewright.audit.anchors import (
    Anchor,
    Found,
    anchors_of,
    behind,
    forgotten,
    found_in,
    has_record,
    lost_trail,
    place_in,
    taken_over,
)
from gatewright.audit.segments import Head
from gatewright.audit.trail_position import outrun
from gatewright.command_text import to_type
from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.opening import Check, StateView
from gatewright.storage.sqlite import SQLITE

__all__ = ["check_of", "inconsistencies", "is_behind", "is_lost", "what_to_do"]


def what_to_do() -> str:
    """About a state that is behind its record."""
    return (
        "put the right file back from a backup, or, if things are meant to be as they are, look at grants, keys and "
        f"pins, and then run `{to_type('audit accept')}`"
    )


def check_of(folder: Path) -> Check:
    """Refuses a state that is behind the record of its folder, or whose record is gone."""

    def check(found: StateView) -> None:
        # Without a trail no anchor says that the state is older, so this comes before the comparison.
        lost = lost_trail(folder, found)
        if lost:
            raise is_lost(folder, lost)
        if not has_record(folder):
            return
        wrong = inconsistencies(folder, anchors_of(folder), found_in(found), place_in(found))
        if wrong:
            raise is_behind(folder, wrong)

    return check


def inconsistencies(
    folder: Path, known: Mapping[str, Anchor], found: Found, place: Head | None
) -> list[str]:
    """What of a state is older than its audit trail, one short text for each section. Raises `StoreError`."""
    wrong = [*forgotten(folder, known), *behind(known, found), *taken_over(folder, known, found)]
    try:
        return [*wrong, *outrun(folder, SQLITE.file, place)]
    except OSError as problem:
        raise StoreError(f"the record in {folder} cannot be read: {problem}") from problem


def is_lost(folder: Path, why: str) -> StoreDamagedError:
    """The error for a record that is gone, though something shows that there was one."""
    return StoreDamagedError(
        f"the record in {folder} is gone, though {why}: what was forbidden may be gone with it; {what_to_do()}"
    )


def is_behind(folder: Path, wrong: Sequence[str]) -> StoreDamagedError:
    """The error for a state that is behind its record."""
    return StoreDamagedError(
        f"the state in {folder} is behind its record: {'; '.join(wrong)}. What was forbidden may be allowed "
        f"again: {what_to_do()}"
    )
