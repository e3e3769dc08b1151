"""The writer: every write that fails stops it, and nothing is assumed until it is mended."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gatewright.audit import journal as module
from gatewright.audit.chain import Chain
from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.segments import HEAD, read_head, segment_numbers, segment_path
from gatewright.call import Unrecorded
from tests.audit.parts import body, journal_lines


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path, recover(tmp_path).end)
    yield found
    if found.fault is None:
        found.close()


class Faults:
    """Makes one system call of the journal fail; everything else goes to the real system.

    What a failing disk does cannot be had from a real one on demand.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def write(self, error: int, keep: int) -> None:
        """From now on writes keep the first `keep` bytes, then fail."""
        real = os.write

        def write(file: int, data: bytes) -> int:
            if keep:
                real(file, data[:keep])
            raise OSError(error, os.strerror(error))

        self._patch.setattr(os, "write", write)

    def short(self, size: int) -> None:
        """From now on a write takes at most `size` bytes."""
        real = os.write
        self._patch.setattr(os, "write", lambda file, data: real(file, data[:size]))

    def flush(self, error: int) -> None:
        """From now on a flush fails."""

        def to_disk(_: int) -> None:
            raise OSError(error, os.strerror(error))

        self._patch.setattr(module, "_to_disk", to_disk)

    def none(self) -> None:
        """The disk is well again."""
        self._patch.undo()


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


def _whole(folder: Path) -> int:
    chain = Chain()
    for line in journal_lines(folder):
        chain.follow(line.removesuffix(b"\n"))
    return chain.seq


def test_an_appended_record_is_in_the_file_before_append_returns(
    journal: Journal, tmp_path: Path
) -> None:
    for number in range(1, 4):
        assert journal.append(body(number)) == number
        assert len(journal_lines(tmp_path)) == number
    assert _whole(tmp_path) == 3


def test_the_head_follows_with_each_flush_and_not_before(journal: Journal, tmp_path: Path) -> None:
    journal.append(body())
    assert read_head(tmp_path).seq == 0  # type: ignore[union-attr]
    journal.sync()
    assert read_head(tmp_path) == journal.end == journal.synced


def test_a_full_segment_is_followed_by_the_next(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=2000)
    for number in range(20):
        journal.append(body(number))
    assert all(
        segment_path(tmp_path, number).stat().st_size <= 2000
        for number in segment_numbers(tmp_path)
    )
    assert segment_numbers(tmp_path) == list(range(1, journal.end.segment + 1))
    journal.close()
    assert _whole(tmp_path) == 20
    assert read_head(tmp_path) == recover(tmp_path).end


def test_a_record_larger_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=100)
    for number in range(3):
        journal.append(body(number))
    journal.close()
    assert segment_numbers(tmp_path) == [1, 2, 3]
    assert _whole(tmp_path) == 3


def test_a_write_that_ends_short_is_completed(
    journal: Journal, faults: Faults, tmp_path: Path
) -> None:
    faults.short(7)
    journal.append(body(1))
    journal.append(body(2))
    assert _whole(tmp_path) == 2


def test_what_is_written_together_is_never_split_over_two_segments(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=2000)
    for first in range(0, 20, 4):
        assert journal.append_all([body(number) for number in range(first, first + 4)]) == first + 4
    journal.append_all([body(number) for number in range(20, 40)])  # longer than a segment
    journal.append(body(40))
    journal.close()
    sizes = [journal_path.read_bytes().count(b"\n") for journal_path in _segments(tmp_path)]
    assert sizes[-2:] == [20, 1]
    assert all(size % 4 == 0 for size in sizes[:-1])
    assert _whole(tmp_path) == 41
    assert read_head(tmp_path) == recover(tmp_path).end


def _segments(folder: Path) -> list[Path]:
    return [segment_path(folder, number) for number in segment_numbers(folder)]


@pytest.mark.parametrize("keep", [0, 1, 100, 500, 10_000])
def test_of_what_is_written_together_all_is_there_or_nothing(
    journal: Journal, faults: Faults, tmp_path: Path, keep: int
) -> None:
    journal.append_all([body(1), body(2)])
    faults.write(errno.ENOSPC, keep)
    with pytest.raises(Unrecorded, match="the audit trail cannot be written"):
        journal.append_all([body(3), body(4), body(5)])
    assert journal.end.seq == 2
    faults.none()
    journal.repair()
    assert journal.append_all([body(6), body(7)]) == 4
    assert _whole(tmp_path) == 4
    assert all(b"trace-%d" % n not in b"".join(journal_lines(tmp_path)) for n in (3, 4, 5))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("keep", [0, 1, 100, 10_000])
def test_a_failed_write_refuses_and_leaves_no_trace_after_the_repair(
    journal: Journal, faults: Faults, tmp_path: Path, error: int, keep: int
) -> None:
    journal.append(body(1))
    faults.write(error, keep)
    with pytest.raises(Unrecorded, match="the audit trail cannot be written"):
        journal.append(body(2))
    assert journal.end.seq == 1
    faults.none()
    with pytest.raises(Unrecorded):
        journal.append(body(3))
    journal.repair()
    assert journal.append(body(4)) == 2
    assert _whole(tmp_path) == 2
    assert b"trace-2" not in b"".join(journal_lines(tmp_path))


def test_what_was_acknowledged_before_a_failed_write_can_still_be_flushed(
    journal: Journal, faults: Faults, tmp_path: Path
) -> None:
    journal.append(body(1))
    faults.write(errno.ENOSPC, 50)
    with pytest.raises(Unrecorded):
        journal.append(body(2))
    faults.none()
    journal.sync()
    assert journal.synced.seq == 1
    assert recover(tmp_path).end.seq == 1


