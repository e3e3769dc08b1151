"""Tampering is found, whatever was changed and wherever, and the place is named."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import HEAD, Head, encode_head, segment_numbers, segment_path
from tests.audit.parts import a_call, a_log, fill, journal_lines, run, verified

Harm = Callable[[list[bytes], int, random.Random], None]


def _flip(lines: list[bytes], place: int, generator: random.Random) -> None:
    line = bytearray(lines[place])
    line[generator.randrange(len(line) - 1)] ^= 1 << generator.randrange(7)
    lines[place] = bytes(line)


def _delete(lines: list[bytes], place: int, _: random.Random) -> None:
    del lines[place]


def _swap(lines: list[bytes], place: int, generator: random.Random) -> None:
    other = generator.choice([each for each in range(len(lines)) if each != place])
    lines[place], lines[other] = lines[other], lines[place]


def _truncate(lines: list[bytes], place: int, generator: random.Random) -> None:
    lines[place] = lines[place][: generator.randrange(len(lines[place]))]
    del lines[place + 1 :]


def _repeat(lines: list[bytes], place: int, _: random.Random) -> None:
    lines.insert(place, lines[place])


HARMS: list[Harm] = [_flip, _delete, _swap, _truncate, _repeat]


@pytest.fixture
async def trail(tmp_path: Path) -> Path:
    """A trail of 200 records in several segments, all of them also in the database."""
    folder = tmp_path / "state"
    await fill(folder, 200, segment_bytes=40_000)
    assert len(segment_numbers(folder)) == 2
    return folder


def _write_journal(folder: Path, numbers: list[int], lines: list[bytes]) -> None:
    """Lines back into the segments they came from, by their count."""
    share = len(lines) // len(numbers)
    for index, number in enumerate(numbers):
        end = None if index == len(numbers) - 1 else (index + 1) * share
        segment_path(folder, number).write_bytes(b"".join(lines[index * share : end]))


def test_a_whole_trail_is_proven_to_its_last_record(trail: Path) -> None:
    found = verified(trail)
    assert found.problem is None
    assert found.records == 200
    assert found.unfinished == 0
    assert b'"hash":"' + found.hash.encode() in journal_lines(trail)[-1]


@pytest.mark.parametrize("harm", HARMS)
def test_each_of_two_hundred_changes_of_the_journal_is_found(trail: Path, harm: Harm) -> None:
    numbers = segment_numbers(trail)
    before = {number: segment_path(trail, number).read_bytes() for number in numbers}
    unseen = []
    for seed in range(200):
        generator = random.Random(seed)
        number = generator.choice(numbers)
        lines = before[number].splitlines(keepends=True)
        place = generator.randrange(len(lines))
        harm(lines, place, generator)
        segment_path(trail, number).write_bytes(b"".join(lines))
        if verified(trail).problem is None:
            unseen.append(seed)
        segment_path(trail, number).write_bytes(before[number])
    assert unseen == []
    assert verified(trail).problem is None


def _copy(source: Path, target: Path) -> None:
    for path in source.glob("audit*"):
        shutil.copy(path, target)


def _rewrite_rows(folder: Path, lines: list[bytes]) -> None:
    """The rows as somebody with the file and a SQL shell would leave them."""
    database = sqlite3.connect(folder / DATABASE)
    database.execute("DROP TABLE records")
    database.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, record TEXT)")
    database.executemany(
        "INSERT INTO records (seq, record) VALUES (?, CAST(? AS TEXT))",
        [(seq, line.removesuffix(b"\n")) for seq, line in enumerate(lines, 1)],
    )
    database.commit()
    database.close()


@pytest.mark.parametrize("harm", HARMS)
def test_each_of_two_hundred_changes_of_the_rows_is_found(
    trail: Path, tmp_path: Path, harm: Harm
) -> None:
    database = sqlite3.connect(trail / DATABASE)
    rows = [row[0].encode() + b"\n" for row in database.execute("SELECT record FROM records")]
    database.close()
    assert len(rows) == 200
    unseen = []
    for seed in range(200):
        generator = random.Random(seed)
        lines = list(rows)
        place = generator.randrange(len(lines))
        harm(lines, place, generator)
        _rewrite_rows(trail, lines)
        if verified(trail).problem is None:
            unseen.append((seed, place))
    assert unseen == []
    _rewrite_rows(trail, rows)
    assert verified(trail).problem is None


@pytest.mark.parametrize("harm", HARMS)
async def test_each_of_two_hundred_changes_is_found_where_the_journal_stands_alone(
    tmp_path: Path, harm: Harm
) -> None:
    log = a_log(tmp_path)
    for number in range(30):
        run(log, a_call(number))
    await log.on_disk()
    alone = tmp_path / "copy"
    alone.mkdir()
    _copy(tmp_path, alone)
    await log.close()
    whole = journal_lines(alone)
    assert verified(alone).records == 60
    unseen = []
    for seed in range(200):
        generator = random.Random(seed)
        lines = list(whole)
        harm(lines, generator.randrange(len(lines)), generator)
        segment_path(alone, 1).write_bytes(b"".join(lines))
        if verified(alone).problem is None:
            unseen.append(seed)
    assert unseen == []


def test_the_first_wrong_place_is_named_by_file_byte_and_record(trail: Path) -> None:
    number = segment_numbers(trail)[0]
    path = segment_path(trail, number)
    lines = path.read_bytes().splitlines(keepends=True)
    place = sum(map(len, lines[:3]))
    path.write_bytes(b"".join([*lines[:3], lines[3].replace(b'"ann"', b'"bob"'), *lines[4:]]))
    seq = int(lines[3][7 : lines[3].index(b",")])
    problem = verified(trail).problem
    assert problem is not None
    assert (problem.place, problem.seq) == (f"{path.name}, byte {place}", seq)
    assert problem.what == "was changed: its hash does not fit"


@pytest.mark.parametrize(
    ("statement", "seq", "what"),
    [
        ("DELETE FROM records WHERE seq = 7", 7, "is missing"),
        ("DELETE FROM records WHERE seq > 195", 196, "is missing"),
        ("DELETE FROM records WHERE seq <= 5", 1, "is missing"),
        ("DELETE FROM records", 1, "is missing"),
        (
            "UPDATE records SET record = replace(record, '\"ann\"', '\"bob\"') WHERE seq = 9",
            9,
            "was changed: its hash does not fit",
        ),
        ("UPDATE fed SET seq = min(seq, 150)", 151, "did not come from the journal"),
    ],
)
def test_the_wrong_row_is_named_by_its_record(
    trail: Path, statement: str, seq: int, what: str
) -> None:
    database = sqlite3.connect(trail / DATABASE)
    database.execute(statement)
    database.commit()
    database.close()
    problem = verified(trail).problem
    assert problem is not None
    assert (problem.place, problem.seq, problem.what) == (DATABASE, seq, what)


async def test_a_new_chain_in_place_of_the_journal_does_not_fit_the_rows(
    trail: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    await fill(other, 200, segment_bytes=40_000)
    for path in (*map(partial(segment_path, trail), segment_numbers(trail)), trail / HEAD):
        path.unlink()
    (other / DATABASE).unlink()
    _copy(other, trail)
    problem = verified(trail).problem
    assert problem is not None
    assert "another record than" in problem.what


def test_the_end_of_the_journal_cannot_be_cut_off_unseen(trail: Path) -> None:
    path = segment_path(trail, segment_numbers(trail)[-1])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    problem = verified(trail).problem
    assert problem is not None
    assert (problem.seq, problem.what) == (200, "is missing: it was on disk")


def test_the_whole_journal_cannot_be_taken_away_unseen(trail: Path) -> None:
    for number in segment_numbers(trail):
        segment_path(trail, number).unlink()
    (trail / HEAD).write_bytes(encode_head(Head(201, b"a" * 64, 9, 700)))
    problem = verified(trail).problem
    assert problem is not None
    assert (problem.seq, problem.what) == (201, "is missing: it was on disk")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "is missing"),
        (b"", "is not what Gatewright wrote"),
        (encode_head(Head(200, b"f" * 64, 1, 1)), "is another record than the one in audit.head"),
        (encode_head(Head(150, b"f" * 64, 1, 1)), "is another record than the one in audit.head"),
        (encode_head(Head(999, b"f" * 64, 1, 1)), "is missing: it was on disk"),
    ],
)
def test_a_head_that_does_not_fit_is_found(trail: Path, content: bytes | None, what: str) -> None:
    if content is None:
        (trail / HEAD).unlink()
    else:
        (trail / HEAD).write_bytes(content)
    problem = verified(trail).problem
    assert problem is not None
    assert what in problem.what


def test_bytes_between_two_segments_are_found(trail: Path) -> None:
    first = segment_path(trail, segment_numbers(trail)[0])
    with first.open("ab") as journal:
        journal.write(b"who put this here?")
    problem = verified(trail).problem
    assert problem is not None
    assert "18 bytes that are no record" in problem.what


def test_an_unfinished_last_line_is_told_and_is_no_damage(trail: Path) -> None:
    with segment_path(trail, segment_numbers(trail)[-1]).open("ab") as journal:
        journal.write(b'{"seq":201,')
    found = verified(trail)
    assert (found.problem, found.records, found.unfinished) == (None, 200, 11)


def test_a_database_that_cannot_be_read_is_a_problem_and_no_crash(trail: Path) -> None:
    database = sqlite3.connect(trail / DATABASE)
    database.execute("ALTER TABLE records RENAME TO hidden")
    database.commit()
    database.close()
    problem = verified(trail).problem
    assert problem is not None
    assert (problem.place, problem.seq) == (DATABASE, 1)
    assert "cannot be read" in problem.what


async def test_a_trail_that_is_being_written_is_proven_meanwhile(tmp_path: Path) -> None:
    log = a_log(tmp_path, segment_bytes=20_000)
    for number in range(400):
        run(log, a_call(number))
        if number % 40 == 0:
            found = verified(tmp_path)
            assert found.problem is None
            assert found.records == 2 * number + 2
    await log.close()
    assert verified(tmp_path).records == 800


def test_an_empty_trail_is_whole(tmp_path: Path) -> None:
    import asyncio  # noqa: PLC0415 - the only use

    asyncio.run(a_log(tmp_path).close())
    found = verified(tmp_path)
    assert (found.records, found.problem, found.hash) == (0, None, "0" * 64)
