"""The trail in SQLite: the line as it is, found by what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewright.audit.rows import Fed, Query, Rows, open_rows, open_rows_to_read
from gatewright.storage.sqlite import Database, DatabaseError
from tests.audit.parts import body


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_rows(tmp_path)
    yield found
    found.close()


def _line(number: int, **more: Any) -> bytes:
    return b'{"seq":%d,' % number + body(number, **more)[1:]


def _feed(rows: Rows, lines: list[bytes]) -> None:
    upto = rows.fed().seq + len(lines)
    rows.feed([(lines, Fed(upto, 1, 0))])


def _numbers(found: Iterator[bytes]) -> list[int]:
    return [msgspec.json.decode(line)["seq"] for line in found]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=30))
def test_every_line_comes_back_byte_for_byte(database: Database, texts: list[str]) -> None:
    rows = Rows(database)
    before = rows.fed().seq
    lines = [_line(before + place, session=text) for place, text in enumerate(texts, 1)]
    _feed(rows, lines)
    assert list(rows.lines(before)) == list(enumerate(lines, before + 1))


def test_a_batch_and_its_place_go_in_together_or_not_at_all(database: Database) -> None:
    rows = Rows(database)
    _feed(rows, [_line(1), _line(2)])

    def batches() -> Iterator[tuple[list[bytes], Fed]]:
        yield [_line(3)], Fed(3, 1, 99)
        yield [b"this is no JSON"], Fed(4, 1, 199)

    with pytest.raises(DatabaseError):
        rows.feed(batches())
    assert rows.fed() == Fed(2, 1, 0)
    assert [seq for seq, _ in rows.lines()] == [1, 2]


def test_the_place_moves_with_the_last_batch(database: Database) -> None:
    rows = Rows(database)
    rows.feed([([_line(1)], Fed(1, 1, 10)), ([_line(2), _line(3)], Fed(3, 2, 20))])
    assert rows.fed() == Fed(3, 2, 20)
    rows.feed([])
    assert rows.fed() == Fed(3, 2, 20)


LINES = [
    _line(1, trace_id="t", time="2026-01-01T00:00:01.000Z"),
    _line(2, trace_id="t", outcome="denied", event_type="TOOL_BLOCKED"),
    _line(3, actor={"type": "agent", "id": "bob"}, time="2026-12-31T00:00:00.000Z"),
    _line(4, target={"server_id": "web", "tool_name": "fetch"}),
    _line(5, target={"server_id": "files", "tool_name": "read_file"}),
    _line(6, target={}),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [6, 5, 4, 3, 2, 1]),
        ({"newest_first": False}, [1, 2, 3, 4, 5, 6]),
        ({"limit": 2}, [6, 5]),
        ({"limit": 4, "newest_first": False}, [1, 2, 3, 4]),
        ({"limit": 0}, []),
        ({"trace_id": "t"}, [2, 1]),
        ({"trace_id": "t", "outcome": "denied"}, [2]),
        ({"agent": "bob"}, [3]),
        ({"server": "files"}, [5, 3, 2, 1]),
        ({"server": "files", "tool": "read_file"}, [5]),
        ({"tool": "fetch"}, [4]),
        ({"event_type": "TOOL_BLOCKED"}, [2]),
        ({"since": "2026-09-21T12:00:00.000Z"}, [6, 5, 4, 3, 2]),
        ({"until": "2026-09-21T12:00:00.000Z"}, [1]),
        ({"since": "2026-02", "until": "2026-10"}, [6, 5, 4, 2]),
        ({"agent": "nobody"}, []),
    ],
)
@pytest.mark.parametrize("in_rows", [0, 3, 6])
def test_records_are_found_by_what_they_say_in_the_rows_and_beyond_them(
    database: Database, query: dict[str, Any], expected: list[int], in_rows: int
) -> None:
    rows = Rows(database)
    _feed(rows, LINES[:in_rows])
    rows.show_also(LINES[in_rows:], len(LINES))
    assert _numbers(rows.find(Query(**query))) == expected


def test_a_search_goes_through_every_bucket_in_order(database: Database) -> None:
    rows = Rows(database)
    for start in (1, 16_384, 65_536):
        rows.go_on_at(Fed(start - 1, 1, 0), 1)
        _feed(rows, [_line(start), _line(start + 1)])
    rows.show_also([], 65_537)
    everything = [1, 2, 16_384, 16_385, 65_536, 65_537]
    assert _numbers(rows.find(Query(agent="ann", newest_first=False))) == everything
    assert _numbers(rows.find(Query(agent="ann", limit=3))) == [65_537, 65_536, 16_385]
    assert _numbers(rows.find(Query(trace_id="trace-16385"))) == [16_385]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (Query(trace_id="t"), "records_by_trace (bucket=? AND trace_id=?)"),
        (Query(agent="ann", outcome="denied"), "records_by_facts (bucket=? AND agent=?)"),
        (Query(outcome="denied"), "records_by_facts (bucket=?)"),
    ],
)
def test_each_question_is_answered_from_its_index(
    database: Database, query: Query, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(database)
    _feed(rows, LINES)
    rows.show_also([], len(LINES))
    plans: list[str] = []
    execute = database.execute

    def explained(sql: str, parameters: Any = ()) -> Any:
        if "FROM records WHERE seq IN" in sql:
            plan = execute(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
            plans.append(" ".join(step[3] for step in plan))
        return execute(sql, parameters)

    monkeypatch.setattr(database, "execute", explained)
    list(rows.find(query))
    assert [index in plan and "SCAN" not in plan for plan in plans] == [True]


def test_what_is_shown_also_is_gone_with_the_connection(database: Database, tmp_path: Path) -> None:
    first = open_rows_to_read(tmp_path)
    rows = Rows(first)
    assert _numbers(rows.find(Query())) == []
    rows.show_also([_line(1)], 1)
    assert _numbers(rows.find(Query())) == [1]
    first.close()
    second = open_rows_to_read(tmp_path)
    rows = Rows(second)
    rows.show_also([], 0)
    assert _numbers(rows.find(Query())) == []
    second.close()


def test_rows_reach_the_disk_unless_a_reader_is_in_the_way(
    database: Database, tmp_path: Path
) -> None:
    database.execute("PRAGMA busy_timeout = 10")
    rows = Rows(database)
    _feed(rows, [_line(1)])
    reader = open_rows_to_read(tmp_path)
    with reader.snapshot():
        assert Rows(reader).fed().seq == 1
        _feed(rows, [_line(2)])
        assert not rows.to_disk()
    assert rows.to_disk()
    reader.close()
