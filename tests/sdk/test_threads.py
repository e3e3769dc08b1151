from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import gc
import itertools
import sys
import threading
import time
import weakref

import pytest

from gatewright.sdk import threads
from gatewright.sdk.threads import MOST, Expired, Stopped, run_in_thread

DEADLINE_S = 60
who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def test_a_function_runs_beside_the_loop_with_the_tasks_variables() -> None:
    who.set("alice")
    name, found = await run_in_thread(lambda: (threading.current_thread().name, who.get()))
    assert name.startswith("gatewright-tool-")
    assert found == "alice"


async def test_what_a_function_raises_arrives_as_it_was() -> None:
    def broken() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await run_in_thread(broken)


@pytest.mark.parametrize("problem", [SystemExit(3), StopIteration(), KeyboardInterrupt()])
async def test_what_would_end_the_loop_becomes_an_ordinary_error(problem: BaseException) -> None:
    def broken() -> None:
        raise problem

    with pytest.raises(RuntimeError, match="the tool ended with"):
        await run_in_thread(broken)


@pytest.mark.no_cover
async def test_a_cancelled_function_does_nothing_further() -> None:
    """GGEN-to-5: it waits in C code when it is stopped, and what comes afterwards does not happen."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    effects: list[str] = []

    def slow() -> None:
        try:
            begun.set()
            go_on.wait(DEADLINE_S)
            time.monotonic()
            effects.append("written")
        except Stopped:
            ended.set()
            raise

    task = asyncio.ensure_future(run_in_thread(slow))
    assert await asyncio.to_thread(begun.wait, DEADLINE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert await asyncio.to_thread(ended.wait, DEADLINE_S)
    assert effects == []


@pytest.mark.no_cover
async def test_a_busy_loop_is_stopped_too_and_its_thread_serves_again() -> None:
    begun, ended = threading.Event(), threading.Event()

    def busy() -> None:
        try:
            begun.set()
            for _ in itertools.count():
                pass
        except Stopped:
            ended.set()
            raise

    for _ in range(3):
        begun.clear()
        ended.clear()
        task = asyncio.ensure_future(run_in_thread(busy))
        assert await asyncio.to_thread(begun.wait, DEADLINE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, DEADLINE_S)
        assert await run_in_thread(lambda: 7) == 7


def busy() -> None:
    """Does something until it is stopped. A function of its own: CPython 3.13.0 looks for no handler in the frame at whose jump
    backwards the exception comes up."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        pass


@pytest.mark.no_cover
@pytest.mark.parametrize("place", ["finaliser", "weak reference"])
async def test_a_function_is_stopped_also_where_the_exception_comes_up_in_a_callback(
    place: str,
) -> None:
    """CPython drops it there."""
    ended, inside = threading.Event(), threading.Event()

    def spin(*_: object) -> None:
        if not inside.is_set():
            inside.set()
            busy()

    class Thing:
        if place == "finaliser":
            __del__ = spin

    def endless() -> None:
        thing = Thing()
        seen = None if place == "finaliser" else weakref.ref(thing, spin)
        try:
            del thing
            busy()
        except Stopped:
            ended.set()
            raise
        finally:
            del seen

    with pytest.raises(Expired):
        await run_in_thread(endless, iter([0.2, 0.0, 0.0]).__next__)
    assert inside.is_set()
    assert await asyncio.to_thread(ended.wait, DEADLINE_S / 6)


async def test_many_functions_at_once_use_a_bounded_number_of_threads() -> None:
    names = await asyncio.gather(
        *(run_in_thread(lambda: threading.current_thread().name) for _ in range(4 * MOST))
    )
    assert len(names) == 4 * MOST
    assert len(set(names)) <= MOST


@pytest.mark.no_cover
async def test_time_that_is_over_ends_a_function_and_time_that_was_given_back_does_not() -> None:
    begun = time.monotonic()
    stopped = threading.Event()

    def slow() -> None:
        try:
            while True:
                time.sleep(0.001)
        finally:
            stopped.set()

    with pytest.raises(Expired):
        await run_in_thread(slow, lambda: 0.05 - (time.monotonic() - begun))
    assert await asyncio.to_thread(stopped.wait, 10)
    looks = iter([0.01, 0.01, 60.0])

    def later() -> int:
        time.sleep(0.1)
        return 7

    assert await run_in_thread(later, lambda: next(looks)) == 7


