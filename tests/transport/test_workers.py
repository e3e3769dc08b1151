"""Worker processes: started late, replaced when they hang, shared fairly, gone with their owner."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import gatewright.transport.workers
from gatewright.transport.workers import Busy, Overtime, Workers, read_frame, write_frame

SLOW = str(Path(__file__).with_name("slow_worker.py"))


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[Workers]:
    found = Workers("unused", most=2)
    found._command[:] = [sys.executable, SLOW]
    yield found
    await found.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_nothing_is_started_before_something_is_to_be_done(workers: Workers) -> None:
    assert workers._alive == set()
    head, load = await workers.run("ann", b"", b"abc")
    assert (load, alive(int(head))) == (b"cba", True)


async def test_one_process_answers_one_order_after_the_other(workers: Workers) -> None:
    heads = {(await workers.run("ann", b"", str(number).encode()))[0] for number in range(5)}
    assert len(heads) == 1
    assert workers.orders == 5


async def test_a_load_of_many_mebibytes_comes_and_goes_whole(workers: Workers) -> None:
    load = os.urandom(1 << 20) * 9
    assert (await workers.run("ann", b"", load))[1] == load[::-1]


async def test_an_answer_beyond_the_bound_is_not_read_and_ends_its_process(
    workers: Workers,
) -> None:
    workers._answer_bytes = 1000
    process = int((await workers.run("ann", b"", b"x" * 900))[0])
    with pytest.raises(Overtime):
        await workers.run("ann", b"", b"x" * 1001)
    assert workers.killed == 1
    assert not alive(process)
    assert (await workers.run("ann", b"", b"abc"))[1] == b"cba"


@pytest.mark.parametrize("how", [b"hang", b"sleep", b"die"])
async def test_what_takes_too_long_is_ended_and_the_next_order_done(
    workers: Workers, how: bytes
) -> None:
    before = int((await workers.run("ann", b"", b""))[0])
    with pytest.raises(Overtime):
        await workers.run("ann", how, b"", seconds=1)
    assert workers.killed == 1
    assert not alive(before)
    after = int((await workers.run("ann", b"", b""))[0])
    assert after != before


async def test_one_caller_leaves_a_worker_to_the_others(workers: Workers) -> None:
    hogs = [asyncio.create_task(workers.run("hog", b"sleep", b"", seconds=3)) for _ in range(4)]
    await asyncio.sleep(0)
    assert (await workers.run("ann", b"", b"x"))[1] == b"x"
    assert not any(one.done() for one in hogs)
    assert workers._busy == {"hog": 1}
    for one in hogs:
        one.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)


async def test_a_caller_with_too_much_waiting_is_told_so(workers: Workers) -> None:
    hogs = [asyncio.create_task(workers.run("hog", b"sleep", b"", seconds=3)) for _ in range(17)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await workers.run("hog", b"", b"")
    for one in hogs:
        one.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)
    assert not workers._waiting
    assert workers._waiting_bytes == 0


async def test_one_caller_fills_a_quarter_of_what_may_wait(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.transport.workers._WAITING_BYTES", 400)
    monkeypatch.setattr("gatewright.transport.workers._BYTES_OF_ONE", 100)
    first = asyncio.create_task(workers.run("hog", b"sleep", b"", seconds=3))
    await asyncio.sleep(0)
    hogs = [asyncio.create_task(workers.run("hog", b"", b"x" * 30)) for _ in range(16)]
    await asyncio.wait(hogs, timeout=0.05)
    assert [isinstance(one.exception(), Busy) for one in hogs if one.done()] == [True] * 13
    assert workers._waiting_bytes == 90
    assert (await workers.run("ann", b"", b"y" * 200))[1] == b"y" * 200
    for one in (first, *hogs):
        one.cancel()
    await asyncio.gather(first, *hogs, return_exceptions=True)


async def test_one_load_may_wait_however_large_it_is(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.transport.workers._BYTES_OF_ONE", 100)
    assert (await workers.run("ann", b"", b"y" * 200))[1] == b"y" * 200
    first = asyncio.create_task(workers.run("ann", b"sleep", b"", seconds=3))
    await asyncio.sleep(0)
    second = asyncio.create_task(workers.run("ann", b"", b"x" * 200))
    await asyncio.sleep(0)
    assert len(workers._waiting) == 1
    with pytest.raises(Busy):
        await workers.run("ann", b"", b"x")
    for one in (first, second):
        one.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_who_is_gone_waits_for_nothing_any_more(workers: Workers) -> None:
    first = asyncio.create_task(workers.run("hog", b"sleep", b"", seconds=2))
    second = asyncio.create_task(workers.run("hog", b"", b"load"))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert not workers._waiting
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)


async def test_closing_ends_every_process_whatever_it_is_in() -> None:
    found = Workers("unused")
    found._command[:] = [sys.executable, SLOW]
    pid = int((await found.run("ann", b"", b""))[0])
    busy = asyncio.create_task(found.run("ann", b"hang", b"", seconds=30))
    waits = asyncio.create_task(found.run("ann", b"", b""))
    await asyncio.sleep(0.05)
    await found.close()
    with pytest.raises(Overtime):
        await busy
    with pytest.raises(Busy):  # nobody cancelled whoever waits
        await waits
    assert not alive(pid)
    with pytest.raises(Busy):
        await found.run("ann", b"", b"")


def test_a_worker_whose_owner_is_gone_ends_by_itself() -> None:
    for order in (None, b"hang"):
        child = subprocess.Popen(
            [sys.executable, SLOW], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.read(1) == b"!"
        if order is not None:
            write_frame(child.stdin.fileno(), order, b"", 1)
        child.stdin.close()
        code = child.wait(20)
        child.stdout.close()
        assert code == (0 if order is None else -signal.SIGALRM)


def test_a_frame_that_breaks_off_is_an_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\0\0\0\5\0\0\0\0\1ab")
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe, pytest.raises(EOFError):
        read_frame(pipe)


async def test_a_program_that_cannot_be_started_is_no_answer() -> None:
    found = Workers("unused")
    found._command[:] = [sys.executable, "-c", "raise SystemExit(1)"]
    began = time.monotonic()
    with pytest.raises(Overtime):
        await found.run("ann", b"", b"")
    assert time.monotonic() >= began
    await found.close()


class NoThreads(ThreadPoolExecutor):
    """None can be started, from some moment on."""

    full = False

    def submit(self, *given: Any, **more: Any) -> Any:
        if self.full:
            raise RuntimeError("can't start new thread")
        return super().submit(*given, **more)


@pytest.mark.parametrize("began", [False, True])
async def test_without_a_thread_nobody_waits_for_an_answer(workers: Workers, began: bool) -> None:
    workers._threads = threads = NoThreads(1)
    if began:
        await workers.run("ann", b"0", b"")
    threads.full = True
    with pytest.raises(Overtime):
        await asyncio.wait_for(workers.run("ann", b"0", b""), 20)
    assert workers._running == 0
    threads.full = False
    await asyncio.wait_for(workers.run("ann", b"0", b""), 20)


async def test_a_process_whose_start_nobody_waits_for_any_more_is_ended_with_the_others() -> None:
    """The task that had it started is cancelled, as at the end of a loop, while a thread starts it."""
    workers = Workers("unused", most=1)
    workers._command[:] = [sys.executable, SLOW]
    started: list[subprocess.Popen[bytes]] = []
    go_on = threading.Event()
    real = workers._started

    def slowly() -> subprocess.Popen[bytes]:
        go_on.wait(30)
        started.append(real())
        return started[0]

    workers._started = slowly  # type: ignore[method-assign]
    asked = asyncio.create_task(workers.run("ann", b"", b"abc"))
    async with asyncio.timeout(30):
        while workers._threads is None:
            await asyncio.sleep(0)
    for task in (*workers._tasks, asked):
        task.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    closing = asyncio.create_task(workers.close())
    await asyncio.sleep(0.05)
    go_on.set()
    await closing
    threads = workers._threads
    assert threads is not None
    await asyncio.to_thread(threads.shutdown)
    assert [one.poll() is not None for one in started] in ([], [True])
    assert workers._alive == set()


def _silent(tmp_path: Path, workers: Workers) -> Path:
    """Have a process started that never says that it is there, but writes down who it is."""
    told = tmp_path / "pid"
    workers._command[:] = [
        sys.executable,
        "-c",
        f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)",
    ]
    return told


def _told(told: Path) -> str:
    return told.read_text() if told.exists() else ""


async def _pid(told: Path) -> int:
    async with asyncio.timeout(30):
        while not _told(told):
            await asyncio.sleep(0.01)
    return int(_told(told))


async def test_a_process_that_never_says_that_it_is_there_is_given_up(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _silent(tmp_path, workers)
    monkeypatch.setattr(gatewright.transport.workers, "_START_S", 0.5)
    async with asyncio.timeout(30):
        with pytest.raises(Overtime):
            await workers.run("ann", b"", b"")
    assert workers._alive == set()
    if said := _told(told):
        assert not alive(int(said))


async def test_closing_does_not_wait_for_a_process_that_is_being_started(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workers = Workers("unused", most=1)
    told = _silent(tmp_path, workers)
    asked = asyncio.create_task(workers.run("ann", b"", b""))
    pid = await _pid(told)
    async with asyncio.timeout(10):
        await workers.close()
    assert not alive(pid)
    assert workers._alive == set()
    assert isinstance((await asyncio.gather(asked, return_exceptions=True))[0], Overtime | Busy)
    assert [one for one in caplog.records if one.name == "gatewright.workers"] == []
    assert workers.closed


async def test_an_ordinary_close_is_no_warning(
    workers: Workers, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.create_task(workers.run("ann", b"sleep", b"", 30))
    async with asyncio.timeout(20):
        while not workers._alive:
            await asyncio.sleep(0.01)
    await workers.close()
    await asyncio.gather(asked, return_exceptions=True)
    assert [one for one in caplog.records if one.name == "gatewright.workers"] == []
