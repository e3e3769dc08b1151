"""Response types of the console's audit operations: a page of records, counts by time, one record; hides others' sign-in addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gatewright.console.people import Person

__all__ = ["OpenedRecord", "Record", "Records", "Slices", "shown", "whose_eyes"]

Record = dict[str, Any]


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """One page of records, newest first unless the oldest were asked for first."""

    records: Sequence[Record]
    before: int | None
    """Give it to get the next page; None where there is none."""
    unsearched: bool
    """Whether the page is short because its time was over: the next one goes on."""
    newest: int
    """The number of the last record that there was, whether it fits or not."""


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """How many records there are in each slice of time. Times are milliseconds since 1970."""

    edges: Sequence[int]
    counts: dict[str, list[int]]
    """By outcome, one number for each slice."""
    whole: bool
    """Whether all of the trail was counted by now."""
    newest: int
    """The number of the last record that was counted: ask for no more than that until all are."""
    more: bool
    """Whether more is counted for who asks again. Records that are more than eight million behind the newest never are."""


class OpenedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One record, whose hashes were computed anew."""

    record: Record
    line: str
    """Its canonical form, which the hash is of; empty where something of it is not for whoever asks."""
    hash: str
    """`holds` or `broken`."""
    previous: str
    """Whether it names the record before it: `holds`, `broken`; `first` where nothing is before it, `gone` where that was taken away."""
    problem: str
    trace: Sequence[Record]
    """Other records of its trace, oldest first."""


def shown(record: Record, person: Person) -> Record:
    """A record without the address at which somebody else signed in, for a person who neither exports the record nor ends sessions."""
    if not whose_eyes(person) or not _is_of_sign_in(record):
        return record
    details = record.get("details") or {}
    if "address" not in details or record["actor"].get("id") == person.id:
        return record
    return {**record, "details": {**details, "address": "not shown to your role"}}


def whose_eyes(person: Person) -> str:
    """What tells those apart who see the same record otherwise: empty for those who see all of it."""
    return "" if person.may("change") or person.may("export") else person.id


def _is_of_sign_in(record: Record) -> bool:
    return str(record.get("event_type", "")).startswith("dev.gatewright.console.")
