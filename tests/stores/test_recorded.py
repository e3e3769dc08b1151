"""What a store knows of the record: it is there or it is not, and nobody waits to write it down.

A record that was put back, in each way: `tests/compose/test_anchoring_record.py`.
"""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from gatewright.stores.chain import seal
from gatewright.stores.database import Database, DatabaseError
from gatewright.stores.recorded import note, noted, outrun
from gatewright.stores.segments import Head, segment_path

HASH = sha256(b"a").hexdigest().encode()


def _store(folder: Path, name: str = "a.db") -> Path:
    Database.open(folder / name, (("CREATE TABLE t (n INTEGER)",),)).close()
    return folder / name


def _known(path: Path) -> Head | None:
    with closing(Database.open_to_look(path)) as database:
        return noted(database)


def test_what_was_noted_last_is_known(tmp_path: Path) -> None:
    path = _store(tmp_path)
    for place in (Head(7, HASH, 1, 9), Head(2**40, b"f" * 64, 999_999, 2**40), Head(3, HASH, 2, 5)):
        assert note([path], place) == []
        assert _known(path) == place


def test_a_store_of_before_knows_nothing_and_keeps_its_form(tmp_path: Path) -> None:
    path = _store(tmp_path)
    assert _known(path) is None
    assert note([path, tmp_path / "missing.db"], Head(1, HASH, 1, 99)) == []
    assert _known(path) == Head(1, HASH, 1, 99)
    with closing(Database.open(path, (("CREATE TABLE t (n INTEGER)",),))) as database:
        assert database.version() == 1
    assert not (tmp_path / "missing.db").exists()


def test_a_record_that_is_empty_is_not_noted(tmp_path: Path) -> None:
    path = _store(tmp_path)
    assert note([path], Head()) == []
    assert _known(path) is None


def test_a_store_that_cannot_be_written_is_left_for_later(tmp_path: Path) -> None:
    path, other = _store(tmp_path), _store(tmp_path, "b.db")
    with closing(Database.open_to_note(path)) as writing, writing.transaction():
        writing.execute("INSERT INTO t VALUES (1)")
        assert note([path, other], Head(1, HASH, 1, 99)) == [path]
    assert note([path], Head(1, HASH, 1, 99)) == []
    broken = tmp_path / "c.db"
    broken.write_bytes(b"no store " * 900)
    assert note([broken], Head(1, HASH, 1, 99)) == [broken]
    with pytest.raises(DatabaseError):
        _known(broken)


def test_a_record_is_there_where_its_line_ends_and_nowhere_else(tmp_path: Path) -> None:
    lines, places, previous = b"", [], b"0" * 64
    for number in range(1, 6):
        line, previous = seal(number, b'{"a":%d}' % number, previous)
        lines += line
        places.append(Head(number, previous, 2, len(lines)))
    segment_path(tmp_path, 2).write_bytes(lines)
    assert outrun(tmp_path, {str(one.seq): one for one in places}) == []
    for kept in range(5):
        segment_path(tmp_path, 2).write_bytes(lines[: places[kept].offset])
        missed = outrun(tmp_path, {f"{one.seq}.db": one for one in places})
        assert [text.partition(".db")[0][-1] for text in missed] == [
            str(one.seq) for one in places[kept + 1 :]
        ]
    segment_path(tmp_path, 2).write_bytes(lines.replace(previous, HASH))
    assert len(outrun(tmp_path, {"5.db": places[4]})) == 1
    segment_path(tmp_path, 2).unlink()
    assert len(outrun(tmp_path, {"1.db": places[0]})) == 1
    segment_path(tmp_path, 3).write_bytes(b"")
    assert outrun(tmp_path, {"1.db": places[0]}) == []
