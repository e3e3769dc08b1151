"""Any change of the record is found, and its place named: a thousand changes at random places."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import segment_numbers, segment_path
from tests.audit.parts import fill, verified

RECORDS = 120
CHANGES = 1_000


class Change(msgspec.Struct):
    """A harm that was done: in which file, and the first record that is not what it was."""

    file: str
    seq: int
    harm: str


def _flipped(line: bytes, dice: random.Random) -> bytes:
    changed = bytearray(line)
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(7)
    return bytes(changed)


def _flip(lines: list[bytes], place: int, dice: random.Random) -> int:
    lines[place] = _flipped(lines[place], dice)
    return place


def _delete(lines: list[bytes], place: int, _: random.Random) -> int:
    del lines[place]
    return place


def _swap(lines: list[bytes], place: int, dice: random.Random) -> int:
    other = dice.choice([each for each in range(len(lines)) if each != place])
    lines[place], lines[other] = lines[other], lines[place]
    return min(place, other)


def _truncate(lines: list[bytes], place: int, dice: random.Random) -> int:
    lines[place] = lines[place][: dice.randrange(len(lines[place]))]
    del lines[place + 1 :]
    return place


HARMS: list[Callable[[list[bytes], int, random.Random], int]] = [_flip, _delete, _swap, _truncate]


def _harm_segment(folder: Path, dice: random.Random) -> Change:
    path = segment_path(folder, dice.choice(segment_numbers(folder)))
    text = path.read_bytes()
    lines = text.splitlines()
    first = int(lines[0][7 : lines[0].index(b",")])
    harm = dice.choice(HARMS)
    place = harm(lines, dice.randrange(len(lines)), dice)
    end = b"" if harm is _truncate else b"\n"
    path.write_bytes(b"\n".join(lines) + (end if lines else b""))
    return Change(path.name, first + place, harm.__name__)


def _harm_rows(folder: Path, dice: random.Random) -> Change:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        lines = [row[0].encode() for row in database.execute("SELECT record FROM records")]
        harm = dice.choice(HARMS)
        numbered = list(enumerate(lines, 1))
        place = harm(lines, dice.randrange(len(lines)), dice)
        if harm is _delete:
            del numbered[place]
        else:
            numbered = list(enumerate(lines, 1))
        # Without the indexes, which would refuse what is no JSON any more.
        database.execute("DROP TABLE records")
        database.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, record TEXT)")
        database.executemany("INSERT INTO records VALUES (?, CAST(? AS TEXT))", numbered)
        database.commit()
    return Change(DATABASE, place + 1, harm.__name__)


@contextmanager
def _again(whole: Path, folder: Path) -> Iterator[None]:
    """While inside, `folder` is a copy of the whole trail that may be harmed."""
    folder.mkdir()
    for path in whole.glob("audit*"):
        shutil.copyfile(path, folder / path.name)
    try:
        yield
    finally:
        shutil.rmtree(folder)


async def test_each_of_a_thousand_changes_is_found_with_its_place(tmp_path: Path) -> None:
    """`audit verify` names file and record of the first change, in journal segments and in rows."""
    whole, folder = tmp_path / "whole", tmp_path / "harmed"
    await fill(whole, RECORDS, segment_bytes=24_000)
    assert len(segment_numbers(whole)) == 2
    missed = []
    for seed in range(CHANGES):
        dice = random.Random(seed)
        with _again(whole, folder):
            change = dice.choice([_harm_segment, _harm_rows])(folder, dice)
            found = verified(folder).problem
        at_border = change.file.endswith(".jsonl") and change.harm == "_delete"
        files = (change.file, "audit-") if at_border else (change.file,)
        if found is None or found.seq != change.seq or not found.place.startswith(files):
            missed.append((seed, change, found))
    assert missed == []
    assert verified(whole).problem is None
