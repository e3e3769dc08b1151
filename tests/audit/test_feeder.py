"""From the journal into SQLite: everything, once, in order, whatever stops it in between."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from gatewright.audit import journal as journal_module
from gatewright.audit.feeder import Feeder, follow_on
from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.rows import DATABASE, Fed, Rows, open_rows, open_rows_to_read
from gatewright.audit.segments import HEAD, lines_from, segment_numbers, segment_path
from gatewright.storage.errors import StoreDamagedError
from gatewright.storage.sqlite import Database
from tests.audit.parts import body, until


class Trail:
    """A journal with its rows, without the rest of an audit trail."""

    def __init__(self, folder: Path, segment_bytes: int = 1 << 20) -> None:
        self.folder = folder
        self.journal = Journal(folder, recover(folder).end, segment_bytes=segment_bytes)
        self.database: Database = open_rows(folder)
        self.rows = Rows(self.database)
        self.feeder: Feeder | None = None

    def write(self, count: int) -> None:
        """Append and flush."""
        for _ in range(count):
            self.journal.append(body(self.journal.end.seq + 1))
        self.journal.sync()

    def feed(self) -> Feeder:
        """Start the feeder."""
        self.feeder = Feeder(self.folder, self.journal, self.rows)
        return self.feeder

    def close(self) -> None:
        """End whatever runs."""
        if self.feeder is not None:
            self.feeder.close()
        self.journal.close()
        self.database.close()


@contextmanager
def _trail(folder: Path, segment_bytes: int = 1 << 20) -> Iterator[Trail]:
    trail = Trail(folder, segment_bytes)
    try:
        yield trail
    finally:
        trail.close()


def _rows(folder: Path) -> list[bytes]:
    database = open_rows_to_read(folder)
    lines = [line for _, line in Rows(database).lines()]
    database.close()
    return lines


async def test_the_rows_are_the_lines_of_the_journal(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(2000)
        feeder = trail.feed()
        await until(lambda: feeder.fed.seq == 2000)
        trail.write(10)
        await until(lambda: feeder.fed.seq == 2010)
    assert _rows(tmp_path) == [line for _, _, line in lines_from(tmp_path, 1, 0)]


async def test_what_is_not_on_disk_is_not_in_the_rows(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(5)
        feeder = trail.feed()
        await until(lambda: feeder.fed.seq == 5)
        trail.journal.append(body(6))
        feeder.catch_up()
        assert len(_rows(tmp_path)) == 5
        trail.journal.sync()
        feeder.catch_up()
        assert len(_rows(tmp_path)) == 6


def test_closing_brings_the_rows_up_to_date(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.feed()
        trail.write(700)
    assert len(_rows(tmp_path)) == 700


class CrashingRows(Rows):
    """Loses its power in the middle of a transaction, after some batches."""

    batches = 0

    def feed(self, batches: Iterable[tuple[Sequence[bytes], Fed]]) -> None:
        def until_the_crash() -> Iterator[tuple[Sequence[bytes], Fed]]:
            yield from islice(batches, self.batches)
            raise ConnectionError("the power went")

        super().feed(until_the_crash())


@pytest.mark.parametrize("batches", [0, 1, 3, 7])
def test_a_crash_between_journal_and_database_loses_and_doubles_nothing(
    tmp_path: Path, batches: int
) -> None:
    with _trail(tmp_path, 5000) as trail:
        trail.write(60)
        whole = [line for _, _, line in lines_from(tmp_path, 1, 0)]
        trail.rows = CrashingRows(trail.database)
        CrashingRows.batches = batches
        feeder = trail.feed()
        feeder.close()
        assert feeder.problem == "the power went"
        trail.feeder = None
    assert _rows(tmp_path) == []
    with _trail(tmp_path, 5000) as again:
        again.feed()
    assert _rows(tmp_path) == whole


def test_segments_are_deleted_when_the_rows_have_them_and_two_newer_ones_exist(
    tmp_path: Path,
) -> None:
    with _trail(tmp_path, 5000) as trail:
        trail.write(100)
        newest = trail.journal.end.segment
        assert newest > 6
        assert segment_numbers(tmp_path) == list(range(1, newest + 1))
        trail.feed()
    assert segment_numbers(tmp_path) == [newest - 1, newest]
    assert len(_rows(tmp_path)) == 100


def test_no_power_cut_brings_a_head_back_that_names_a_deleted_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is written in place and seldom flushed, and a deletion may be on the disk before it is."""
    real, on_disk = journal_module._to_disk, [b""]

    def to_disk(descriptor: int) -> None:
        real(descriptor)
        if os.fstat(descriptor).st_ino == (tmp_path / HEAD).stat().st_ino:
            on_disk.append((tmp_path / HEAD).read_bytes())

    monkeypatch.setattr(journal_module, "_to_disk", to_disk)
    with _trail(tmp_path, segment_bytes=2000) as trail:
        trail.write(100)
        trail.feed().close()
    assert segment_numbers(tmp_path)[0] > 1
    (tmp_path / HEAD).write_bytes(on_disk[-1])
    assert recover(tmp_path).end.seq == 100


