"""Blocking work in threads, one after another, whoever still waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest

from gatewright.transport.thread_turns import ThreadTurns


class Bench:
    """Work that waits until it is let go, and notes how much of it goes on at once."""

    def __init__(self) -> None:
        self.going = 0
        self.most = 0
        self.done: list[str] = []
        self.go = threading.Event()

    def work(self, name: str) -> str:
        self.going += 1
        self.most = max(self.most, self.going)
        self.go.wait()
        self.going -= 1
        self.done.append(name)
        return name


async def until(so: Callable[[], object]) -> None:
    while not so():
        await asyncio.sleep(0.001)


async def test_work_waits_for_the_thread_of_somebody_who_is_gone() -> None:
    bench, turns = Bench(), ThreadTurns()
    gone = asyncio.create_task(turns.run(partial(bench.work, "first")))
    await until(lambda: bench.going)
    others = [asyncio.create_task(turns.run(partial(bench.work, name))) for name in "ab"]
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone  # at once: the thread is not waited for
    await asyncio.sleep(0)
    bench.go.set()
    assert await asyncio.gather(*others) == ["a", "b"]
    assert (bench.most, bench.done) == (1, ["first", "a", "b"])


async def test_work_of_somebody_who_is_gone_before_its_turn_is_not_begun() -> None:
    bench, turns = Bench(), ThreadTurns()
    first = asyncio.create_task(turns.run(partial(bench.work, "first")))
    await until(lambda: bench.going)
    gone = asyncio.create_task(turns.run(partial(bench.work, "gone")))
    last = asyncio.create_task(turns.run(partial(bench.work, "last")))
    await asyncio.sleep(0)
    gone.cancel()
    bench.go.set()
    await asyncio.gather(first, last)
    assert bench.done == ["first", "last"]


async def test_the_end_waits_for_threads_whose_callers_are_gone_and_takes_no_more_work() -> None:
    bench, turns = Bench(), ThreadTurns()
    gone = asyncio.create_task(turns.run(partial(bench.work, "gone")))
    await until(lambda: bench.going)
    kept = asyncio.create_task(turns.run(partial(bench.work, "kept")))
    await asyncio.sleep(0)
    gone.cancel()
    ending = asyncio.create_task(turns.end())
    await asyncio.sleep(0.02)
    assert not ending.done()
    with pytest.raises(RuntimeError, match="no work"):
        await turns.run(partial(bench.work, "late"))
    bench.go.set()
    await ending
    assert bench.done == ["gone", "kept"]
    await kept
    await turns.end()


async def test_work_that_fails_tells_who_waits_and_holds_up_nobody() -> None:
    turns = ThreadTurns()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await turns.run(fail)
    assert await turns.run(lambda: 1) == 1


async def test_where_no_thread_is_to_be_had_the_turn_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = ThreadTurns()
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        raise RuntimeError("shut down")

    with monkeypatch.context() as patched:
        patched.setattr(loop, "run_in_executor", refuse)
        with pytest.raises(RuntimeError, match="shut down"):
            await turns.run(lambda: 1)
    assert await turns.run(lambda: 1) == 1
