"""What is done one after another, in slices: its order, its weight, and whom it leaves their turns."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from gatewright.transport import slices
from gatewright.transport.line import Line
from gatewright.transport.slices import AT_ONCE


def _steps(done: list[str], name: str, number: int) -> Generator[None, None, None]:
    for at in range(number):
        done.append(f"{name}{at}")
        yield


def test_few_steps_are_done_at_once_and_need_no_loop() -> None:
    done: list[str] = []
    line = Line()
    line.put(_steps(done, "a", AT_ONCE), AT_ONCE)
    assert len(done) == AT_ONCE
    assert line.idle


async def test_many_are_done_in_slices_and_what_comes_later_is_behind_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    done: list[str] = []
    line, turns = Line(), 0
    line.put(_steps(done, "a", 100), 100)
    line.put(_steps(done, "b", 2), 2)
    assert done == ["a0"]
    while not line.idle:
        await asyncio.sleep(0)
        turns += 1
    assert done == [*(f"a{at}" for at in range(100)), "b0", "b1"]
    assert turns >= 100


async def test_what_a_step_puts_there_is_behind_the_others_of_its_piece() -> None:
    done: list[str] = []
    line = Line()

    def first() -> Generator[None, None, None]:
        line.put(_steps(done, "b", 1), 1)
        yield
        done.append("a")

    line.put(first(), 2)
    while not line.idle:
        await asyncio.sleep(0)
    assert done == ["a", "b0"]


async def test_there_is_no_room_for_more_of_one_who_has_much_waiting_and_for_others_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    line = Line(most=10)
    assert line.room("loud")
    line.put(_steps([], "a", 100), 100, "loud", 50)
    assert not line.room("loud")
    assert line.room("quiet")
    while not line.idle:
        await asyncio.sleep(0)
    assert line.room("loud")


@pytest.mark.parametrize("number", [1, 100])
async def test_what_breaks_keeps_none_of_the_others_from_being_done(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def broken() -> Generator[None, None, None]:
        yield
        raise RuntimeError("broken")

    line = Line()
    line.put(broken(), number)
    line.put(_steps(done, "b", 100), 100)
    while not line.idle:
        await asyncio.sleep(0)
    assert len(done) == 100
    assert caplog.text.count("RuntimeError: broken") == 1
