"""What is older than some days goes, and the rest is proven all the same."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.chain import seal
from gatewright.audit.retention import PRUNED, Keep
from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import segment_numbers, segment_path
from gatewright.audit.trail import AuditLog
from tests.audit.parts import (
    Clock,
    a_call,
    a_log,
    fill,
    journal_lines,
    records,
    run,
    until,
    verified,
)

DAY_S = 86_400.0
START = 1_790_000_000.0
KEEP_90 = Keep(90)


def first_kept(folder: Path) -> int:
    """The number of the oldest record that can be asked for."""
    return int(records(folder)[0]["seq"])


async def old_and_new(folder: Path, old: int = 40, *, segment_bytes: int = 1 << 20) -> None:
    """A trail whose first `old` records are 100 days older than the ten behind them."""
    await fill(folder, old, clock=Clock(START), segment_bytes=segment_bytes)
    await fill(folder, 10, clock=Clock(START + 100 * DAY_S), segment_bytes=segment_bytes)


def a_keeper(
    folder: Path, keep: Keep = KEEP_90, *, clock: Clock | None = None, **more: Any
) -> AuditLog:
    """The trail, opened a day later, by somebody who keeps so much of it."""
    now = clock or Clock(START + 101 * DAY_S)
    return a_log(folder, clock=now, keep=keep, random=os.urandom, **more)


async def pruned(folder: Path, keep: Keep = KEEP_90, **more: Any) -> None:
    """Open the trail until its beginning is gone."""
    log = a_keeper(folder, keep, **more)
    await until(lambda: first_kept(folder) > 1)
    await log.close()


async def test_old_records_go_and_the_rest_is_proven(tmp_path: Path) -> None:
    await old_and_new(tmp_path)
    log = a_keeper(tmp_path)
    await until(lambda: first_kept(tmp_path) == 41)
    run(log, a_call(99))
    await log.close()
    found = verified(tmp_path)
    assert (found.problem, found.pruned, found.records, found.last) == (None, 40, 13, 53)
    assert len(records(tmp_path)) == 13


async def test_a_record_says_what_went(tmp_path: Path) -> None:
    await old_and_new(tmp_path)
    last = records(tmp_path)[39]
    await pruned(tmp_path)
    (said,) = records(tmp_path, event_type=PRUNED)
    assert said["actor"]["id"] == "gatewright"
    assert said["details"] == {
        "first": 1,
        "last": 40,
        "hash": last["hash"],
        "before": said["details"]["before"],
        "retention_days": 90,
    }


async def test_nothing_of_what_went_is_left_in_the_files(tmp_path: Path) -> None:
    await old_and_new(tmp_path, segment_bytes=8_000)
    await pruned(tmp_path, segment_bytes=8_000)
    kept = first_kept(tmp_path)
    assert kept == 41
    begins = [line for line in journal_lines(tmp_path) if int(line[7 : line.index(b",")]) <= 30]
    assert begins == []
    assert len(segment_numbers(tmp_path)) <= 3


async def test_nothing_goes_that_a_sink_has_not_taken(tmp_path: Path) -> None:
    await old_and_new(tmp_path)
    await pruned(tmp_path, Keep(90, lambda: 25))
    assert first_kept(tmp_path) == 26
    assert verified(tmp_path).problem is None


@pytest.mark.parametrize(("days", "taken"), [(0, 1 << 60), (200, 1 << 60), (90, 0)])
async def test_what_is_not_due_stays(tmp_path: Path, days: float, taken: int) -> None:
    await old_and_new(tmp_path)
    log = a_keeper(tmp_path, Keep(days, lambda: taken))
    run(log, a_call(99))
    await until(lambda: log.lag == 0)
    await log.close()
    assert first_kept(tmp_path) == 1
    assert records(tmp_path, event_type=PRUNED) == []


async def test_more_goes_later_when_it_is_due_and_the_first_announcement_with_it(
    tmp_path: Path,
) -> None:
    await old_and_new(tmp_path)
    clock = Clock(START + 101 * DAY_S)
    log = a_keeper(tmp_path, clock=clock)
    await until(lambda: first_kept(tmp_path) == 41)
    clock.now += 95 * DAY_S
    await until(lambda: first_kept(tmp_path) > 41)
    await log.close()
    found = verified(tmp_path)
    assert (found.problem, found.pruned) == (None, 51)
    assert [one["event_type"] for one in records(tmp_path)] == [PRUNED]


async def test_a_gateway_that_died_between_announcement_and_deletion_announces_again(
    tmp_path: Path,
) -> None:
    """Killed there, nothing is deleted, and the trail is whole."""
    await old_and_new(tmp_path)
    log = a_keeper(tmp_path)
    await until(lambda: log.written == 51)
    await log.close()
    assert verified(tmp_path).problem is None
    await pruned(tmp_path)
    assert first_kept(tmp_path) == 41
    assert verified(tmp_path).problem is None


def lose_rows(folder: Path) -> None:
    """The database is gone; so are the records that nothing but it had."""
    for path in folder.glob(f"{DATABASE}*"):
        path.unlink()


async def test_what_is_due_goes_although_rows_were_lost_once(tmp_path: Path) -> None:
    """More records than one step takes away, so that a step ends among those that are lost."""
    await old_and_new(tmp_path, 40_000, segment_bytes=4 << 20)
    lose_rows(tmp_path)
    await old_and_new(tmp_path, 0)
    first = first_kept(tmp_path)
    assert 1 << 14 < first < 40_000
    log = a_keeper(tmp_path)
    await until(lambda: first_kept(tmp_path) == 40_001)
    await until(lambda: log.lag == 0)
    assert log.feed_problem is None
    await log.close()


async def test_rows_that_were_lost_are_nothing_that_is_due(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await old_and_new(tmp_path, 400, segment_bytes=20_000)
    lose_rows(tmp_path)
    log = a_keeper(tmp_path, Keep(200), segment_bytes=20_000)
    for number in range(2):  # the second time, what is due has been looked for
        run(log, a_call(number))
        await until(lambda: log.lag == 0)
    assert first_kept(tmp_path) > 1
    await log.close()
    assert "fall behind" not in caplog.text
    assert records(tmp_path, event_type=PRUNED) == []


@pytest.mark.parametrize(
    ("statement", "seq", "what"),
    [
        ("DELETE FROM records WHERE seq < 44", 41, "is missing"),
        ("DELETE FROM pruned", 1, "is missing"),
        ("UPDATE pruned SET seq = 39", 40, "is missing"),
        (
            "UPDATE pruned SET hash = CAST(replace(hash, substr(hash, 1, 1), 'x') AS BLOB)",
            41,
            "does not follow the record before it",
        ),
    ],
)
async def test_what_is_taken_away_besides_is_found(
    tmp_path: Path, statement: str, seq: int, what: str
) -> None:
    await old_and_new(tmp_path)
    await pruned(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.execute(statement)
        database.commit()
    problem = verified(tmp_path).problem
    assert problem is not None
    assert (problem.seq, problem.what) == (seq, what)


@pytest.mark.parametrize("details", ["7", '{"last":"99"}', '{"last":99}', "null"])
async def test_a_record_that_vouches_in_other_words_vouches_for_nothing(
    tmp_path: Path, details: str
) -> None:
    """It fits the chain, as whoever can write the folder can make any line fit."""
    await old_and_new(tmp_path)
    kept = records(tmp_path)
    made = f'{{"event_type":"{PRUNED}","details":{details}}}'.encode()
    line, _ = seal(kept[-1]["seq"] + 1, [made], kept[-1]["hash"].encode())
    with segment_path(tmp_path, 1).open("ab") as journal:
        journal.write(line)
    await fill(tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.execute("DELETE FROM records WHERE seq <= 30")
        database.execute("INSERT INTO pruned VALUES (1, 30, ?)", (kept[29]["hash"].encode(),))
        database.commit()
    problem = verified(tmp_path).problem
    assert problem is not None
    assert "no record says that it may be" in problem.what


async def test_a_beginning_that_is_cut_off_by_hand_is_found(tmp_path: Path) -> None:
    """Even with the right hash as the new beginning: no record vouches for it."""
    await old_and_new(tmp_path)
    last = records(tmp_path)[29]
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.execute("DELETE FROM records WHERE seq <= 30")
        database.execute("INSERT INTO pruned VALUES (1, 30, ?)", (last["hash"].encode(),))
        database.commit()
    problem = verified(tmp_path).problem
    assert problem is not None
    assert (problem.place, problem.seq) == (DATABASE, 30)
    assert "no record says that it may be" in problem.what
