"""Starting again after anything: what is kept, what is set aside, what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.segments import HEAD, Head, encode_head, read_head, segment_path
from gatewright.storage.errors import StoreDamagedError
from tests.audit.parts import body, journal_lines


def _written(
    folder: Path, count: int, *, synced: int | None = None, segment: int = 1 << 20
) -> Head:
    """A journal of `count` records; the head stands at `synced`. Returns its end."""
    journal = Journal(folder, recover(folder).end, segment_bytes=segment)
    head = journal.end
    for number in range(count):
        if number == synced:
            head = journal.end
        journal.append(body(number))
    end = journal.end
    journal.close()
    if synced is not None:
        (folder / HEAD).write_bytes(encode_head(head))
    return end


def test_an_empty_folder_begins_with_record_one(tmp_path: Path) -> None:
    assert recover(tmp_path).end == Head()


def test_a_journal_that_was_closed_goes_on_where_it_ended(tmp_path: Path) -> None:
    end = _written(tmp_path, 10)
    found = recover(tmp_path)
    assert found.end == end
    assert found.torn == ()


def test_records_behind_the_head_are_kept_as_after_a_kill(tmp_path: Path) -> None:
    end = _written(tmp_path, 50, synced=3)
    assert recover(tmp_path).end == end


def test_records_behind_the_head_are_kept_across_segments(tmp_path: Path) -> None:
    end = _written(tmp_path, 50, synced=3, segment=1000)
    assert end.segment > 5
    assert recover(tmp_path).end == end


def test_a_torn_last_line_is_set_aside_byte_for_byte(tmp_path: Path) -> None:
    end = _written(tmp_path, 5)
    path = segment_path(tmp_path, 1)
    with path.open("ab") as journal:
        journal.write(b'{"seq":6,"id":"half')
    found = recover(tmp_path)
    assert found.end == end
    assert [(piece.offset, piece.bytes) for piece in found.torn] == [(end.offset, 19)]
    assert (tmp_path / found.torn[0].kept_in).read_bytes() == b'{"seq":6,"id":"half'
    assert path.stat().st_size == end.offset


def test_every_length_of_the_last_line_recovers_to_the_record_before(tmp_path: Path) -> None:
    _written(tmp_path, 3, synced=2)
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    last = len(journal_lines(tmp_path)[-1])
    for length in range(len(whole) - last, len(whole)):
        path.write_bytes(whole[:length])
        assert recover(tmp_path).end.seq == 2, length
    path.write_bytes(whole)
    assert recover(tmp_path).end.seq == 3


def test_blocks_that_a_power_cut_left_empty_end_the_journal_there(tmp_path: Path) -> None:
    _written(tmp_path, 40, synced=10)
    path = segment_path(tmp_path, 1)
    content = bytearray(path.read_bytes())
    hole = len(content) * 3 // 5
    content[hole : hole + 300] = bytes(300)
    path.write_bytes(content)
    found = recover(tmp_path)
    assert 10 <= found.end.seq < 40
    assert found.torn[0].offset == found.end.offset
    kept = (tmp_path / found.torn[0].kept_in).read_bytes()
    assert path.read_bytes() + kept == content


def test_segments_behind_a_break_are_set_aside_and_made_anew(tmp_path: Path) -> None:
    _written(tmp_path, 12, synced=1, segment=1000)
    second = segment_path(tmp_path, 2)
    second.write_bytes(second.read_bytes()[:-100])
    found = recover(tmp_path)
    assert found.end.segment == 2
    assert {piece.segment for piece in found.torn} >= {2, 3, 4}
    assert not segment_path(tmp_path, 3).exists()
    _written(tmp_path, 12, segment=1000)
    assert recover(tmp_path).end.seq == found.end.seq + 12


def test_an_empty_segment_left_by_a_crash_is_no_obstacle(tmp_path: Path) -> None:
    end = _written(tmp_path, 3)
    segment_path(tmp_path, 2).touch()
    assert recover(tmp_path).end == end
    assert _written(tmp_path, 10, segment=1000).seq == 13


def test_a_head_at_the_beginning_of_a_segment_finds_its_record_before_it(tmp_path: Path) -> None:
    end = _written(tmp_path, 3)
    segment_path(tmp_path, 2).touch()
    (tmp_path / HEAD).write_bytes(encode_head(Head(end.seq, end.hash, 2, 0)))
    assert recover(tmp_path).end == Head(end.seq, end.hash, 2, 0)


def test_a_recovered_journal_is_one_chain_with_what_follows(tmp_path: Path) -> None:
    generator = random.Random(7)
    expected = 0
    for _ in range(20):
        expected = _written(tmp_path, 5, synced=2).seq
        path = segment_path(tmp_path, 1)
        with path.open("ab") as journal:
            journal.write(generator.randbytes(generator.randrange(80)))
    assert recover(tmp_path).end.seq == expected == 100


@pytest.mark.parametrize("harm", ["shorter", "changed", "gone", "emptied"])
def test_a_journal_that_lost_what_was_on_disk_is_refused(tmp_path: Path, harm: str) -> None:
    _written(tmp_path, 5)
    path = segment_path(tmp_path, 1)
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        replacement = {
            "shorter": content[: content.rindex(b'{"seq":5')],
            "changed": content[:-10] + b"000000" + content[-4:],
            "emptied": b"",
        }
        path.write_bytes(replacement[harm])
    with pytest.raises(StoreDamagedError, match="record 5 was on disk and is gone or changed"):
        recover(tmp_path)


def test_records_without_a_head_file_are_refused(tmp_path: Path) -> None:
    _written(tmp_path, 5)
    (tmp_path / HEAD).unlink()
    with pytest.raises(StoreDamagedError, match=r"there are records, but no audit\.head"):
        recover(tmp_path)


def test_a_refused_journal_is_left_as_it_is(tmp_path: Path) -> None:
    _written(tmp_path, 5)
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-700])
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(StoreDamagedError):
        recover(tmp_path)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_new_journal_makes_its_head_before_its_first_record(tmp_path: Path) -> None:
    journal = Journal(tmp_path, recover(tmp_path).end)
    assert read_head(tmp_path) == Head()
    journal.close()
