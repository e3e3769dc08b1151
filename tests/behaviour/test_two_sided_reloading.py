"""Scenes of the two-sided model in which the configuration changes while calls are in flight."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_reloading import asks_around, changes, neighbour_lists
from tests.behaviour.two_sided_scene import calls, played


@pytest.mark.parametrize("server", ["one", "new", "far", "net"])
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("lists", [False, True])
def test_what_is_a_servers_is_asked_of_nobody_else_while_that_is_away(
    tmp_path: Path, server: str, moves: bool, lists: bool
) -> None:
    async def act(house: House) -> None:
        asked, end, one = await calls(house, "eve", server)
        await changes(house, server, "eve", moves=moves, lists=lists)
        end.answered(one)
        text = f"about {one.mark} by-{server}"
        content = [{"type": "text", "text": text}]
        end.say(one.ident, id=one.ident, result={"resultType": "complete", "content": content})
        await house.rest()
        assert text in asked.heard
        again, _, _ = await calls(house, "eve", server)
        assert again.got == {server: 1}

    played(tmp_path, act)


@pytest.mark.parametrize("moves", [False, True])
def test_a_task_is_asked_about_at_the_server_that_made_it_and_at_no_other_that_has_its_id(
    tmp_path: Path, moves: bool
) -> None:
    async def act(house: House) -> None:
        _, end, one = await calls(house, "ann", "far", task={})
        end.answered(one)
        end.say(one.ident, id=one.ident, result=end.make_task("ann"))
        await house.rest()
        (task,) = house.clients["ann"].tasks
        await changes(house, "far", "ann", moves=moves, lists=False)
        (now,) = [each for each in house.servers["far"].ends if house.shared(each)]
        assert bool(now.tasks) != moves
        await calls(house, "fay", "far", task={})
        found = house.clients["ann"].request("tasks/get", {"taskId": task}, frozenset({"far"}))
        await house.rest()
        assert ("task-of-ann" not in found.heard) == moves
        assert found.got == ({} if moves else {"far": 1})

    played(tmp_path, act)


def test_the_hostile_one_is_led_to_nothing_that_it_lists_of_a_server_that_is_there(
    tmp_path: Path,
) -> None:
    async def act(house: House) -> None:
        await neighbour_lists(house, "one")
        await asks_around(house, "one", "eve")

    house = played(tmp_path, act)
    assert house.served["eve", "prompts/get", "one"] == 2
    assert house.served["eve", "resources/read", "evil"] == 0
