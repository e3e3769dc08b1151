"""Each place in which a server names or implies a task, and each in which a caller does, with every task that it could be: who has it hears
of it by the name that is told, and nobody else hears of it at all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.mcp.wire.headers_and_meta import TASK_STATUS
from tests.behaviour.task_places import (
    ANN,
    BOB,
    ERAS,
    WORDS_OF_IT,
    Era,
    House,
    asked_in_time,
    implied_places,
    named_places,
    speaker,
)
from tests.servers.rig import running, within


@pytest.fixture(params=ERAS)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    era: Era = request.param
    async with running(speaker(tmp_path, "one", era), speaker(tmp_path, "two", era)) as supervisor:
        yield House(supervisor, era)


@pytest.fixture
async def legacy(tmp_path: Path) -> AsyncIterator[House]:
    async with running(speaker(tmp_path, "one", "legacy")) as supervisor:
        yield House(supervisor, "legacy")


def flaws(place: str, task: str, heard: list[str], owner: bool, name: str) -> list[str]:
    """What is wrong with what somebody received."""
    found = [f"{place}, {task}: raw id in {one}" for one in heard if '"T-' in one]
    if not owner:
        found += [f"{place}, {task}: not theirs: {one}" for one in heard if WORDS_OF_IT in one]
        found += [
            f"{place}, {task}: named: {one}" for one in heard if RELATED in one or name in one
        ]
    return found


async def test_what_a_server_names_is_for_whoever_has_it(house: House) -> None:
    his = await house.make(BOB)  # T-1
    hers = await house.make(ANN)  # T-2
    await house.make(BOB)  # T-3, which ends
    ended = await house.make(BOB, "two")
    await house.about(BOB, "cancel", ended)
    await house.follow(BOB)
    house.take("ann"), house.take("bob")
    wrong: list[str] = []
    told = set()
    subjects = {"T-1": "bob", "T-2": "ann", "T-3": "bob", "T-99": "", his: "", "": "", 7: ""}
    for place in named_places(house.era):
        for task, owner in subjects.items():
            call = house.tool(ANN, "say", place.about(task))
            await house.put(call)
            ann, bob = house.take("ann"), house.take("bob")
            wrong += flaws(place.name, str(task), ann, owner == "ann", his)
            wrong += flaws(place.name, str(task), bob, owner == "bob", hers)
            if place.name in TASK_STATUS:  # words come with what is asked for
                wrong += [one for one in (*ann, *bob) if WORDS_OF_IT in one]
            if any(f'"{place.name}"' in one and RELATED not in one for one in bob):
                told.add(f"whoever listens: {place.name}")
            if owner == "bob" and any(his in one for one in bob):
                told.add(place.name)
            if owner == "ann" and any(hers in one for one in ann):
                told.add(f"ann: {place.name}")
    assert wrong == []
    # What can be told to somebody who listens is, and what can be asked in a call of the owner's.
    assert {"notifications/message", "notifications/acme.said", *_status(house)} <= told
    assert "ann: notifications/message" in told
    if house.era == "legacy":
        assert "whoever listens: notifications/resources/updated" in told
        assert {"ann: elicitation/create", "ann: sampling/createMessage", "ann: acme/ask"} <= told


def _status(house: House) -> set[str]:
    return {one.name for one in named_places(house.era) if one.name in TASK_STATUS}


async def test_a_task_of_another_server_is_none_of_this_ones(house: House) -> None:
    await house.make(BOB, "two")
    house.take("ann"), house.take("bob")
    for place in named_places(house.era):
        await house.put(house.tool(ANN, "say", place.about("T-1")))
    assert not [one for who in ("ann", "bob") for one in house.take(who) if WORDS_OF_IT in one]


async def test_what_names_nothing_is_nobodys_while_another_ones_task_runs(
    legacy: House,
) -> None:
    wrong: list[str] = []
    for how in ("runs", "ended by its result", "ended by word"):
        his = await legacy.make(BOB)
        raw = f"T-{('runs', 'ended by its result', 'ended by word').index(how) + 1}"
        if how == "ended by its result":
            first = asyncio.ensure_future(legacy.about(BOB, "cancel", his))
            await first
        elif how == "ended by word":
            note = {
                "method": "notifications/tasks/status",
                "params": {"taskId": raw, "status": "failed"},
            }
            await legacy.put(legacy.tool(BOB, "say", {"frames": [note]}))
        if how == "runs":
            for place in implied_places():
                legacy.take("ann")
                wrong += await asked_in_time(legacy, place)
            await legacy.about(BOB, "cancel", his)
        else:
            for place in implied_places():
                await legacy.put(legacy.tool(ANN, "say", place.about("")))
                heard = legacy.take("ann")
                if not any(json.dumps([place.name])[1:-1] in one for one in heard):
                    wrong.append(f"{how}, {place.name}: ann was told nothing: {heard}")
    assert wrong == []


async def test_who_made_the_task_is_asked_in_a_call_of_its_own(legacy: House) -> None:
    his = await legacy.make(BOB)
    for place in (*named_places("legacy"), *implied_places()):
        if "/" in place.name and not place.name.startswith(("notifications/", "tasks/")):
            await legacy.put(legacy.tool(BOB, "say", place.about("T-1")))
            (asked,) = [one for one in legacy.take("bob") if f'"{place.name}"' in one]
            named = RELATED in json.dumps(place.arguments)
            assert (his in asked) is named
    assert not [one for one in legacy.take("ann") if WORDS_OF_IT in one]


async def test_a_question_goes_to_the_call_that_asks_for_the_task_and_so_does_its_answer(
    legacy: House,
) -> None:
    his = await legacy.make(BOB)
    waits = asyncio.ensure_future(
        legacy.put(
            legacy.method(BOB, "tasks/result", {"taskId": his}),
            _meta={RELATED: {"taskId": his}},
        )
    )
    await asyncio.sleep(0.05)
    for place in named_places("legacy"):
        if place.name in ("elicitation/create", "sampling/createMessage"):
            await legacy.put(legacy.tool(ANN, "say", place.about("T-1")))
            assert any(his in one and WORDS_OF_IT in one for one in legacy.take("bob"))
            assert not any(WORDS_OF_IT in one for one in legacy.take("ann"))
    answers = [one for one in await legacy.seen() if "method" not in one]
    assert [one["result"]["_meta"] for one in answers] == [{RELATED: {"taskId": "T-1"}}] * 2
    await within(waits)
