"""Stores in the state database which audit record it last saw, to detect an audit trail that was rolled back alone.

The other half of `anchors`: there the record says how far each section had come, and here the state says the same of the record. A
place is noted once it is known to be on the disk, so that no power cut makes the state know more than is left of the record. It is
noted after changes, while a gateway runs, and when it ends.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gatewright.audit.segments import Head, segment_numbers, segment_path
from gatewright.storage.engine import Driver, Engine
from gatewright.storage.migrations import upsert
from gatewright.storage.sqlite import SQLITE
from gatewright.storage.try_write import Statements, changed_aside

__all__ = ["note", "noted", "outrun", "statements_of"]

_PUT = upsert("recorded")
_ENDS = b'"hash":"%b"}\n'


def note(folder: Path, place: Head, driver: Driver = SQLITE) -> bool:
    """Let the state know that the record has come to a place that is on the disk. False where it is written by somebody else just
    now, or cannot be: to be tried again. Waits for nobody."""
    said = statements_of(place)
    return not said or driver.place(folder) is None or changed_aside(folder, said, driver)


def statements_of(place: Head) -> Statements:
    """The statements that say so; none where there is nothing to say."""
    # At the beginning of a segment there is no line that `_is_there` could find again.
    if not place.offset:
        return ()
    return [(_PUT, (1, place.seq, place.hash.decode(), place.segment, place.offset))]


def noted(engine: Engine) -> Head | None:
    """What the state knows of the record; None where it knows nothing. Raises the engine's failure."""
    row = engine.execute("SELECT seq, hash, segment, ends FROM recorded").fetchone()
    return None if row is None else Head(row[0], str(row[1]).encode(), row[2], row[3])


def outrun(folder: Path, name: str, place: Head | None) -> list[str]:
    """Whether the state, which is called so, knows more of the record than there is, in a few words. Raises `OSError`."""
    if place is None or _is_there(folder, place, max(segment_numbers(folder), default=0)):
        return []
    return [
        f"the record is an older copy, or another one: {name} knows its number {place.seq}, which is not in its place"
    ]


def _is_there(folder: Path, place: Head, last: int) -> bool:
    """Whether the record that a place is the end of still ends there. One whose file went as retention wanted was before others."""
    ends = _ENDS % place.hash
    with suppress(FileNotFoundError), segment_path(folder, place.segment).open("rb") as file:
        file.seek(max(0, place.offset - len(ends)))
        return file.read(len(ends)) == ends
    # Segments go as whole files, the oldest first; a trail that was put back from an older copy ends before this one.
    return last > place.segment
