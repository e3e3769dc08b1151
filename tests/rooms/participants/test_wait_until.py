"""Waiting for what others do."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.rooms.participants import AnswerTimeoutError, GoneError
from gatewright.rooms.participants.wait_until import until
from tests.rooms.participants.bus import Bus, within


async def test_a_condition_is_looked_at_after_each_message() -> None:
    bus = Bus()
    ada = bus.join("ada")
    waiting = asyncio.create_task(until(ada, lambda: "bob" in ada.roster.others))
    await asyncio.sleep(0)
    bus.raw("eve", "chat", {"text": "hi"})
    await asyncio.sleep(0)
    assert not waiting.done()
    bus.join("bob")
    await within(waiting)
    assert ada.watchers == []


async def test_waiting_ends_with_its_time_or_with_the_place() -> None:
    ada = Bus().join("ada")
    with pytest.raises(AnswerTimeoutError):
        await until(ada, lambda: False, timeout_s=0.01)
    waiting = asyncio.create_task(until(ada, lambda: False))
    await asyncio.sleep(0)
    ada.lost("closed")
    with pytest.raises(GoneError):
        await within(waiting)