def test_segments_stay_as_long_as_a_reader_keeps_rows_from_the_disk(tmp_path: Path) -> None:
    with _trail(tmp_path, 5000) as trail:
        trail.database.execute("PRAGMA busy_timeout = 10")
        trail.write(1)
        trail.feed().close()
        trail.feeder = None
        reader = open_rows_to_read(tmp_path)
        with reader.snapshot():
            assert Rows(reader).fed().seq == 1
            trail.write(99)
            segments = segment_numbers(tmp_path)
            trail.feed().close()
            assert segment_numbers(tmp_path) == segments
        reader.close()
        trail.feed().close()
        assert len(segment_numbers(tmp_path)) == 2


async def test_a_database_that_fails_is_named_and_caught_up_with_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="gatewright.audit")
    with _trail(tmp_path) as trail:
        trail.write(3)
        trail.database.execute("ALTER TABLE records RENAME TO hidden")
        feeder = trail.feed()
        await until(lambda: feeder.problem is not None)
        assert "no such table" in str(feeder.problem)
        trail.write(3)
        trail.database.execute("ALTER TABLE hidden RENAME TO records")
        feeder.close()
        assert feeder.problem is None
        assert feeder.fed.seq == 6
        trail.feeder = None
    messages = [record.getMessage() for record in caplog.records]
    assert len([text for text in messages if "fall behind" in text]) == 1
    assert messages[-1] == "audit rows follow the journal again"


def test_a_journal_that_was_changed_behind_the_head_is_not_copied(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(5)
        path = segment_path(tmp_path, 1)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
        feeder = trail.feed()
        feeder.close()
        assert "does not go on with record 1" in str(feeder.problem)
        trail.feeder = None
    assert _rows(tmp_path) == []


def test_rows_that_know_more_than_the_journal_are_damage(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(3)
        trail.feed().close()
        trail.feeder = None
        trail.rows.go_on_at(Fed(9, 1, 4000), 1)
        with pytest.raises(StoreDamagedError, match="the database has record 9, the journal ends"):
            follow_on(tmp_path, trail.rows, trail.journal.end)


def test_rows_that_are_in_line_with_the_journal_stay_where_they_are(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(3)
        assert follow_on(tmp_path, trail.rows, trail.journal.end) is None
        trail.feed().close()
        trail.feeder = None
        place = trail.rows.fed()
        assert follow_on(tmp_path, trail.rows, trail.journal.end) is None
        assert trail.rows.fed() == place


def test_after_the_loss_of_the_database_the_rows_are_made_again_from_the_journal(
    tmp_path: Path,
) -> None:
    with _trail(tmp_path) as trail:
        trail.write(30)
        trail.feed()
    whole = _rows(tmp_path)
    for path in tmp_path.glob(f"{DATABASE}*"):
        path.unlink()
    with _trail(tmp_path) as trail:
        assert follow_on(tmp_path, trail.rows, trail.journal.end) is None
        trail.feed()
    assert _rows(tmp_path) == whole


def test_records_that_were_in_the_lost_database_alone_are_named(tmp_path: Path) -> None:
    with _trail(tmp_path, 5000) as trail:
        trail.write(100)
        trail.feed()
    for path in tmp_path.glob(f"{DATABASE}*"):
        path.unlink()
    kept = [line for _, _, line in lines_from(tmp_path, 1, 0)]
    with _trail(tmp_path, 5000) as trail:
        assert follow_on(tmp_path, trail.rows, trail.journal.end) == (1, 100 - len(kept))
        trail.feed()
    assert _rows(tmp_path) == kept


def test_a_line_that_does_not_fit_behind_the_rows_is_damage(tmp_path: Path) -> None:
    with _trail(tmp_path) as trail:
        trail.write(3)
        path = segment_path(tmp_path, 1)
        path.write_bytes(b"x" + path.read_bytes()[1:])
        with pytest.raises(StoreDamagedError, match="the line after record 0 is not a record"):
            follow_on(tmp_path, trail.rows, trail.journal.end)
