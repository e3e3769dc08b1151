"""Who may be meant by a server after a call is over: who has a task, and who said something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.call import Target
from tests.behaviour.task_places import (
    ANN,
    BOB,
    WORDS_OF_IT,
    House,
    asked_in_time,
    implied_places,
    speaker,
    to,
)
from tests.upstream.rig import running


@pytest.fixture
async def legacy(tmp_path: Path) -> AsyncIterator[House]:
    async with running(speaker(tmp_path, "one", "legacy")) as supervisor:
        yield House(supervisor, "legacy")


async def test_a_call_that_is_given_up_and_made_a_task_after_all_may_be_the_one_that_asks(
    legacy: House,
) -> None:
    """Its server answers it late, with a task that runs."""
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    call = legacy.tool(BOB, "work", {})
    running_ = asyncio.ensure_future(legacy.put(call))
    await asyncio.sleep(0)
    running_.cancel()
    await asyncio.wait([running_])
    await legacy.seen()
    legacy.take("ann")
    (place,) = [one for one in implied_places() if one.name == "notifications/message"]
    await legacy.put(legacy.tool(ANN, "say", place.about("")))
    assert not [one for one in legacy.take("ann") if WORDS_OF_IT in one]


async def test_who_said_something_may_be_the_one_whom_a_server_means_ever_after(
    legacy: House,
) -> None:
    note = to(
        legacy.method(BOB, "notifications/acme.said", {}), Target("one", "notifications/acme.said")
    )
    await legacy.put(note)
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    assert link.sole == "sb"
    wrong = []
    for place in implied_places():
        wrong += await asked_in_time(legacy, place)
    assert wrong == []
    (log,) = [one for one in implied_places() if one.name == "notifications/message"]
    await legacy.put(legacy.tool(BOB, "say", log.about("")))
    assert any(WORDS_OF_IT in one for one in legacy.take("bob"))
