"""Thread that copies flushed journal records into SQLite, deletes copied segments, applies retention; `follow_on` aligns both at start.

It follows only what is known to be on disk, so the rows can never know a record that a power cut
took from the journal. Its place is part of the same transaction as its rows: a crash between
journal and database costs nothing but time.

The statement that adds a batch runs outside Python's global lock, and batches are small enough
that what runs inside it takes a tenth of a millisecond, so that the event loop next door hardly
notices; transactions are large, because SQLite writes each page once for each of them. When a whole
segment is in the rows and two newer ones exist, its file is deleted; the rows, brought to the disk
first, hold every line of it. So is one whose records retention has taken away.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from gatewright.audit.chain import BrokenChainError, read_link
from gatewright.audit.journal import Journal
from gatewright.audit.recovery import damaged_trail
from gatewright.audit.retention import Retention
from gatewright.audit.rows import Fed, Rows
from gatewright.audit.segments import (
    Head,
    complete_lines,
    lines_from,
    segment_numbers,
    segment_path,
)

__all__ = ["Feeder", "follow_on"]

log = logging.getLogger("gatewright.audit")

_BATCH_BYTES = 256 << 10
_BATCHES = 16  # in one transaction
_PAUSE_S = 0.5
_PAUSE_AFTER_PROBLEM_S = 5.0
_KEPT_SEGMENTS = 2


class Feeder:
    """The thread. `problem` says why the rows fall behind, None while they do not."""

    def __init__(
        self, folder: Path, journal: Journal, rows: Rows, retention: Retention | None = None
    ) -> None:
        """`rows` belongs to the feeder from here on. Without `retention` everything is kept."""
        self._retention = retention
        self.problem: str | None = None
        self._folder = folder
        self._journal = journal
        self._rows = rows
        self.fed = rows.fed()
        """How far the rows go."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit-feeder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Copy what is on disk by now and end the thread."""
        self._stopping.set()
        self._thread.join()
        self._try_to_catch_up()  # in the caller's thread: the rows belong to one thread at a time

    def catch_up(self) -> None:
        """Copy everything that is on disk by now.

        Raises `OSError`, `DatabaseError`, or `BrokenChainError` for lines that do not fit.
        """
        while self.fed.seq < self._journal.synced.seq:
            self._rows.feed(self._batches())
            self.fed = self._rows.fed()
        if self._retention is not None and not self._stopping.is_set():
            self._retention.look(self._rows, self._journal, self.fed.seq)
        self._forget_segments()

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE_S if self.problem is None else _PAUSE_AFTER_PROBLEM_S):
            self._try_to_catch_up()

    def _try_to_catch_up(self) -> None:
        try:
            self.catch_up()
        except Exception as problem:  # noqa: BLE001 - whatever it is: say so, and try again later
            if self.problem is None:  # once, not every five seconds
                log.warning("audit rows fall behind the journal, which goes on: %s", problem)
            self.problem = str(problem)
        else:
            if self.problem is not None:
                log.warning("audit rows follow the journal again")
            self.problem = None

    def _batches(self) -> Iterator[tuple[list[bytes], Fed]]:
        # Never beyond: a power cut may take what follows, and rows cannot lose a record.
        target = self._journal.synced
        seq, segment, offset = self.fed.seq, self.fed.segment, self.fed.offset
        for _ in range(_BATCHES):
            if seq >= target.seq:
                return
            path = segment_path(self._folder, segment)
            stop = target.offset if segment == target.segment else None
            lines, offset = _read(path, offset, stop)
            if not lines:
                if segment >= target.segment:
                    raise OSError(f"{path} ends before record {target.seq}")
                segment, offset = segment + 1, 0
                continue
            first, seq = seq + 1, seq + len(lines)
            # The numbers of the ends prove how many there are; a full check of the chain is `audit verify`.
            if (read_link(lines[0]).seq, read_link(lines[-1]).seq) != (first, seq):
                raise BrokenChainError(f"{path} does not go on with record {first}")
            yield lines, Fed(seq, segment, offset)

    def _forget_segments(self) -> None:
        numbers = segment_numbers(self._folder)
        gone = {*numbers[:-_KEPT_SEGMENTS], *self._rows.segments_within(self._rows.pruned()[0])}
        done = [number for number in numbers if number < self.fed.segment and number in gone]
        # The rows are written without waiting for the disk (`open_rows`), so they are flushed before the only other copy goes.
        if done and self._rows.to_disk():
            self._journal.head_to_disk()  # or a power cut brings one back that names a file that is gone
            for number in done:
                segment_path(self._folder, number).unlink(missing_ok=True)


def follow_on(folder: Path, rows: Rows, end: Head) -> tuple[int, int] | None:
    """Bring the rows' place in line with the journal, which ends at `end`, before it is fed.

    Returns the first and last number of records that neither has any more, as after the loss of
    the database: the rows go on behind them. Raises `StoreDamagedError` when the rows know more
    than the journal.
    """
    fed = rows.fed()
    if fed.seq > end.seq:
        raise damaged_trail(
            folder, f"the database has record {fed.seq}, the journal ends at {end.seq}"
        )
    for segment, _, line in lines_from(folder, fed.segment, fed.offset):
        try:
            first = read_link(line).seq
        except BrokenChainError as problem:
            raise damaged_trail(folder, f"the line after record {fed.seq} {problem}") from problem
        if first == fed.seq + 1:
            return None
        # The rows were lost, and segments that were copied into them are deleted: `rows_lost` goes into the trail.
        rows.go_on_at(Fed(first - 1, segment, 0), first)
        return fed.seq + 1, first - 1
    return None


def _read(path: Path, offset: int, stop: int | None) -> tuple[list[bytes], int]:
    """Complete lines from `offset`, not beyond `stop`, and the offset behind them."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = _BATCH_BYTES if stop is None else min(_BATCH_BYTES, stop - offset)
        data = os.pread(file, size, offset)
    finally:
        os.close(file)
    lines, rest = complete_lines(data)
    return lines, offset + len(data) - len(rest)
