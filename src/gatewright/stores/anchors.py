"""How far each store had come when the record last heard of it, so that a store that was lost or put back is noticed.

Theory. Grants, keys, pins, permissions, approvals, registrations and words about participants take things away as well as give
them: without the file, or with an older copy of it, somebody may do again what was forbidden. The record cannot go back unseen
(`stores/chain.py`), so it says of each store which file it is (`mark`, a random number in the file) and how many steps
it has taken (`steps`, which only grows). A store changes first and the record hears of it afterwards: a store may
be ahead of its record, as after `kill -9`, and never behind it.

A record that is put back alone is noticed by the stores, which know how far it had come (`recorded`). One that is gone altogether
is noticed where something of a former gateway is left in the folder: its lock file, once something was recorded, what operators
said of participants, what was registered, or a store whose changes somebody has recorded. Nothing in a folder tells whether all of it was taken away.

What else is in the folder does no harm by its loss: without secrets and logins servers are not reached, and limits,
tasks and what sessions have read are in memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from gatewright.stores import approvals, issued, permissions, pins, registered, room_trust
from gatewright.stores.database import Database, DatabaseError
from gatewright.stores.lock import has_recorded
from gatewright.stores.reader import AuditReader
from gatewright.stores.recorded import noted
from gatewright.stores.retention import PRUNED
from gatewright.stores.rows import Query
from gatewright.stores.segments import HEAD, Head, segment_numbers, segment_path

__all__ = [
    "ACCEPTED",
    "ANCHORED",
    "STORES",
    "Anchor",
    "Heads",
    "anchors_of",
    "behind",
    "bereft",
    "forgotten",
]

ANCHORED = "dev.gatewright.stores.anchored"
"""The stores have taken steps."""
ACCEPTED = "dev.gatewright.stores.accepted"
"""An operator says that the stores are right as they are."""

_ROWS_LOST = "dev.gatewright.audit.rows_lost"
_TABLES = {
    "keys.db": "key_changes",
    issued.DATABASE: "grant_changes",
    permissions.DATABASE: "permission_changes",
    pins.DATABASE: "pin_changes",
    approvals.DATABASE: "approval_changes",
}
_COUNTED: Mapping[str, Callable[[Path], room_trust.Kept | registered.KeptRequests]] = {
    room_trust.FILE: room_trust.read_kept,
    registered.FILE: registered.read_requests,
}
"""Files that are replaced as a whole, and count how often."""
STORES = (*_TABLES, *_COUNTED)
"""The files that may not go back."""


class Anchor(msgspec.Struct, frozen=True):
    """One store: which file it is, and how many steps it has taken."""

    mark: int
    steps: int


class Heads:
    """The stores of a folder as they are on the disk now, whoever has them open. For one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[tuple[int, int], Database]] = {}
        self._first: dict[str, tuple[int, int]] = {}
        self._counted: dict[str, tuple[tuple[int, int, int], Anchor]] = {}

    def found(self) -> tuple[dict[str, Anchor], dict[str, str]]:
        """The stores that are there, and why the others cannot be read, by name."""
        heads, problems = {}, {}
        for name in STORES:
            try:
                head = self._counted_head(name) if name in _COUNTED else self._head(name)
            except (OSError, DatabaseError, ValueError) as problem:
                problems[name] = str(problem)
                continue
            if head is not None:
                heads[name] = head
        return heads, problems

    def places(self) -> dict[str, Head]:
        """How far the record had come when each store last heard of it, of those that can be read and know."""
        found: dict[str, Head] = {}
        for name, (_, database) in self._open.items():
            with suppress(DatabaseError):
                place = noted(database)
                if place is not None:
                    found[name] = place
        return found

    def moved(self) -> list[str]:
        """The stores in whose place another file stands than when they were first looked at."""
        return [
            name
            for name, first in self._first.items()
            if name in self._open and self._open[name][0] != first
        ]

    def close(self) -> None:
        """Let go of the files."""
        for _, database in self._open.values():
            database.close()
        self._open.clear()

    def _head(self, name: str) -> Anchor | None:
        path = self._folder / name
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        place = (status.st_dev, status.st_ino)
        self._first.setdefault(name, place)
        known = self._open.get(name)
        if known is None or known[0] != place:
            if known is not None:
                known[1].close()
                del self._open[name]
            known = place, Database.open_to_look(path)
            self._open[name] = known
        return Anchor(known[1].mark, known[1].steps(_TABLES[name]))

    def _counted_head(self, name: str) -> Anchor | None:
        path = self._folder / name
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        place = status.st_dev, status.st_ino, status.st_mtime_ns
        known = self._counted.get(name)
        if known is None or known[0] != place:
            kept = _COUNTED[name](path)
            known = self._counted[name] = place, Anchor(kept.mark, kept.steps)
        return known[1]


