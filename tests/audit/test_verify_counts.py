"""What `audit verify` says of a trail that is not whole is true: how many records are whole, counted by somebody else."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from gatewright.audit.chain import seal
from gatewright.audit.reader import AuditReader
from gatewright.audit.retention import Keep
from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import HEAD, Head, encode_head, segment_numbers, segment_path
from gatewright.audit.verification import KnownRecord, Verification
from tests.audit.parts import Clock, a_call, a_log, body, fill, records, run, until, verified

Lines = list[bytes]
DAY_S = 86_400.0


class Trail(msgspec.Struct):
    """A whole trail: its folder, its records by number, and the number of the last that went."""

    folder: Path
    lines: dict[int, bytes]
    gone: int = 0


def _lines(folder: Path) -> dict[int, bytes]:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        found = dict(database.execute("SELECT seq, CAST(record AS BLOB) FROM records"))
    for number in segment_numbers(folder):
        for line in segment_path(folder, number).read_bytes().splitlines():
            found[int(line[7 : line.index(b",")])] = line
    return found


async def _both(folder: Path) -> Trail:
    """Every record is in the journal and in the rows."""
    await fill(folder, 40, segment_bytes=12_000)
    assert len(segment_numbers(folder)) == 2
    return Trail(folder, _lines(folder))


async def _late(folder: Path) -> Trail:
    """The first segments have gone, as they do when the rows have them."""
    await fill(folder, 48, segment_bytes=5_000)
    await fill(folder, 2, segment_bytes=5_000)
    first = segment_path(folder, segment_numbers(folder)[0]).read_bytes()
    assert not first.startswith(b'{"seq":1,')
    return Trail(folder, _lines(folder))


async def _pruned(folder: Path) -> Trail:
    """Retention has taken the beginning away."""
    clock = Clock()
    log = a_log(folder, clock=clock, random=os.urandom)
    for number in range(11):
        run(log, a_call(number))
    await log.close()
    clock.now += 100 * DAY_S
    log = a_log(folder, clock=clock, random=os.urandom, keep=Keep(90))
    await until(lambda: log.lag == 0 and int(records(folder)[0]["seq"]) > 1)
    for number in range(6):
        run(log, a_call(number))
    await log.close()
    return Trail(folder, _lines(folder), 22)


async def _alone(folder: Path) -> Trail:
    """The rows have fallen behind: the journal alone has most of it."""
    early = folder.with_name("early")
    await fill(folder, 8)
    shutil.copytree(folder, early)
    await fill(folder, 30)
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{DATABASE}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(early / DATABASE, folder / DATABASE)
    return Trail(folder, _lines(folder))


Make = Callable[[Path], Awaitable[Trail]]
TRAILS: list[Make] = [_both, _late, _pruned, _alone]


def _flip(lines: Lines, place: int) -> None:
    lines[place] = lines[place].replace(b'"outcome":"', b'"outcame":"')


def _delete(lines: Lines, place: int) -> None:
    del lines[place]


def _insert(lines: Lines, place: int) -> None:
    lines.insert(place, b'{"seq":7,"a":1}')


def _swap(lines: Lines, place: int) -> None:
    other = place + 1 if place + 1 < len(lines) else place - 1
    lines[place], lines[other] = lines[other], lines[place]


def _truncate(lines: Lines, place: int) -> None:
    lines[place] = lines[place][: len(lines[place]) // 2]
    del lines[place + 1 :]


def _duplicate(lines: Lines, place: int) -> None:
    lines.insert(place, lines[place])


def _replace(lines: Lines, place: int) -> None:
    """A whole record, hash and all, of somebody else's trail."""
    number = int(lines[place][7 : lines[place].index(b",")])
    lines[place] = seal(number, [body(number)], b"d" * 64)[0].rstrip(b"\n")


def _rewrite(lines: Lines, place: int) -> None:
    """Everything from there on anew, each with a hash that fits."""
    for at in range(place, len(lines)):
        first = int(lines[at][7 : lines[at].index(b",")])
        previous = lines[at - 1][-66:-2] if at else _previous(lines[at])
        lines[at] = seal(first, [body(first)], previous)[0].rstrip(b"\n")


def _previous(line: bytes) -> bytes:
    at = line.rindex(b'"prev_hash":"') + 13
    return line[at : at + 64]


HARMS: list[Callable[[Lines, int], None]] = [
    _flip,
    _delete,
    _insert,
    _swap,
    _truncate,
    _duplicate,
    _replace,
    _rewrite,
]


def _segments(trail: Trail) -> Iterator[tuple[Path, Lines]]:
    for number in segment_numbers(trail.folder):
        path = segment_path(trail.folder, number)
        yield path, path.read_bytes().splitlines()


def _rows(folder: Path) -> dict[int, bytes]:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        return dict(database.execute("SELECT seq, CAST(record AS BLOB) FROM records ORDER BY seq"))


def _write_rows(folder: Path, rows: dict[int, bytes]) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("DROP TABLE records")
        database.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, record TEXT)")
        database.executemany("INSERT INTO records VALUES (?, CAST(? AS TEXT))", rows.items())
        database.commit()


