"""Tasks that ask and end, states that are shown again and clients that listen twice, scene by scene: what the two-sided model comes across by
chance, in the fewest steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import HOSTS, TAKES_TASKS, Asked
from tests.behaviour.two_sided_fates import ASKS, ENDS
from tests.behaviour.two_sided_registering import registers
from tests.behaviour.two_sided_scene import calls, inside, main_end, played, work_of
from tests.behaviour.two_sided_servers import End
from tests.behaviour.two_sided_streaming import streams, tells
from tests.behaviour.two_sided_tasking import (
    answers_a_task,
    goes_on,
    listens,
    meddles,
    shows_again,
)

MODERN = [("eve", "net"), ("dan", "new"), ("lux", "reg_c"), ("liz", "reg_c")]
OF_2025 = [("ann", "one"), ("lou", "one"), ("fay", "far")]


async def task_of(house: House, who: str, server: str) -> tuple[End, str]:
    """A call of a client that its server runs as a task: on which connection, and what that calls it."""
    if server == "reg_c" and not house.there(server):
        assert await registers(house, who, server)
    more: dict[str, Any] = {"task": {}} if HOSTS[who].revision == "2025-11-25" else {}
    _, end, one = await calls(house, who, server, **more)
    end.answered(one)
    end.say(one.ident, id=one.ident, result=end.make_task(who))
    await house.rest()
    assert house.clients[who].tasks
    return end, list(end.tasks)[-1]


@pytest.mark.parametrize(("who", "server"), [*MODERN, *OF_2025])
@pytest.mark.parametrize("status", ENDS)
def test_the_owner_of_a_task_hears_what_it_came_to(
    tmp_path: Path, who: str, server: str, status: str
) -> None:
    async def act(house: House) -> None:
        end, ident = await task_of(house, who, server)
        await goes_on(house, end, ident, status)
        asked = [one for one in house.asked.values() if one.method == "tasks/get"]
        assert f'"status": "{status}"' in asked[-1].heard
        # What it came to stands there in the dialect that has it there.
        assert ("content" in asked[-1].heard) is (status == "completed" and who in TAKES_TASKS)

    played(tmp_path, act)


@pytest.mark.parametrize("other", ["bob", "kim", "lou", "ann"])
@pytest.mark.parametrize(("who", "server"), MODERN)
def test_the_answer_of_its_owner_gets_to_a_task_that_asks_and_nobody_elses(
    tmp_path: Path, who: str, server: str, other: str
) -> None:
    async def act(house: House) -> None:
        end, ident = await task_of(house, who, server)
        await goes_on(house, end, ident, ASKS)
        put = house.fates.put(end.tasks[ident])
        assert put
        await answers_a_task(house, end.tasks[ident], other)
        assert house.fates.answered == {put}
        assert house.heard["server tasks/update"] == 1
        await goes_on(house, end, ident, "completed")

    played(tmp_path, act)


def test_a_task_that_is_told_as_another_is_noticed(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        end, ident = await task_of(house, "eve", "net")
        house.fates.told = lambda *_, **__: {}  # type: ignore[method-assign]
        await goes_on(house, end, ident, "completed")

    faults = inside(tmp_path, act).faults
    assert [one for one in faults if "was not told that its task" in one]


async def parked(house: House, who: str, server: str) -> Asked:
    """A call of a client that is answered with a question."""
    asked, end, one = await calls(house, who, server)
    end.ask("elicitation/create", one, f"about {asked.mark} by-{server}", {})
    await house.rest()
    assert house.clients[who].parked(asked)
    return asked


@pytest.mark.parametrize(("who", "server"), [("eve", "one"), ("bob", "odd"), ("lux", "reg_b"), ("liz", "one")])  # fmt: skip
def test_a_state_is_good_for_one_answer_and_only_as_it_was_given(
    tmp_path: Path, who: str, server: str
) -> None:
    async def act(house: House) -> None:
        if server == "reg_b":
            assert await registers(house, "lux", server)
        asked = await parked(house, who, server)
        client = house.clients[who]
        for number in range(0, 8, 3):
            await shows_again(house, who, number, torn=True)
        assert asked.got[server] == 1
        assert client.answer(0) is not None
        await house.rest()
        end, one = work_of(house, asked)
        end.answered(one)
        content = [{"type": "text", "text": f"about {asked.mark} by-{server}"}]
        end.say(one.ident, id=one.ident, result={"content": content})
        await house.rest()
        assert asked.heard
        before = len(house.asked)
        await shows_again(house, who, 0, torn=False)
        assert len(house.asked) == before + 1
        assert asked.got[server] == 1

    played(tmp_path, act)


@pytest.mark.parametrize("who", ["bob", "eve", "lux", "kim"])
def test_each_stream_of_a_client_hears_of_a_list(tmp_path: Path, who: str) -> None:
    async def act(house: House) -> None:
        await listens(house, who, ("tools",))
        await listens(house, who, ("prompts", "tools"))
        client, end = house.clients[who], main_end(house, "one")
        what = "notifications/tools/list_changed"
        before = house.streams(client, "toolsListChanged", what)
        assert len(before) == 2
        house.promised("one", "tools")
        end.say(None, method=what, params={})
        await house.rest()
        await house.pass_time(1.5)
        house.must_hear_on_each(before)
        assert house.faults == []
        house.must_hear_on_each(house.streams(client, "toolsListChanged", what))
        assert len(house.faults) == 2  # nothing came since
        house.faults.clear()

    played(tmp_path, act)


@pytest.mark.parametrize(("who", "other"), [("ivy", "ida"), ("ida", "ivy")])
def test_another_key_of_a_caller_has_none_of_its_tasks_and_ends_none_of_its_calls(
    tmp_path: Path, who: str, other: str
) -> None:
    async def act(house: House) -> None:
        await task_of(house, other, "one")
        client = house.clients[who]
        for verb in ("get", "result", "cancel"):
            for name in house.clients[other].tasks:
                client.request(f"tasks/{verb}", {"taskId": name}, frozenset(), may=False)
        client.request("tasks/list", {}, frozenset({"one"}))
        asked = streams(house, other, "imp")
        await house.rest()
        end, one = next((end, one) for end, one in house.every_work() if one.mark == asked.mark)
        tells(end, one)
        await meddles(house, who, other)
        assert asked in house.clients[other].open.values()

    played(tmp_path, act)
