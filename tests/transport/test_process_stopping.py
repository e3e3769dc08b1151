"""A child that is stopped more than once: the nearer end counts."""

from __future__ import annotations

import asyncio
import sys

import pytest

from gatewright.transport.process import ChildProcess, spawn
from tests.transport.collecting import DEADLINE_S, Collector, within

DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.stderr.write("term\\n"))
sys.stderr.write("up\\n")
while True:
    time.sleep(0.05)
"""


async def deaf() -> tuple[ChildProcess, Collector]:
    """A child that ignores the end of its input and SIGTERM, of which it says that it came."""
    collector = Collector()
    code = (sys.executable, "-S", "-u", "-c", DEAF)
    child = await spawn(code[0], code[1:], receiver=collector, stderr=collector.line)
    async with asyncio.timeout(DEADLINE_S):
        while "up" not in collector.lines:
            await asyncio.sleep(0.01)
    return child, collector


@pytest.mark.parametrize(("first", "second"), [(0.4, 10.0), (10.0, 0.4), (0.4, 0.4)])
async def test_who_stops_it_once_more_does_not_give_it_more_time(
    first: float, second: float
) -> None:
    child, collector = await deaf()
    began = asyncio.get_running_loop().time()
    child.close(first)
    await asyncio.sleep(0.2)
    await within(child.stop(second))
    took = asyncio.get_running_loop().time() - began
    assert 0.7 < took < 3.0
    assert child.returncode == -9
    assert collector.lines.count("term") == 1


async def test_a_signal_that_came_is_not_repeated_by_a_later_stop() -> None:
    """A second one often means that a program is to end in the middle of what it does."""
    child, collector = await deaf()
    child.close(0.3)
    await asyncio.sleep(0.45)
    await within(child.stop(0.05))
    assert child.returncode == -9
    assert collector.lines.count("term") == 1
