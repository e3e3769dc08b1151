"""The files of the journal, and reading them while they grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.audit.segments import (
    HEAD,
    Head,
    complete_lines,
    encode_head,
    lines_from,
    read_head,
    segment_numbers,
    segment_path,
    set_aside,
)
from gatewright.storage.errors import StoreDamagedError


def test_segments_are_found_by_number_and_nothing_else_is(tmp_path: Path) -> None:
    for number in (12, 2, 1_000_000):
        segment_path(tmp_path, number).touch()
    for name in ("audit-1.jsonl", "audit-000003.jsonl.torn-1", "audit.db", "audit.head"):
        (tmp_path / name).touch()
    assert segment_numbers(tmp_path) == [2, 12, 1_000_000]
    assert segment_path(tmp_path, 2).name == "audit-000002.jsonl"


@given(
    st.integers(0, 2**63),
    st.binary(min_size=32, max_size=32),
    st.integers(1, 10**9),
    st.integers(0, 2**40),
)
def test_a_head_is_a_block_of_one_length_and_reads_as_it_was_written(
    seq: int, digest: bytes, segment: int, offset: int
) -> None:
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - a fresh folder for each example

    head = Head(seq, digest.hex().encode(), segment, offset)
    assert len(encode_head(head)) == 192
    with TemporaryDirectory() as name:
        (Path(name) / HEAD).write_bytes(encode_head(head))
        assert read_head(Path(name)) == head


def test_without_a_head_file_there_is_no_head(tmp_path: Path) -> None:
    assert read_head(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        encode_head(Head())[:-1],
        encode_head(Head()) * 2,
        b"x" * 192,
        encode_head(Head(1, offset=10**30)),
    ],
)
def test_a_head_file_that_is_not_ours_is_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / HEAD).write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"audit\.head is not what Gatewright wrote"):
        read_head(tmp_path)


def test_lines_come_with_their_places_across_segments_from_where_one_asks(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).write_bytes(b"aa\nbbb\n")
    segment_path(tmp_path, 2).write_bytes(b"c\n")
    assert list(lines_from(tmp_path, 1, 3)) == [(1, 3, b"bbb"), (2, 0, b"c")]
    assert list(lines_from(tmp_path, 2, 0)) == [(2, 0, b"c")]
    assert list(lines_from(tmp_path, 3, 0)) == []


def test_an_unfinished_line_is_not_a_line(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).write_bytes(b"aa\nbb")
    assert list(lines_from(tmp_path, 1, 0)) == [(1, 0, b"aa")]


def test_lines_longer_than_one_read_come_whole(tmp_path: Path) -> None:
    long = b"x" * (3 << 20)
    segment_path(tmp_path, 1).write_bytes(b"a\n" + long + b"\nb\n")
    assert list(lines_from(tmp_path, 1, 0)) == [
        (1, 0, b"a"),
        (1, 2, long),
        (1, 3 + len(long), b"b"),
    ]


def test_a_segment_deleted_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    segment_path(tmp_path, 1).write_bytes(b"a\nb\n")
    segment_path(tmp_path, 2).write_bytes(b"c\n")
    lines = lines_from(tmp_path, 1, 0)
    first = next(lines)
    segment_path(tmp_path, 1).unlink()
    segment_path(tmp_path, 2).unlink()
    assert [first, *lines] == [(1, 0, b"a"), (1, 2, b"b"), (2, 0, b"c")]


def test_pieces_set_aside_keep_their_bytes_and_do_not_replace_each_other(tmp_path: Path) -> None:
    path = segment_path(tmp_path, 1)
    first, second = set_aside(path, b"one"), set_aside(path, b"two")
    assert (first.read_bytes(), second.read_bytes()) == (b"one", b"two")
    assert first.name == "audit-000001.jsonl.torn-1"
    assert first.stat().st_mode & 0o777 == 0o600


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\x0b", b"\x1c", b"\xc2\x85", b"{}"])))
def test_a_line_ends_with_a_newline_and_with_nothing_else(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    *lines, rest = data.split(b"\n")
    assert complete_lines(data) == (lines, rest)
