"""Long work in slices: others have a turn between two of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import nullcontext
from functools import partial
from itertools import count
from typing import Any

import pytest

from gatewright.transport import slices
from gatewright.transport.slices import AT_ONCE, begun, by_and_by, in_one, in_slices


def steps(most: int) -> Generator[None, None, int]:
    for _ in range(most):
        yield
    return most


async def turns_during(most: int, a_step_s: float) -> tuple[int, int]:
    """What came of it, and how often somebody else had a turn."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    ticks = count()
    found = await in_slices(steps(most), lambda: next(ticks) * a_step_s)
    task.cancel()
    return found, turns


async def test_others_have_a_turn_in_proportion_to_the_work() -> None:
    found, some = await turns_during(100, 0.005)
    assert (found, some > 40) == (100, True)
    _, twice = await turns_during(200, 0.005)
    assert 1.9 * some <= twice <= 2.1 * some


async def test_short_work_is_done_in_one_go() -> None:
    assert await turns_during(100, 0.0) == (100, 0)


async def most_steps_in_a_turn(pieces: int) -> int:
    """How many steps of a millisecond each a turn of the loop has, where so many pieces of work go on at a time."""
    made: Counter[int] = Counter()
    turn, time_s = 0, 0.0

    def work() -> Generator[None, None, None]:
        nonlocal time_s
        for _ in range(20):
            time_s += 0.001
            made[turn] += 1
            yield

    tasks = [asyncio.create_task(in_slices(work(), lambda: time_s)) for _ in range(pieces)]
    begun(work(), lambda: time_s)
    while not all(task.done() for task in tasks):
        turn += 1
        await asyncio.sleep(0)
    assert made.total() >= 20 * pieces
    return max(made.values())


async def test_twenty_pieces_of_work_at_a_time_take_no_more_of_a_turn_than_one() -> None:
    assert await most_steps_in_a_turn(20) <= await most_steps_in_a_turn(1) + 1


async def test_who_begins_is_not_behind_all_who_have_had_their_slice() -> None:
    """A call with a little such work waits no longer because others have much of it."""
    ticks = count()
    long = [
        asyncio.create_task(in_slices(steps(100), lambda: next(ticks) * 0.005)) for _ in range(20)
    ]
    for _ in range(40):
        await asyncio.sleep(0)
    turns = 0

    async def counting() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(counting())
    assert await in_slices(steps(3), lambda: 0.0) == 3
    assert turns <= 3
    for task in (*long, others):
        task.cancel()


async def test_behind_a_long_step_others_have_several_turns_before_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call takes half a dozen turns: it is not to wait for a long step with each of them."""
    monkeypatch.setattr(
        slices, "_REST_S", 0.1
    )  # enough for many turns, however busy the machine is
    time_s = 0.0
    turns = 0
    between: list[int] = []

    def long_steps() -> Generator[None, None, None]:
        nonlocal time_s, turns
        for _ in range(5):
            time_s += 0.02
            between.append(turns)
            turns = 0
            yield

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    others = asyncio.create_task(other())
    await asyncio.sleep(0)
    await in_slices(long_steps(), lambda: time_s)
    assert min(between[1:]) >= 20
    turns = 0
    await in_one(lambda: next(long_steps()), lambda: time_s)
    assert turns >= 20
    assert await in_one(lambda: 7, lambda: 0.0) == 7
    others.cancel()


async def test_long_steps_of_whoever_comes_keep_nobody_in_line_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What has but one step begins at once. One caller after the other with such a step is no reason for yet another rest."""
    monkeypatch.setattr(slices, "_REST_S", 0.0)
    ticks = count()
    in_line = asyncio.create_task(in_slices(steps(1), lambda: next(ticks) * 0.01))
    newcomers: set[asyncio.Task[None]] = set()
    while not in_line.done() and len(newcomers) < 200:
        newcomers.add(asyncio.create_task(in_one(lambda: None, lambda: next(ticks) * 0.01)))
        await asyncio.sleep(0)
    assert in_line.done()
    await asyncio.gather(*newcomers)


async def test_who_had_a_little_in_one_step_does_not_stand_behind_all_who_have_much() -> None:
    ticks = count()
    long = [
        asyncio.create_task(in_slices(steps(100), lambda: next(ticks) * 0.005)) for _ in range(20)
    ]
    turns = 0

    async def counting() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(counting())
    # In each order within a turn: whoever was before has had all of it.
    for _ in range(20):
        await asyncio.sleep(0)
        begun(steps(1), lambda: next(ticks) * 0.005)
        before = turns
        assert await in_one(lambda: 7, lambda: 0.0) == 7
        assert turns == before
    for task in (*long, others):
        task.cancel()