def _first_harmed(before: Lines, after: Lines) -> int:
    """By comparison with what was there, which `verify` cannot do: the number of the first record that is not it."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    first = int(before[0][7 : before[0].index(b",")])
    return first + same


def _true_of(trail: Trail, found: Verification, harmed: int, harm: str) -> list[str]:
    """What is wrong with what was said of a trail whose first harmed record is this one."""
    wrong = []
    whole = harmed - 1 - trail.gone
    problem = found.problem
    if problem is None:
        return [f"{harm} at {harmed}: nothing was found"]
    doubted = problem.what.endswith("nothing here says which")
    if doubted and harm not in ("_replace", "_rewrite"):
        wrong.append("doubt where there need be none")
    if doubted:
        # Which of two whole chains is the true one cannot be seen; then nothing is claimed.
        whole = 0
    elif problem.seq != harmed:
        wrong.append(f"the first wrong record is {harmed}")
    if found.records != whole:
        wrong.append(f"{whole} are whole")
    if found.records and trail.lines[found.last][-66:-2].decode() != found.hash:
        wrong.append("number and hash are not of one record")
    if found.records and found.last != trail.gone + found.records:
        wrong.append("it begins elsewhere")
    return [f"{harm} at {harmed}: {one}, said: {found}" for one in wrong]


@pytest.mark.parametrize("make", TRAILS)
async def test_what_is_said_of_each_harmed_line_of_the_journal_is_true(
    tmp_path: Path, make: Make
) -> None:
    """Each harm at every line of each segment, its borders among them."""
    trail = await make(tmp_path / "state")
    assert verified(trail.folder).problem is None
    wrong = []
    for path, lines in _segments(trail):
        text = path.read_bytes()
        for harm in HARMS:
            for place in range(len(lines)):
                changed = list(lines)
                harm(changed, place)
                if changed == lines:  # a lone line has nothing to be swapped with
                    continue
                end = b"" if harm is _truncate else b"\n"
                path.write_bytes(b"\n".join(changed) + (end if changed else b""))
                kept = changed[:-1] if harm is _truncate else changed
                harmed = _first_harmed(lines, kept)
                wrong += _true_of(trail, verified(trail.folder), harmed, harm.__name__)
        path.write_bytes(text)
    assert wrong == []
    assert verified(trail.folder).problem is None


@pytest.mark.parametrize("make", TRAILS)
async def test_what_is_said_of_each_harmed_row_is_true(tmp_path: Path, make: Make) -> None:
    """Each harm at every row."""
    trail = await make(tmp_path / "state")
    rows = _rows(trail.folder)
    first, wrong = min(rows), []
    for harm in HARMS:
        for place in range(len(rows)):
            changed = list(rows.values())
            harm(changed, place)
            _write_rows(trail.folder, dict(enumerate(changed, first)))
            harmed = _first_harmed(list(rows.values()), changed)
            wrong += _true_of(trail, verified(trail.folder), harmed, harm.__name__)
    assert wrong == []
    _write_rows(trail.folder, rows)
    assert verified(trail.folder).problem is None


@pytest.mark.parametrize("make", TRAILS)
async def test_what_is_said_of_a_segment_that_is_gone_or_empty_is_true(
    tmp_path: Path, make: Make
) -> None:
    """A segment that the rows have is no loss; the first record that nothing has any more is named."""
    trail = await make(tmp_path / "state")
    wrong: list[object] = []
    for number in segment_numbers(trail.folder):
        path = segment_path(trail.folder, number)
        text = path.read_bytes()
        for content in (None, b""):
            path.unlink() if content is None else path.write_bytes(content)
            found = verified(trail.folder)
            if found.problem is None and _lines(trail.folder) != trail.lines:
                wrong.append((number, content, "a loss was not seen"))
            if found.problem is not None:
                whole = found.problem.seq - 1 - trail.gone
                left = _lines(trail.folder)
                there = all(trail.gone + one in left for one in range(1, whole + 1))
                if found.records != whole or not there:
                    wrong.append((number, content, found))
            path.write_bytes(text)
    assert wrong == []


@pytest.mark.parametrize("make", TRAILS)
async def test_what_is_said_of_a_harmed_head_is_true(tmp_path: Path, make: Make) -> None:
    """A head that is gone or nonsense is no wrong record; one that names another hash puts all in doubt."""
    trail = await make(tmp_path / "state")
    head, total, last = trail.folder / HEAD, len(trail.lines), max(trail.lines)
    for content in (None, b"", b"nonsense", head.read_bytes()[:-1]):
        head.unlink() if content is None else head.write_bytes(content)
        found = verified(trail.folder)
        assert found.problem is not None
        assert (found.problem.place, found.problem.seq) == (HEAD, 0)
        assert (found.records, found.last) == (total, last)
    for seq in range(trail.gone + 1, last + 1):
        head.write_bytes(encode_head(Head(seq, b"e" * 64, 1, 1)))
        found = verified(trail.folder)
        assert found.problem is not None
        assert (found.problem.seq, found.records, found.last) == (seq, 0, 0)
    head.write_bytes(encode_head(Head(last + 5, b"e" * 64, 1, 1)))
    found = verified(trail.folder)
    assert found.problem is not None
    assert (found.problem.seq, found.records, found.last) == (last + 1, total, last)


@pytest.mark.parametrize("make", TRAILS)
async def test_a_record_that_was_noted_elsewhere_proves_or_refutes_all_before_it(
    tmp_path: Path, make: Make
) -> None:
    trail = await make(tmp_path / "state")
    reader = AuditReader(trail.folder)
    for seq, line in trail.lines.items():
        true, false = line[-66:-2], b"c" * 64
        assert reader.verify(KnownRecord(seq, true, "--kept")).problem is None
        found = reader.verify(KnownRecord(seq, false, "--kept"))
        assert found.problem is not None
        assert (found.problem.seq, found.records) == (seq, 0)
        assert "--kept" in found.problem.what
    later = reader.verify(KnownRecord(max(trail.lines) + 1, b"c" * 64, "--kept"))
    assert later.problem is not None
    assert (later.problem.seq, later.records) == (max(trail.lines) + 1, len(trail.lines))
