"""What the state knows of the record: it is there or it is not, and nobody waits to write it down.

A record that was put back, in each way: `tests/audit/test_anchoring_record.py`.
"""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from pathlib import Path

from gatewright.audit.chain import seal
from gatewright.audit.segments import Head, segment_path
from gatewright.audit.trail_position import note, noted, outrun
from gatewright.storage.sqlite import SQLITE
from tests.storage.parts import NO_DATABASE, state_in

HASH = sha256(b"a").hexdigest().encode()


def _known(folder: Path) -> Head | None:
    with closing(SQLITE.look(folder)) as engine:
        return noted(engine)


def test_what_was_noted_last_is_known(tmp_path: Path) -> None:
    state_in(tmp_path)
    assert _known(tmp_path) is None
    for place in (Head(7, HASH, 1, 9), Head(2**40, b"f" * 64, 999_999, 2**40), Head(3, HASH, 2, 5)):
        assert note(tmp_path, place)
        assert _known(tmp_path) == place


def test_a_record_that_is_empty_is_not_noted_and_a_state_that_is_not_there_is_not_made(
    tmp_path: Path,
) -> None:
    assert note(tmp_path, Head(1, HASH, 1, 99))
    assert list(tmp_path.iterdir()) == []
    state_in(tmp_path)
    assert note(tmp_path, Head())
    assert _known(tmp_path) is None


def test_a_state_that_cannot_be_written_hears_later(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    with state.section("keys", "the keys").changing():
        assert not note(tmp_path, Head(1, HASH, 1, 99))
    assert note(tmp_path, Head(1, HASH, 1, 99))
    state.close()
    (tmp_path / "state.db").write_bytes(NO_DATABASE)
    assert not note(tmp_path, Head(1, HASH, 1, 99))


def test_what_is_noted_wakes_nobody(tmp_path: Path) -> None:
    state, heard = state_in(tmp_path), []
    state.section("keys", "the keys").listen(lambda: heard.append(1))
    note(tmp_path, Head(1, HASH, 1, 99))
    state.look()
    assert heard == []


def test_a_record_is_there_where_its_line_ends_and_nowhere_else(tmp_path: Path) -> None:
    lines, places, previous = b"", [], b"0" * 64
    for number in range(1, 6):
        line, previous = seal(number, [b'{"a":%d}' % number], previous)
        lines += line
        places.append(Head(number, previous, 2, len(lines)))
    segment_path(tmp_path, 2).write_bytes(lines)
    assert outrun(tmp_path, "state.db", None) == []
    for kept in range(5):
        segment_path(tmp_path, 2).write_bytes(lines[: places[kept].offset])
        missed = [one.seq for one in places if outrun(tmp_path, "state.db", one)]
        assert missed == [one.seq for one in places[kept + 1 :]]
    assert outrun(tmp_path, "state.db", places[4]) == []
    segment_path(tmp_path, 2).write_bytes(lines.replace(previous, HASH))
    (said,) = outrun(tmp_path, "state.db", places[4])
    assert "state.db knows its number 5" in said
    segment_path(tmp_path, 2).unlink()
    assert len(outrun(tmp_path, "state.db", places[0])) == 1
    segment_path(tmp_path, 3).write_bytes(b"")
    assert outrun(tmp_path, "state.db", places[0]) == []
