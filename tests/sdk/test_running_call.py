"""What a running call knows of itself, and what its threads say to the loop."""

from __future__ import annotations

import asyncio
import threading
from queue import SimpleQueue

import pytest

from gatewright.sdk import running_call
from gatewright.sdk.running_call import AHEAD, Running


async def test_the_time_of_a_question_is_counted_apart() -> None:
    running = Running()
    running.asks(10.0)
    running.asks(11.0)
    running.asked(12.0)
    assert running.asked_s(13.0) == 3.0
    running.asked(15.0)
    assert running.asked_s(99.0) == 5.0


async def test_what_a_thread_says_waits_where_the_loop_does_not_come_to_it() -> None:
    """A tool that says something all the time would fill the memory of everybody, however slowly it is read."""
    running, heard, said = Running(asyncio.get_running_loop()), list[int](), 0

    def talks() -> None:
        nonlocal said
        for number in range(3 * AHEAD):
            running.tell(heard.append, number)
            said += 1

    thread = threading.Thread(target=talks)
    thread.start()
    thread.join(0.3)  # the loop does nothing meanwhile
    assert (thread.is_alive(), said, heard) == (True, AHEAD, [])
    async with asyncio.timeout(10):
        while len(heard) < 3 * AHEAD:
            await asyncio.sleep(0)
    thread.join(10)
    assert heard == list(range(3 * AHEAD))


async def test_a_loop_that_waits_for_a_thread_is_not_waited_for_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tool that starts a thread of its own and joins it holds up the loop, and would never come back."""
    monkeypatch.setattr(running_call, "STUCK_S", 0.05)
    running, heard = Running(asyncio.get_running_loop()), list[int]()
    many = 20 * AHEAD

    def talks() -> None:
        for number in range(many):
            running.tell(heard.append, number)

    thread = threading.Thread(target=talks, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        while len(heard) < many:
            await asyncio.sleep(0)
    assert heard == list(range(many)), "in order, and nothing is lost"
    # Once it takes something again, it is waited for as before.
    assert running._room is not None
    assert (running._room.qsize(), running._stuck) == (AHEAD, False)


async def test_a_thread_that_waits_to_say_something_holds_no_lock() -> None:
    """It may be stopped at any instruction, and the loop would wait for the lock for ever."""
    running = Running(asyncio.get_running_loop())
    heard: list[int] = []
    await asyncio.to_thread(running.tell, heard.append, 1)
    assert type(running._room) is SimpleQueue


def test_where_no_loop_runs_nobody_is_told() -> None:
    heard: list[int] = []
    Running().tell(heard.append, 1)
    assert heard == []
