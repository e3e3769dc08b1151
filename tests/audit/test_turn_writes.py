"""Records of one turn of the loop are one write: in their order, all or none, and at the latest before anything else is recorded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.turn_writes import TURN_BYTES, TurnWrites
from gatewright.call import Unrecorded
from tests.audit.parts import body, journal_lines


class Heard:
    """A waiter, and how it went."""

    def __init__(self) -> None:
        self.number = 0
        self.problems: list[Unrecorded] = []

    def written(self, number: int) -> None:
        self.number = number

    def failed(self, problem: Unrecorded) -> None:
        self.problems.append(problem)


class Leaves(Heard):
    """A call that leaves, and what was heard of by then."""

    def __init__(self, told: Sequence[bytes]) -> None:
        super().__init__()
        self._told = told

    def leave(self) -> None:
        self.number = len(self._told)


class Writes:
    """Counts what is written, and lets it fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.failing: BaseException | None = None
        self._real = os.write
        monkeypatch.setattr(os, "write", self._write)

    def _write(self, file: int, data: bytes) -> int:
        self.sizes.append(len(data))
        if self.failing is not None:
            raise self.failing
        return self._real(file, data)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path, recover(tmp_path).end)
    yield found
    if found.fault is None:
        found.close()


@pytest.fixture
def writes(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> Writes:
    return Writes(monkeypatch)


def _nobody(_: Sequence[bytes]) -> None:
    """Does not listen."""


async def test_what_is_handed_over_in_one_turn_is_one_write_in_the_next(
    tmp_path: Path, journal: Journal, writes: Writes
) -> None:
    told: list[bytes] = []
    turn = TurnWrites(journal, told.extend)
    waiters = [Heard() for _ in range(3)]
    texts = [body(number) for number in range(5)]
    turn.add(texts[:1], waiters[0])
    turn.add(texts[1:4], waiters[1])
    turn.add(texts[4:], waiters[2])
    assert not writes.sizes
    await asyncio.sleep(0)
    assert len(writes.sizes) == 1
    assert [one.number for one in waiters] == [1, 4, 5]
    assert told == texts
    assert [b'"id-%d"' % number in line for number, line in enumerate(journal_lines(tmp_path))] == [
        True
    ] * 5
    await asyncio.sleep(0)
    assert len(writes.sizes) == 1


async def test_a_call_leaves_once_all_have_heard_of_what_ended_in_its_turn(
    journal: Journal, writes: Writes
) -> None:
    """And the numbers of all others are right that stand among such."""
    told: list[bytes] = []
    turn = TurnWrites(journal, told.extend)
    waiters, leaving = [Heard(), Heard()], [Leaves(told) for _ in range(3)]
    turn.add_one(body(0), leaving[0])
    turn.add([body(1), body(2)], waiters[0])
    turn.add_one(body(3), leaving[1])
    turn.add([body(4)], waiters[1])
    await asyncio.sleep(0)
    assert (len(writes.sizes), [one.number for one in waiters]) == (1, [3, 5])
    assert [one.number for one in leaving] == [5, 5, 0]
    turn.write_one(body(5), leaving[2])
    assert (len(writes.sizes), leaving[2].number) == (2, 6)
    large = body(6, details={"text": "x" * TURN_BYTES})
    turn.add_one(body(7), leaving[0])
    turn.add_one(large, leaving[1])
    assert [one.number for one in leaving] == [8, 8, 6]
    assert len(writes.sizes) == 3


async def test_a_call_whose_record_cannot_be_written_is_told_so(
    journal: Journal, writes: Writes
) -> None:
    turn = TurnWrites(journal, _nobody)
    waiter, leaving = Heard(), [Leaves(()), Leaves(()), Leaves(())]
    turn.add([body(0)], waiter)
    for one in leaving[:2]:
        turn.add_one(body(1), one)
    writes.failing = OSError(28, "No space left on device")
    turn.write()
    turn.write_one(body(2), leaving[2])
    assert [len(one.problems) for one in (waiter, *leaving)] == [1] * 4
    assert turn.texts == []


async def test_what_is_recorded_at_once_comes_behind_what_waits(
    tmp_path: Path, journal: Journal
) -> None:
    turn, waiter = TurnWrites(journal, _nobody), Heard()
    turn.add([body(1)], waiter)
    assert turn.append(body(2)) == 2
    assert waiter.number == 1
    assert [b'"id-2"' in line for line in journal_lines(tmp_path)] == [False, True]


async def test_much_is_not_kept_until_the_end_of_the_turn(journal: Journal, writes: Writes) -> None:
    turn, large = TurnWrites(journal, _nobody), body(1, details={"text": "x" * TURN_BYTES})
    first, second = Heard(), Heard()
    turn.add([body(0)], first)
    turn.add([large], second)
    assert (first.number, second.number, len(writes.sizes)) == (1, 2, 1)


def test_without_a_loop_there_is_nothing_to_wait_for(journal: Journal) -> None:
    turn, waiter = TurnWrites(journal, _nobody), Heard()
    turn.add([body(1)], waiter)
    assert waiter.number == 1


async def test_a_write_that_fails_fails_for_everybody_and_writes_nothing(
    tmp_path: Path, journal: Journal, writes: Writes
) -> None:
    turn, waiters = TurnWrites(journal, _nobody), [Heard(), Heard()]
    writes.failing = OSError(28, "No space left on device")
    for number, one in enumerate(waiters):
        turn.add([body(number)], one)
    turn.write()
    said = [str(problem) for one in waiters for problem in one.problems]
    assert len(said) == 2
    assert all("No space left" in one for one in said)
    assert waiters[0].problems[0] is not waiters[1].problems[0]
    writes.failing = None
    journal.repair()
    assert journal_lines(tmp_path) == []
    later = Heard()
    turn.add([body(7)], later)
    turn.write()
    assert later.number == 1


async def test_what_interrupts_a_write_fails_for_everybody_too(
    journal: Journal, writes: Writes
) -> None:
    turn, waiter, leaving = TurnWrites(journal, _nobody), Heard(), Leaves(())
    turn.add([body(1)], waiter)
    turn.add_one(body(2), leaving)
    writes.failing = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        turn.write()
    assert [len(one.problems) for one in (waiter, leaving)] == [1, 1]
    assert journal.fault is not None


class Broken(Heard):
    """One who breaks when told."""

    def written(self, number: int) -> None:
        super().written(number)
        raise RuntimeError("broken")

    def leave(self) -> None:
        super().written(1)
        raise RuntimeError("broken")

    def failed(self, problem: Unrecorded) -> None:
        super().failed(problem)
        raise RuntimeError("broken")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
async def test_one_who_breaks_when_told_costs_nobody_else_anything(
    tmp_path: Path, journal: Journal, writes: Writes, fails: bool, at_once: bool
) -> None:
    """What is written is written, for all of them, and the journal goes on."""

    def listens(_: Sequence[bytes]) -> None:
        raise RuntimeError("no room")

    turn = TurnWrites(journal, listens)
    waiters = [Heard(), Broken(), Heard()]
    for number, one in enumerate(waiters[:1] if at_once else waiters):
        turn.add([body(number)], one)
    writes.failing = OSError(28, "No space left on device") if fails else None
    if at_once:
        turn.write()
        turn.write_now([body(1)], waiters[1])
        turn.write_now([body(2)], waiters[2])
    else:
        turn.write()
    assert [len(one.problems) for one in waiters] == ([1] * 3 if fails else [0] * 3)
    assert [one.number for one in waiters] == ([0] * 3 if fails else [1, 2, 3])
    assert len(journal_lines(tmp_path)) == (0 if fails else 3)
