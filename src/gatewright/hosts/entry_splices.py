"""Adds an entry to a host file's text and undoes that even after later edits; `Record`, `Step` hold text changes and the servers replaced.

Theory: a change of a text is one splice: at an offset, one piece in the place of another. As long as
the file is what we left, the splice backwards gives the file that was there before, byte for byte, and
digests prove both. When somebody has edited it since, our piece is looked for where it is now; where
even that has changed, the entry is taken out by its name. In each case everything else stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from gatewright.hosts.edit import add_entry, entries, has_container, remove_entries, same_but
from gatewright.hosts.host_table import Host
from gatewright.hosts.whole_file import Unreadable

__all__ = ["Record", "Step", "apply", "digest", "splice", "take_back"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ours. `taken` are the originals that had to leave for it, name → entry.

    Texts are of the file before and after; `offset` counts characters.
    """

    name: str
    entry: Mapping[str, Any]
    taken: Mapping[str, Any] = {}
    made_container: bool
    offset: int
    removed: str
    inserted: str
    before: str
    """SHA-256 of the text before; empty where there was no file."""
    after: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All our entries in one file, in the order in which they came."""

    host: str
    file: str
    folders: tuple[str, ...] = ()
    """Folders that did not exist before, the innermost first."""
    steps: tuple[Step, ...] = ()

    def step(self, name: str) -> Step | None:
        """Our entry of that name."""
        return next((one for one in self.steps if one.name == name), None)

    def without(self, name: str) -> Record:
        """The record without that entry."""
        kept = tuple(one for one in self.steps if one.name != name)
        return msgspec.structs.replace(self, steps=kept)


def digest(text: str | None) -> str:
    """SHA-256 of a text; empty for no text at all."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


def splice(before: str, after: str) -> tuple[int, str, str]:
    """(offset, piece that went, piece that came): the shortest change from one text to the other."""
    head = _shared(before, after)
    # Only of what is behind the head: in `aa` → `aaa` both would claim the same letters.
    tail = _shared(before[head:][::-1], after[head:][::-1])
    return head, before[head : len(before) - tail], after[head : len(after) - tail]


def _shared(one: str, other: str) -> int:
    """How long the beginning is that two texts share; by halves, because texts have megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def apply(
    host: Host,
    before: str | None,
    name: str,
    entry: Mapping[str, Any],
    taken: Collection[str] = (),
) -> tuple[str, Step]:
    """The text with our entry, without the entries in `taken`; None stands for a file that is not there.

    Raises `Unreadable` and `CannotEdit`.
    """
    start = before or ""
    made_container = not has_container(host, start)
    text = remove_entries(host, start, taken, emptied=False) if taken else start
    text = add_entry(host, text, name, entry)
    offset, removed, inserted = splice(start, text)
    return text, Step(
        name=name,
        entry=entry,
        taken={one: value for one, value in entries(host, start).items() if one in taken},
        made_container=made_container,
        offset=offset,
        removed=removed,
        inserted=inserted,
        before=digest(before),
        after=digest(text),
    )


def take_back(host: Host, text: str, record: Record, name: str) -> tuple[str | None, Record]:
    """The text without our entry of that name, None where no file was, and the record of what is left.

    Works without a record, too: then the entry is taken out by its name. Raises `Unreadable` and
    `CannotEdit`.
    """
    step = record.step(name)
    if step is None:
        return remove_entries(host, text, [name], emptied=False), record
    unwound = _unwound(text, record, step)
    if unwound is None:
        return _cut_out(host, text, step), record.without(name)
    found, below, above = unwound
    left = msgspec.structs.replace(record, steps=below)
    # Anew, because their splices are of texts that had this entry in them.
    for one in above:
        found, again = apply(host, found, one.name, one.entry, one.taken)
        left = msgspec.structs.replace(left, steps=(*left.steps, again))
    return found, left


def _unwound(
    text: str, record: Record, step: Step
) -> tuple[str | None, tuple[Step, ...], tuple[Step, ...]] | None:
    """The text before this step with the steps below and above it; None where the file is not ours."""
    place = record.steps.index(step)
    found: str | None = text
    for one in reversed(record.steps[place:]):
        if found is None or digest(found) != one.after:
            return None
        end = one.offset + len(one.inserted)
        found = found[: one.offset] + one.removed + found[end:] if one.before else None
        if digest(found) != one.before:
            return None
    return found, record.steps[:place], record.steps[place + 1 :]


def _cut_out(host: Host, text: str, step: Step) -> str | None:
    """The text without the entry, after somebody has edited it; None where nothing is left of it."""
    if step.name not in entries(host, text):
        return text
    # Only where it cannot be another piece of the file that reads alike.
    if text.count(step.inserted) == 1:
        found = text.replace(step.inserted, step.removed)
        if _is_right(host, text, found, step):
            return found
    found = remove_entries(host, text, [step.name], emptied=step.made_container)
    for name, entry in step.taken.items():
        found = found if name in entries(host, found) else add_entry(host, found, name, entry)
    # The file was not there before, and braces are all that is left in it.
    return None if not step.before and found.strip("\ufeff{} \t\r\n") == "" else found


def _is_right(host: Host, text: str, found: str, step: Step) -> bool:
    try:
        names = entries(host, found)
        same = same_but(host, text, found, {step.name, *step.taken})
    except Unreadable:
        return False
    return same and step.name not in names and set(step.taken) <= set(names)
