"""Reads audit anchors (mark, step count of each state section) from trail and state; compares them: older or lost state, lost trail.

Theory. Grants, keys, pins, permissions, approvals, registered tools and servers, and words about participants take things away as well as give
them: without them, or with an older copy of them, somebody may do again what was forbidden. The record cannot go back unseen
(`audit/chain.py`), so it says of each section which one it is (`mark`, a random number) and how many steps
it has taken (`steps`, which only grows). A section changes first and the record hears of it afterwards: it may
be ahead of its record, as after `kill -9`, and never behind it. Former versions kept each in a file of its own, and their records
call it by the name of the file: mark and steps went over with the rows, so these records prove what they proved.

A record that is put back alone is noticed by the state, which knows how far it had come (`trail_position`). One that is gone altogether
is noticed where something of a former gateway is left in the folder: its lock file, once something was recorded, what operators
said of participants, what was registered, or a section whose changes somebody has recorded. Nothing in a folder tells whether all of it was taken away.

What else is in the folder does no harm by its loss: without secrets and logins servers are not reached, and limits,
tasks and what sessions have read are in memory alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.audit.chain import BrokenChainError, read_link
from gatewright.audit.reader import AuditReader
from gatewright.audit.retention import PRUNED
from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import HEAD, Head, lines_from, segment_numbers, segment_path
from gatewright.audit.trail_position import noted
from gatewright.storage import migrations
from gatewright.storage.engine import Driver, Engine
from gatewright.storage.errors import StoreError
from gatewright.storage.former_files import FILES, put_aside_in
from gatewright.storage.lock import has_recorded
from gatewright.storage.opening import StateView, view_state
from gatewright.storage.sqlite import SQLITE

__all__ = [
    "ACCEPTED",
    "ANCHORED",
    "STORES",
    "Anchor",
    "Found",
    "Heads",
    "anchors_of",
    "behind",
    "forgotten",
    "found_in",
    "has_record",
    "lost_trail",
    "place_in",
    "spelled",
    "taken_over",
]

ANCHORED = "dev.gatewright.stores.anchored"
"""The stores have taken steps."""
ACCEPTED = "dev.gatewright.stores.accepted"
"""An operator says that the stores are right as they are."""

STORES = migrations.ANCHORED
"""The sections that may not go back."""
_ROWS_LOST = "dev.gatewright.audit.rows_lost"
_CHANGES = {
    "keys": "key_changes",
    "grants": "grant_changes",
    "permissions": "permission_changes",
    "pins": "pin_changes",
    "approvals": "approval_changes",
}
"""Sections whose changes commands make as well, and the tables of those that wait for the record."""
_WHOLE = ""


class Anchor(msgspec.Struct, frozen=True):
    """One section: which one it is, and how many steps it has taken."""

    mark: int
    steps: int


class Found(msgspec.Struct, frozen=True):
    """The state of a folder at one moment."""

    heads: Mapping[str, Anchor]
    """The sections that are there, of those that may not go back."""
    names: Mapping[str, str]
    """What they are called."""
    problems: Mapping[str, str]
    """Why others cannot be read; the key is empty where none can be."""


def found_in(one: StateView) -> Found:
    """What of a state the record may know. Raises the engine's failure."""
    heads = {
        name: Anchor(head.mark, head.steps) for name, head in one.heads().items() if name in STORES
    }
    return Found(heads, one.names, one.problems)


def place_in(one: StateView) -> Head | None:
    """How far the record had come when a state last heard of it. Raises the engine's failure."""
    return None if one.database is None else noted(one.database.engine)