def anchors_of(folder: Path) -> dict[str, Anchor]:
    """What the record in `folder` knows of the stores; nothing where it was written before it knew of them.
    Raises `StoreError`."""
    reader = AuditReader(folder)
    newest: tuple[int, dict[str, Anchor]] = (0, {})
    for event in (ANCHORED, ACCEPTED, PRUNED):
        for record in reader.query(Query(event_type=event, limit=1)):
            said = record.get("details", {}).get("stores")
            if said is not None and record["seq"] > newest[0]:
                newest = record["seq"], msgspec.convert(said, dict[str, Anchor])
    return newest[1]


def behind(
    anchors: Mapping[str, Anchor], heads: Mapping[str, Anchor], problems: Mapping[str, str]
) -> list[str]:
    """Which stores are not what the record knows, each in a few words."""
    found = []
    for name, known in anchors.items():
        now = heads.get(name)
        if name in problems:
            found.append(f"{name} cannot be read: {problems[name]}")
        elif now is None:
            if known.steps:
                found.append(f"{name} is gone: the record knows {_steps(known)} of it")
        elif now.mark != known.mark:
            found.append(f"{name} is another file than the one that is recorded")
        elif now.steps < known.steps:
            found.append(
                f"{name} is an older copy: it has {_steps(now)}, the record knows {known.steps}"
            )
    return found


def forgotten(folder: Path, anchors: Mapping[str, Anchor]) -> list[str]:
    """Whether the record has lost what it knew of the stores, in a few words: `audit.db` is gone, and with it records that
    nothing else had. Raises `StoreError`."""
    reader = AuditReader(folder)
    lost, accepted = (
        next((one["seq"] for one in reader.query(Query(event_type=event, limit=1))), 0)
        for event in (_ROWS_LOST, ACCEPTED)
    )
    if anchors or lost <= accepted:
        return []
    return ["the record has lost its beginning, and what it knew of the stores"]


def bereft(folder: Path) -> str:
    """What shows that a record was here that is gone; empty where nothing does. For a folder that nobody holds."""
    if not folder.exists() or (folder / HEAD).exists():
        return ""
    if any(segment_path(folder, number).stat().st_size for number in segment_numbers(folder)):
        return ""  # records without a head: whoever opens the record says so
    if has_recorded(folder):
        return "a gateway has run here"
    if _has_said(folder):
        return (
            f"operators have said something of participants ({room_trust.FILE}) while a gateway ran"
        )
    if _has_registered(folder):
        return f"tools have been registered ({registered.FILE}) while a gateway ran"
    for name, table in _TABLES.items():
        if (folder / name).exists() and _is_recorded(folder / name, table):
            return f"a gateway has recorded changes of {name}"
    return ""


def _has_said(folder: Path) -> bool:
    try:
        kept = room_trust.read_kept(folder / room_trust.FILE)
    except (OSError, ValueError):
        return False  # whoever opens it says so
    return bool(kept.steps or kept.words)


def _has_registered(folder: Path) -> bool:
    try:
        kept = registered.read_requests(folder / registered.FILE)
    except (OSError, ValueError):
        return False  # whoever opens it says so
    return bool(kept.steps or kept.requests)


def _is_recorded(path: Path, table: str) -> bool:
    try:
        with closing(Database.open_to_look(path)) as database:
            waiting = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a constant
            return database.steps(table) > waiting or noted(database) is not None
    except DatabaseError:
        return False  # whoever opens it says so


def _steps(one: Anchor) -> str:
    return "1 change" if one.steps == 1 else f"{one.steps} changes"