def test_a_crash_after_a_failed_write_loses_nothing_that_was_acknowledged(
    journal: Journal, faults: Faults, tmp_path: Path
) -> None:
    journal.append(body(1))
    faults.write(errno.EIO, 10_000)  # the bytes are there, and the system says that they are not
    with pytest.raises(Unrecorded):
        journal.append(body(2))
    assert recover(tmp_path).end.seq in {1, 2}


def test_a_failed_flush_stops_the_journal_until_everything_was_written_again(
    journal: Journal, faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(body(1))
    journal.sync()
    for number in (2, 3):
        journal.append(body(number))
    faults.flush(errno.EIO)
    with pytest.raises(Unrecorded, match="cannot be flushed"):
        journal.sync()
    for attempt in (lambda: journal.append(body(4)), journal.sync):
        with pytest.raises(Unrecorded):
            attempt()
    with pytest.raises(OSError, match="Input/output error"):
        journal.repair()
    faults.none()
    written: list[bytes] = []
    real = os.pwrite

    def pwrite(file: int, data: bytes, offset: int) -> int:
        written.append(data)
        return real(file, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    journal.repair()
    assert written[:2] == journal_lines(tmp_path)[1:3]
    assert journal.synced.seq == 3
    assert journal.append(body(4)) == 4
    assert _whole(tmp_path) == 4


def test_a_failed_flush_is_mended_across_segments(tmp_path: Path, faults: Faults) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=1000)
    for number in range(2):
        journal.append(body(number))
    faults.flush(errno.ENOSPC)
    for number in range(4):
        journal.append(body(number))
    with pytest.raises(Unrecorded):
        journal.sync()
    faults.none()
    journal.repair()
    assert journal.synced == journal.end
    journal.close()
    assert _whole(tmp_path) == 6


def test_pages_that_the_system_lost_after_a_failed_flush_stay_a_fault(
    journal: Journal, faults: Faults, tmp_path: Path
) -> None:
    for number in range(3):
        journal.append(body(number))
    faults.flush(errno.EIO)
    with pytest.raises(Unrecorded):
        journal.sync()
    faults.none()
    path = segment_path(tmp_path, 1)
    content = bytearray(path.read_bytes())
    content[100:200] = bytes(100)
    path.write_bytes(content)
    for _ in range(3):
        with pytest.raises(OSError, match="record 1"):
            journal.repair()
    assert journal.fault is not None


def test_a_disk_with_hardly_any_room_does_not_count_as_mended(
    journal: Journal, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.write(errno.ENOSPC, 0)
    with pytest.raises(Unrecorded):
        journal.append(body())
    faults.none()
    real = os.fstatvfs

    class Little:
        def __init__(self, file: int) -> None:
            self.f_frsize = real(file).f_frsize
            self.f_bavail = 3

    monkeypatch.setattr(os, "fstatvfs", Little)
    with pytest.raises(OSError, match="No space left"):
        journal.repair()
    monkeypatch.undo()
    journal.repair()
    assert journal.append(body()) == 1


def test_an_interrupt_in_the_middle_of_a_write_leaves_an_end_that_is_cut(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def interrupted(file: int, data: bytes) -> int:
        real(file, data[:30])
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.append(body(1))
    monkeypatch.undo()
    assert journal.fault is not None
    journal.repair()
    journal.append(body(2))
    assert _whole(tmp_path) == 1


def test_a_segment_that_cannot_be_opened_refuses_and_recovers(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=1000)
    for number in range(2):
        journal.append(body(number))
    segment_path(tmp_path, 2).mkdir()
    with pytest.raises(Unrecorded):
        journal.append(body(2))
    segment_path(tmp_path, 2).rmdir()
    journal.repair()
    for number in range(5):
        journal.append(body(number))
    journal.close()
    assert _whole(tmp_path) == recover(tmp_path).end.seq


def test_a_closed_journal_refuses_and_has_everything_on_disk(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end)
    journal.append(body())
    journal.close()
    assert read_head(tmp_path) == journal.end
    with pytest.raises(Unrecorded, match="the gateway is stopping"):
        journal.append(body())


def test_a_closed_journal_touches_no_file_that_has_its_numbers_by_then(tmp_path: Path) -> None:
    folder = tmp_path / "trail"
    folder.mkdir()
    journal = Journal(folder, recover(folder).end)
    journal.append(body())
    journal.close()
    others = [tmp_path / f"other-{number}" for number in range(3)]
    with ExitStack() as stack:
        for other in others:
            file = stack.enter_context(other.open("w+"))
            file.write("x" * 10_000)
            file.flush()
        with pytest.raises(Unrecorded, match="the gateway is stopping"):
            journal.sync()
        for do in (journal.repair, journal.head_to_disk):
            with pytest.raises(OSError, match="the gateway is stopping"):
                do()
        journal.close()
        assert [other.read_text() for other in others] == ["x" * 10_000] * 3
        assert os.fstat(file.fileno()).st_size == 10_000


def test_the_files_of_the_journal_belong_to_their_owner_alone(
    journal: Journal, tmp_path: Path
) -> None:
    journal.append(body())
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {HEAD: 0o600, "audit-000001.jsonl": 0o600}


def test_repairing_what_is_well_changes_nothing(journal: Journal, tmp_path: Path) -> None:
    journal.append(body())
    before = journal_lines(tmp_path)
    journal.repair()
    assert journal_lines(tmp_path) == before
    assert journal.append(body()) == 2
