"""Recovers the journal at start: finds the last valid line, sets torn lines aside, or refuses if records are lost (`damaged_trail`).

The head says up to where the disk had everything. From there on the chain is followed to the first
line that does not fit: after `kill -9` that is at most one torn line, after a power cut it may be
everything since the last flush, in any order. What comes after is set aside in files of its own,
never thrown away.

A journal that does not even reach its head has lost records that were on disk. No crash of the gateway
does that, so nothing is mended: the gateway refuses to start.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from gatewright.audit.chain import BrokenChainError, Chain
from gatewright.audit.segments import (
    HEAD,
    Head,
    lines_from,
    read_head,
    segment_numbers,
    segment_path,
    set_aside,
)
from gatewright.command_text import to_type
from gatewright.storage.errors import StoreDamagedError

__all__ = ["Recovered", "Torn", "damaged_trail", "recover"]


def damaged_trail(folder: Path, what: str) -> StoreDamagedError:
    """The error for an audit trail in `folder` that lost or changed a record; `what` says which."""
    return StoreDamagedError(
        f"the audit trail in {folder} is damaged: {what}. `{to_type('audit verify')}` names the first "
        "wrong place. To start a new trail, move audit* out of this folder, keep it as evidence, and run "
        f"`{to_type('audit accept')}`"
    )


class Torn(msgspec.Struct, frozen=True):
    """A piece that was set aside."""

    segment: int
    offset: int
    bytes: int
    kept_in: str


class Recovered(msgspec.Struct, frozen=True):
    """Where the journal goes on, and what had to leave it."""

    end: Head
    torn: tuple[Torn, ...] = ()


def recover(folder: Path) -> Recovered:
    """Find the end of the journal in `folder`, which nobody else writes, and cut it there.

    Raises `StoreDamagedError` when records that were on disk are gone or changed.
    """
    head = read_head(folder)
    numbers = segment_numbers(folder)
    if head is None:
        if any(segment_path(folder, number).stat().st_size for number in numbers):
            raise damaged_trail(folder, f"there are records, but no {HEAD}")
        head = Head()
    elif head.seq:
        # Before anything is cut: a trail that lost records is left as evidence.
        _check_reached(folder, head)
    end = _follow(folder, head)
    return Recovered(end, tuple(_cut(folder, end)))


def _check_reached(folder: Path, head: Head) -> None:
    """The record that the head names stands where the head says."""
    path, end = segment_path(folder, head.segment), head.offset
    try:
        if not end:  # a segment without a record yet: the last one is in the segment before
            path = segment_path(folder, head.segment - 1)
            end = path.stat().st_size
        with path.open("rb") as source:
            source.seek(max(0, end - 256))
            tail = source.read(min(256, end))
    except FileNotFoundError:
        tail = b""
    if not tail.endswith(b'"hash":"%b"}\n' % head.hash):
        raise damaged_trail(folder, f"record {head.seq} was on disk and is gone or changed")


def _follow(folder: Path, head: Head) -> Head:
    chain = Chain(head.seq, head.hash)
    end = head
    for segment, offset, line in lines_from(folder, head.segment, head.offset):
        try:
            chain.follow(line)
        except BrokenChainError:  # behind the head nothing was promised to be on the disk
            break
        end = Head(chain.seq, chain.hash, segment, offset + len(line) + 1)
    return end


def _cut(folder: Path, end: Head) -> list[Torn]:
    found = []
    for number in segment_numbers(folder):
        path = segment_path(folder, number)
        keep = end.offset if number == end.segment else 0
        if number < end.segment:
            continue
        if path.stat().st_size > keep:
            content = path.read_bytes()[keep:]
            aside = set_aside(path, content)  # flushed before the original is shortened
            os.truncate(path, keep)
            found.append(Torn(number, keep, len(content), aside.name))
        if number > end.segment:  # the journal makes it anew when it gets there
            path.unlink()
    return found
