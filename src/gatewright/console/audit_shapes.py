"""Shapes of what the console's operations about the audit trail give: a page of records, counts by time, one opened record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

__all__ = ["OpenedRecord", "Record", "Records", "Slices"]

Record = dict[str, Any]


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """One page of records, newest first."""

    records: Sequence[Record]
    before: int | None
    """Give it to get the next page; None where there is none."""
    unsearched: bool
    """Whether the page is short because its time was over: the next one goes on."""


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """How many records there are in each slice of time. Times are milliseconds since 1970."""

    edges: Sequence[int]
    counts: dict[str, list[int]]
    """By outcome, one number for each slice."""
    whole: bool
    """Whether all of the trail was counted by now."""


class OpenedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One record, whose hashes were computed anew."""

    record: Record
    line: str
    """Its canonical form, which the hash is of."""
    hash: str
    """`holds` or `broken`."""
    previous: str
    """Whether it names the record before it: `holds`, `broken`; `first` where nothing is before it, `gone` where that was taken away."""
    problem: str
    trace: Sequence[Record]
    """Other records of its trace, oldest first."""