class Heads:
    """The state of a folder as it is on the disk now, whoever has it open. For one thread."""

    def __init__(self, folder: Path, driver: Driver = SQLITE) -> None:
        self._folder = folder
        self._driver = driver
        self._open: StateView | None = None
        self._place: tuple[int, int] | None = None
        self._first: tuple[int, int] | None = None  # device and inode, as is `_place`

    def found(self) -> Found:
        """What is there now. One statement."""
        try:
            one = self._glimpse()
            return found_in(one)
        except Exception as problem:  # noqa: BLE001 - whatever it is, nobody knows how the state is
            self._forget()
            return Found({}, {}, {_WHOLE: str(problem)})

    def place(self) -> Head | None:
        """How far the record had come when the state last heard of it; None where it does not know, or cannot be read."""
        try:
            return place_in(self._glimpse())
        except Exception:  # noqa: BLE001 - `found` says so
            return None

    def moved(self) -> bool:
        """Whether another file stands in the place of the one that was first looked at."""
        return self._first is not None and self._place not in {None, self._first}

    def in_place(self) -> bool:
        """Whether the one that was first looked at is there now. In any thread, also when this is closed."""
        with contextlib.suppress(OSError):
            return self._first is not None and self._driver.place(self._folder) == self._first
        return False

    def close(self) -> None:
        """Let go of it."""
        self._forget()

    def _glimpse(self) -> StateView:
        # By inode: a file that was moved away goes on answering through its open connection.
        place = self._driver.place(self._folder)
        if self._open is None or place != self._place:
            self._forget()
            one, self._place = view_state(self._folder, self._driver), place
            self._first = self._first or place
            if one.database is None:
                return one  # what cannot be read now is asked for anew each time
            self._open = one
        return self._open

    def _forget(self) -> None:
        one, self._open = self._open, None
        if one is not None:
            one.close()


def anchors_of(folder: Path) -> dict[str, Anchor]:
    """What the record in `folder` knows of the state; nothing where it was written before it knew of it.
    Raises `StoreError`."""
    newest: tuple[int, dict[str, Anchor]] = (0, {})
    # A pruning record repeats the anchors, since it may take the record away that said so.
    for record in AuditReader(folder).newest(ANCHORED, ACCEPTED, PRUNED).values():
        said = _said(record, folder)
        if said is not None and record["seq"] > newest[0]:
            newest = record["seq"], said
    # Records of versions before `state.db` name the files, `grants.db` for the section `grants`.
    return {FILES.get(name, name): one for name, one in newest[1].items()}


def has_record(folder: Path) -> bool:
    """Whether anything of a record is there: its rows, or the journal that they are a copy of."""
    return (folder / DATABASE).exists() or _has_lines(folder)


def _has_lines(folder: Path) -> bool:
    return folder.exists() and any(
        segment_path(folder, number).stat().st_size for number in segment_numbers(folder)
    )


def _said(record: Mapping[str, Any], folder: Path) -> dict[str, Anchor] | None:
    """What a record says of the state; None where it says nothing of it."""
    details = record.get("details")
    said = details.get("stores") if isinstance(details, dict) else None
    if said is None:
        return None
    try:
        return msgspec.convert(said, dict[str, Anchor])
    except msgspec.ValidationError as problem:
        what = f"what record {record['seq']} says of the state cannot be read"
        raise StoreError(f"the record in {folder}: {what}: {problem}") from problem


def spelled(anchors: Mapping[str, Anchor]) -> dict[str, object]:
    """The same, as records have it."""
    return {name: msgspec.to_builtins(one) for name, one in anchors.items()}


def behind(anchors: Mapping[str, Anchor], found: Found) -> list[str]:
    """What of the state is not what the record knows, each in a few words."""
    known = {name: one for name, one in anchors.items() if one.steps or name in found.heads}
    if _WHOLE in found.problems:
        return [found.problems[_WHOLE]] if anchors else []
    # One sentence instead of one for each section.
    if known and not found.heads and not found.problems:
        each = ", ".join(f"{_steps(one)} of {name}" for name, one in known.items())
        return [f"{SQLITE.file} is gone: the record knows {each}"]
    return [wrong for name, one in anchors.items() if (wrong := _wrong_of(name, one, found))]


def _wrong_of(name: str, known: Anchor, found: Found) -> str:
    now, called = found.heads.get(name), found.names.get(name, _FORMER.get(name, name))
    if name in found.problems:
        return found.problems[name]
    if now is None:
        return f"{called} is gone: the record knows {_steps(known)} of it" if known.steps else ""
    if now.mark != known.mark:  # steps of another section say nothing about this one
        return f"{called} is another than the one that is recorded"
    if now.steps < known.steps:
        return f"{called} is an older copy: it has {_steps(now)}, the record knows {known.steps}"
    return ""