async def test_far_more_functions_than_threads_all_come_to_their_end() -> None:
    for _ in range(5):
        work = (run_in_thread(functools.partial(abs, n)) for n in range(300))
        done = await asyncio.gather(*work)
        assert done == list(range(300))


async def test_what_never_came_to_a_thread_is_forgotten_with_its_call() -> None:
    """Functions that are stuck hold all threads: the calls of others end in time, and leave nothing behind."""

    class Held:
        """What a call brings along."""

    async def late() -> weakref.ref[Held]:
        held, left = Held(), [0.01]
        with contextlib.suppress(Expired):
            await run_in_thread(functools.partial(id, held), lambda: left.pop() if left else 0.0)
        return weakref.ref(held)

    go_on = threading.Event()
    stuck = [
        asyncio.ensure_future(run_in_thread(lambda: go_on.wait(DEADLINE_S))) for _ in range(MOST)
    ]
    await asyncio.sleep(0)
    gone = await late()
    await asyncio.sleep(0)  # the loop lets go of what it has just done
    gc.collect()
    assert gone() is None
    go_on.set()
    assert await asyncio.gather(*stuck) == [True] * MOST


async def test_a_system_without_threads_costs_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    pool = threads._Threads()
    monkeypatch.setattr(threads, "_threads", pool)
    with monkeypatch.context() as full:
        full.setattr(threading, "Thread", Full)
        for _ in range(MOST + 1):
            with pytest.raises(RuntimeError, match="can't start"):
                await run_in_thread(threading.get_ident)
    assert await run_in_thread(threading.get_ident) != threading.get_ident()


async def test_a_thread_that_cannot_be_made_loses_no_call_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are done by the one that waits for an answer now, when it has got it."""
    pool, loop = threads._Threads(), asyncio.get_running_loop()
    monkeypatch.setattr(threads, "_threads", pool)
    monkeypatch.setattr(threads, "MOST", 1)
    go_on, answered, tried = threading.Event(), threading.Event(), asyncio.Event()

    class Full(threading.Thread):
        def start(self) -> None:
            tried.set()
            raise RuntimeError("can't start new thread")

    def asks() -> int:
        go_on.wait(DEADLINE_S)
        with pool.asking(loop):
            answered.wait(DEADLINE_S)
        return -1

    first = asyncio.ensure_future(run_in_thread(asks))
    await asyncio.sleep(0)
    others = [asyncio.ensure_future(run_in_thread(functools.partial(abs, n))) for n in range(3)]
    await asyncio.sleep(0)
    with monkeypatch.context() as full:
        full.setattr(threading, "Thread", Full)
        go_on.set()
        await tried.wait()
        answered.set()
        async with asyncio.timeout(DEADLINE_S):
            assert await asyncio.gather(first, *others) == [-1, 0, 1, 2]


@pytest.mark.no_cover
async def test_a_hook_that_others_put_there_and_took_away_again_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither that a function is stopped, nor what the others hear."""
    heard: list[str] = []

    def first(dropped: sys.UnraisableHookArgs) -> None:
        heard.append("first")

    monkeypatch.setattr(sys, "unraisablehook", first)
    threads._hear_dropped()
    ours = sys.unraisablehook
    assert ours is not first
    threads._hear_dropped()
    assert sys.unraisablehook is ours

    def second(dropped: sys.UnraisableHookArgs) -> None:
        heard.append("second")
        ours(dropped)

    class Broken:
        def __del__(self) -> None:
            raise LookupError("nobody hears this")

    for standing in (second, first, second, ours):
        sys.unraisablehook = standing
        threads._hear_dropped()
        Broken()
        await test_a_function_is_stopped_also_where_the_exception_comes_up_in_a_callback(
            "finaliser"
        )
    assert heard == ["second", "first", "first", "second", "first", "first"]