async def test_what_raises_has_had_its_share_of_the_turn() -> None:
    """Texts that are refused take as long as others: twenty of them at a time are no more of a turn than one."""
    time_s, turn = 0.0, 0
    ended = Counter[int]()

    def flawed() -> Generator[None, None, None]:
        nonlocal time_s
        time_s += 0.005
        yield from ()
        raise ValueError("a test")

    async def refused(at_once: bool) -> None:
        one = in_one(lambda: next(flawed()), lambda: time_s) if at_once else None
        with pytest.raises(ValueError, match="a test"):
            await (one or in_slices(flawed(), lambda: time_s))
        ended[turn] += 1

    tasks = [asyncio.create_task(refused(one == 0)) for one in range(20)]
    while not all(task.done() for task in tasks):
        turn += 1
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert max(ended.values()) == 1


@pytest.mark.parametrize("raises", [False, True])
async def test_the_last_step_of_who_cannot_wait_is_taken_from_the_turn_as_well(
    raises: bool,
) -> None:
    time_s = 0.0

    def one_long_step() -> Generator[None, None, None]:
        nonlocal time_s
        time_s += 0.005
        yield from ()
        if raises:
            raise ValueError("a test")

    with pytest.raises(ValueError, match="a test") if raises else nullcontext():
        begun(one_long_step(), lambda: time_s)
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    assert await in_slices(steps(1), lambda: time_s) == 1
    assert turns, "who began behind it had no more of that turn"


async def test_work_that_is_given_up_keeps_nobody_from_a_turn() -> None:
    ticks = count()
    tasks = [
        asyncio.create_task(in_slices(steps(10), lambda: next(ticks) * 0.005)) for _ in range(5)
    ]
    await asyncio.sleep(0)
    for task in tasks[:-1]:
        task.cancel()
    assert await tasks[-1] == 10


async def test_work_that_breaks_in_a_turn_of_its_own_keeps_nobody_from_theirs() -> None:
    ticks = count()
    asyncio.get_running_loop().set_exception_handler(lambda _, about: None)

    def broken() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    begun(broken(), lambda: next(ticks) * 0.005)
    assert await in_slices(steps(10), lambda: next(ticks) * 0.005) == 10


async def test_what_the_work_raises_is_raised() -> None:
    def broken() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_slices(broken())


@pytest.mark.parametrize("count_", [0, 1, AT_ONCE, AT_ONCE + 1, 300])
async def test_things_are_done_a_few_in_each_turn_and_all_of_them_in_order(count_: int) -> None:
    done: list[tuple[int, int]] = []
    turn = 0
    by_and_by([partial(lambda one: done.append((turn, one)), one) for one in range(count_)])
    for _ in range(count_ // AT_ONCE + 2):
        turn += 1
        await asyncio.sleep(0)
    assert [one for _, one in done] == list(range(count_))
    assert max(Counter(turn for turn, _ in done).values(), default=0) <= AT_ONCE


async def test_what_fails_keeps_none_of_the_others_from_being_done() -> None:
    done: list[int] = []

    def do(one: int) -> None:
        done.append(one)
        if one in {3, AT_ONCE + 1, AT_ONCE + 2}:
            raise ValueError(str(one))

    loop = asyncio.get_running_loop()
    told: list[Any] = []
    loop.set_exception_handler(lambda _, about: told.append(about["exception"]))
    with pytest.raises(ValueError, match="3"):
        by_and_by([partial(do, one) for one in range(3 * AT_ONCE)])
    for _ in range(5):
        await asyncio.sleep(0)
    assert done == list(range(3 * AT_ONCE))
    assert [[str(one) for one in several.exceptions] for several in told] == [
        [str(AT_ONCE + 1), str(AT_ONCE + 2)]
    ]


async def test_a_thousand_tasks_that_are_cancelled_end_a_few_in_each_turn() -> None:
    ended = 0

    async def wait() -> None:
        nonlocal ended
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended += 1

    tasks = [asyncio.create_task(wait()) for _ in range(1000)]
    await asyncio.sleep(0)
    by_and_by([task.cancel for task in tasks])
    most = before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        most, before = max(most, ended - before), ended
    assert ended == 1000
    assert most <= 2 * AT_ONCE


@pytest.mark.parametrize(("most", "a_step_s", "at_once"), [(3, 0.0001, 3), (100, 0.0012, 2)])
async def test_who_cannot_wait_has_the_first_slice_at_once_and_others_their_turns(
    most: int, a_step_s: float, at_once: int
) -> None:
    ticks, made, others = count(), 0, 0

    def working() -> Generator[None, None, None]:
        nonlocal made
        for _ in range(most):
            made += 1
            yield

    begun(working(), lambda: next(ticks) * a_step_s)
    assert made == at_once
    while made < most:
        await asyncio.sleep(0)
        others += 1
    assert others == (0 if most == at_once else most // at_once - 1)