_FORMER = {section: name for name, section in FILES.items()}


def forgotten(folder: Path, anchors: Mapping[str, Anchor]) -> list[str]:
    """Whether the record has lost what it knew of the stores, in a few words: `audit.db` is gone, and with it records that
    nothing else had. Raises `StoreError`."""
    if anchors:
        return []
    found = AuditReader(folder).newest(_ROWS_LOST, ACCEPTED)
    if _seq(found.get(_ROWS_LOST)) <= _seq(found.get(ACCEPTED)) and not _begins_late(folder):
        return []
    return ["the record has lost its beginning, and what it knew of the stores"]


def _seq(record: Mapping[str, Any] | None) -> int:
    return 0 if record is None else int(record["seq"])


def _begins_late(folder: Path) -> bool:
    """Whether a journal whose rows are lost does not begin with the first record."""
    if (folder / DATABASE).exists():
        return False
    first = next((line for _, _, line in lines_from(folder, 1, 0)), None)
    try:
        return first is not None and read_link(first).seq != 1
    except BrokenChainError:
        return True


def taken_over(folder: Path, anchors: Mapping[str, Anchor], found: Found) -> list[str]:
    """Whether a state is gone that former files were taken over into, in a few words. A record that knows of no store, as that of
    a version without anchors, does not say so; what was put aside does. Raises `StoreError`."""
    if anchors or _WHOLE in found.problems:
        return []
    gone = put_aside_in(folder, {*found.names, *found.problems})
    if not gone:
        return []
    if has_record(folder) and AuditReader(folder).newest(ACCEPTED):
        return []
    return [f"{SQLITE.file} is gone: it had taken over {', '.join(gone)}"]


def lost_trail(folder: Path, state: StateView | None = None) -> str:
    """What shows that a record was here that is gone; empty where nothing does. For a folder that nobody holds; `state` is what is
    found in it, where that is known."""
    if not folder.exists() or (folder / HEAD).exists():
        return ""
    if _has_lines(folder):
        return ""  # records without a head: whoever opens the record says so
    if has_recorded(folder):
        return "a gateway has run here"
    if state is not None:
        return _evidence(folder, state)
    try:
        state = view_state(folder)
    except StoreError:
        return ""  # whoever opens it says so
    try:
        return _evidence(folder, state)
    finally:
        state.close()


def _left_aside(folder: Path, state: StateView) -> str:
    gone = put_aside_in(
        folder,
        {*state.names, *state.problems, *([*FILES.values()] if _WHOLE in state.problems else [])},
    )
    return f"files of a former version were taken over ({', '.join(gone)})" if gone else ""


def _evidence(folder: Path, state: StateView) -> str:
    """What in a state only a gateway can have left there."""
    try:
        if state.database is None:
            return ""
        return _left_in(state.database.engine, state) or _left_aside(folder, state)
    except state.failures:
        return ""  # whoever opens it says so


def _left_in(engine: Engine, state: StateView) -> str:
    steps = {name: head.steps for name, head in state.heads().items()}
    for name in (one for one in _SAID if one in steps):
        kept = "SELECT 1 FROM documents WHERE section = ? LIMIT 1"
        if steps[name] or engine.execute(kept, (name,)).fetchone() is not None:
            return f"{_SAID[name]} ({state.names[name]}) while a gateway ran"
    for name in (one for one in _CHANGES if one in steps):
        waiting = engine.execute(f"SELECT count(*) FROM {_CHANGES[name]}").fetchone()[0]  # noqa: S608 - a constant
        # Each step leaves an outbox row until its record is on the disk: a missing row is one that a gateway recorded.
        if steps[name] > waiting:
            return f"a gateway has recorded changes of {state.names[name]}"
    if noted(engine) is not None:
        return f"{SQLITE.file} knows a record of it"
    return ""


_SAID = {
    "rooms": "operators have said something of participants",
    "registrations": "tools have been registered",
    "servers": "servers have been registered",
    "stopped": "operators have stopped servers",
}


def _steps(one: Anchor) -> str:
    return "1 change" if one.steps == 1 else f"{one.steps} changes"
