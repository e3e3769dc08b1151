"""How far the record had come when a store last heard of it, so that a record that is put back alone is noticed.

The other half of `anchors`: there the record says how far each store had come, and here a store says the same of the record. A
place is noted once it is known to be on the disk, so that no power cut makes a store know more than is left of the record. It is
noted in the stores that have changed, while a gateway runs, and in all of them when it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from gatewright.stores.database import Database, DatabaseError
from gatewright.stores.segments import Head, segment_numbers, segment_path

__all__ = ["note", "noted", "outrun"]

_TABLE = """CREATE TABLE IF NOT EXISTS recorded (
    one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL,
    segment INTEGER NOT NULL, offset INTEGER NOT NULL
) STRICT"""
_ENDS = b'"hash":"%b"}\n'


def note(paths: Iterable[Path], place: Head) -> list[Path]:
    """Let stores know that the record has come to a place that is on the disk. The result are those that are written by somebody
    else just now, or cannot be: to be tried again. Waits for nobody."""
    left: list[Path] = []
    for path in paths:
        if not place.offset or not path.exists():
            continue
        try:
            with closing(Database.open_to_note(path)) as database, database.transaction():
                database.execute(_TABLE)
                database.execute(
                    "INSERT OR REPLACE INTO recorded VALUES (1, ?, ?, ?, ?)",
                    (place.seq, place.hash.decode(), place.segment, place.offset),
                )
        except DatabaseError:
            left.append(path)
    return left


def noted(database: Database) -> Head | None:
    """What a store knows of the record; None where it knows nothing. Raises `DatabaseError`."""
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'recorded'"
    if database.execute(known).fetchone() is None:
        return None
    row = database.execute("SELECT seq, hash, segment, offset FROM recorded").fetchone()
    return None if row is None else Head(row[0], str(row[1]).encode(), row[2], row[3])


def outrun(folder: Path, places: Mapping[str, Head]) -> list[str]:
    """Which stores know more of the record than there is, each in a few words. Raises `OSError`."""
    last = max(segment_numbers(folder), default=0)
    return [
        f"the record is an older copy, or another one: {name} knows its number {place.seq}, which is not in its place"
        for name, place in places.items()
        if not _is_there(folder, place, last)
    ]


def _is_there(folder: Path, place: Head, last: int) -> bool:
    """Whether the record that a place is the end of still ends there. One whose file went as retention wanted was before others."""
    ends = _ENDS % place.hash
    with suppress(FileNotFoundError), segment_path(folder, place.segment).open("rb") as file:
        file.seek(max(0, place.offset - len(ends)))
        return file.read(len(ends)) == ends
    return last > place.segment
