from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport import stderr
from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.transport.stderr import LAST_LINES, LOOKS, LogLines


def log(limits: Limits = FROM_SERVERS) -> tuple[LogLines, list[str]]:
    said: list[str] = []
    return LogLines(limits, said.append), said


def test_lines_come_out_whole_whatever_pieces_they_arrive_in() -> None:
    lines, said = log()
    for piece in (b"one\r\ntw", b"o\n", b"\n", b"three"):
        lines.feed(piece, 0)
    assert said == ["one", "two"]
    lines.end()
    assert said == ["one", "two", "three"]


def test_a_line_beyond_the_limit_is_cut_and_the_rest_of_it_dropped() -> None:
    lines, said = log(Limits(stderr_line_bytes=10))
    for _ in range(100):
        lines.feed(b"x" * 7, 0)
    lines.feed(b"\nnext\n" + b"y" * 11 + b"\n" + b"z" * 10 + b"\n", 0)
    assert said == ["x" * 10 + "…", "next", "y" * 10 + "…", "z" * 10]


def test_lines_beyond_the_rate_are_counted_and_told_a_second_later() -> None:
    lines, said = log(Limits(stderr_lines_per_s=2))
    lines.feed(b"1\n2\n3\n4\n", 10.0)
    lines.feed(b"5\n6\npart", 10.5)
    assert said == ["1", "2"]
    lines.feed(b"ly 7\n", 11.0)
    assert said == ["1", "2", "(4 more lines on standard error were left out)", "partly 7"]


def test_lines_still_uncounted_at_the_end_are_told_then() -> None:
    lines, said = log(Limits(stderr_lines_per_s=1))
    lines.feed(b"1\n2\nhalf", 0)
    lines.end()
    assert said == ["1", "2", "half"]


@given(
    st.lists(st.sampled_from([b"a", b"bc\n", b"\n", b"\r\n", b"def\ngh\n", b"i\nj"]), max_size=60)
)
def test_what_a_flood_says_last_is_told_when_it_ends_however_it_comes_in_pieces(
    pieces: list[bytes],
) -> None:
    lines, said = log(Limits(stderr_lines_per_s=1))
    for piece in pieces:
        lines.feed(piece, 0)
    lines.end()
    whole = b"".join(pieces).decode().replace("\r\n", "\n").split("\n")
    every = [line for line in whole if line]
    seen = [line for line in whole[:LOOKS] if line][:1]
    last = every[len(seen) :][-LAST_LINES:]
    assert said[: len(seen)] == seen
    assert said[len(said) - len(last) :] == last
    assert len(said) <= LAST_LINES + 2


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"def\ng", b"hijk\nlmn\n"]), max_size=60))
def test_each_of_the_last_lines_is_told_from_its_beginning_and_marked_where_it_is_cut(
    pieces: list[bytes],
) -> None:
    """Whatever second a flood ends in, and however its lines lie in the pieces that are read."""
    for second in (0, 1):
        lines, said = log(Limits(stderr_lines_per_s=1, stderr_line_bytes=3))
        for number, piece in enumerate(pieces):
            lines.feed(piece, second * (number // 8))
        lines.end()
        whole = (line for line in b"".join(pieces).decode().split("\n") if line)
        every = {line if len(line) <= 3 else f"{line[:3]}…" for line in whole}
        assert {line for line in said if not line.startswith("(")} <= every


def test_a_flood_costs_no_more_than_its_length_to_remember_its_end() -> None:
    lines, said = log(Limits(stderr_lines_per_s=1, stderr_line_bytes=10))
    for _ in range(50):
        lines.feed(b"x\n" * 30_000, 0)
    lines.feed(b"the reason is this\n", 0)
    lines.end()
    assert said[-1] == "the reason…"
    assert (
        said[1]
        == f"({30_000 * 50 + 1 - 1 - LAST_LINES} more lines on standard error were left out)"
    )


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \n", b"\x1b[m\n", b"\x1b[0m\r\n"])
def test_blank_lines_without_end_are_no_dearer_than_those_that_are_shown(
    blank: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is counted: only so many lines of a second are made text, whether anything is shown of them or not."""
    looked: list[bytes] = []
    shown = stderr._shown

    def count(line: bytes | bytearray) -> str:
        looked.append(bytes(line))
        return shown(line)

    monkeypatch.setattr(stderr, "_shown", count)
    lines, said = log(Limits(stderr_lines_per_s=5))
    reads = 20
    for _ in range(reads):
        lines.feed(blank * 30_000, 0.5)
    lines.feed(b"the reason\n", 0.5)
    assert len(looked) <= 5 * LOOKS + (reads + 1) * LAST_LINES
    lines.end()
    assert said[-1] == "the reason"


def test_blank_lines_between_lines_take_nothing_from_what_may_be_shown() -> None:
    lines, said = log(Limits(stderr_lines_per_s=5))
    lines.feed(b"\n\r\n".join(b"%d\n" % number for number in range(5)), 0)
    assert said == ["0", "1", "2", "3", "4"]


def test_what_a_flood_ends_with_is_not_hidden_by_lines_without_text() -> None:
    lines, said = log(Limits(stderr_lines_per_s=1))
    lines.feed(b"first\nthe reason\n" + b"\x1b[m\n" * (LAST_LINES - 1), 0)
    lines.end()
    assert said[-1] == "the reason"


def test_control_characters_cannot_reach_a_terminal() -> None:
    lines, said = log()
    lines.feed(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 a\rb\x9b tab\there \xff\n", 0)
    (line,) = said
    assert line.startswith("red \ufffd]0;title\ufffd a\ufffdb")
    assert "tab\there" in line
    assert not any(ord(character) < 32 and character != "\t" for character in line)


def test_a_taker_that_raises_does_not_stop_the_lines(caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []

    def take(line: str) -> None:
        said.append(line)
        raise RuntimeError("no more")

    lines = LogLines(Limits(), take)
    lines.feed(b"1\n2\n", 0)
    assert said == ["1", "2"]
    assert "raised" in caplog.text


@given(st.lists(st.binary(max_size=50)), st.integers(1, 5), st.integers(1, 20))
def test_no_stream_makes_more_or_longer_lines_than_allowed(
    pieces: list[bytes], rate: int, length: int
) -> None:
    lines, said = log(Limits(stderr_lines_per_s=rate, stderr_line_bytes=length))
    for piece in pieces:
        lines.feed(piece, 0.5)
    kept = [line for line in said if not line.startswith("(")]
    assert len(kept) <= rate
    assert all(len(line) <= length + 1 for line in kept)
