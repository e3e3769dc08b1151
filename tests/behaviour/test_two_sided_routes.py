"""Whom something is about, scene by scene: what the two-sided model comes across by chance, in the fewest steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import Asked
from tests.behaviour.two_sided_scene import calls, played, stands
from tests.behaviour.two_sided_servers import End, Work

# -- cancellations


@pytest.mark.parametrize("name", ["ann", "bob", "amy", "dan"])
def test_who_gives_up_one_of_two_calls_waits_for_the_other(tmp_path: Path, name: str) -> None:
    async def act(house: House) -> None:
        _, end, first = await calls(house, name, "one")
        asked, _, second = await calls(house, name, "one")
        house.clients[name].cancel(1)
        await house.rest()
        assert end.stopped == {second.ident}
        house.must_stop([asked])
        assert first.ident in end.work

    played(tmp_path, act)


@pytest.mark.parametrize("name", ["dan", "ann"])
def test_an_id_of_a_call_that_goes_on_under_another_cancels_nothing(
    tmp_path: Path, name: str
) -> None:
    """A parked call goes on under the id of the request that took it up; of the former one nobody waits for anything."""

    async def act(house: House) -> None:
        client = house.clients[name]
        asked, end, one = await calls(house, name, "evil")
        end.ask("elicitation/create", one, f"about {asked.mark} by-evil", {})
        await house.rest()
        assert client.answer(0) is not None
        await house.rest()
        assert not end.asked
        for number in range(8):  # none of these is an id that it waits for
            assert client.unknown(number) not in client.open
            told = {"requestId": client.unknown(number)}
            client.say(method="notifications/cancelled", params=told)
        await house.rest()
        assert end.stopped == set()
        client.cancel(0)
        await house.rest()
        assert end.stopped == {one.ident}

    played(tmp_path, act)


# -- questions


async def questioned(house: House, name: str) -> tuple[End, list[str]]:
    """A client was asked twice by one server, about two calls."""
    found: list[tuple[Asked, End, Work]] = [await calls(house, name, "one") for _ in range(2)]
    end = found[0][1]
    for asked, _, one in found:
        end.ask("elicitation/create", one, f"about {asked.mark} by-one", {})
    await house.rest()
    return end, list(end.asked)


def test_a_question_that_is_taken_back_is_that_one(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        end, (first, second) = await questioned(house, "ann")
        end.withdraw("q0")  # was never asked
        end.withdraw(second)
        await house.rest()
        assert [one.puts for one in house.clients["ann"].asked] == [(f"one.{first}",)]
        house.must_be_forgotten(f"one.{second}")

    played(tmp_path, act)


@pytest.mark.parametrize("at", [0, 1])
def test_an_answer_is_to_the_question_that_was_answered(tmp_path: Path, at: int) -> None:
    async def act(house: House) -> None:
        end, both = await questioned(house, "ann")
        client = house.clients["ann"]
        client.answer(at, progress=True)
        assert client.answer(at) is not None
        await house.rest()
        assert list(end.asked) == [both[1 - at]]

    played(tmp_path, act)


# -- log lines


def test_a_log_line_when_all_is_over_reaches_nobody_once_two_were_served(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("ann", "gus", "ann", "gus"):
            _, end, one = await calls(house, name, "one")
            end.answered(one)
            end.say(one.ident, id=one.ident, result={"content": []})
            await house.rest()
        for mark in end.past:
            note = {"level": "info", "data": f"about {mark} by-one"}
            end.say(None, method="notifications/message", params=note)
            await house.rest()
        assert house.heard["client notifications/message"] == 0

    played(tmp_path, act)


@pytest.mark.parametrize("server", ["far", "net"])
def test_a_log_line_on_the_stream_of_a_call_is_its_callers(tmp_path: Path, server: str) -> None:
    async def act(house: House) -> None:
        for name in ("ann", "eve", "fay"):
            await calls(house, name, server)
        for end, one in house.works(server):
            note = {"level": "info", "data": f"about {one.mark} by-{server}"}
            end.say(one.ident, method="notifications/message", params=note)
            await house.rest()
            house.must_hear(one.mark.partition("-")[0], "log", 0, one.mark)

    played(tmp_path, act)


@pytest.mark.parametrize(
    "more", [{"_meta": {"io.modelcontextprotocol/subscriptionId": 16}}, {"logger": "two/db"}]
)
def test_a_log_line_of_one_of_two_calls_is_nobodys(tmp_path: Path, more: dict[str, Any]) -> None:
    """On a pipe none can be told, whatever the server writes beside it."""

    async def act(house: House) -> None:
        both = [await calls(house, name, "evil") for name in ("ann", "gus")]
        for asked, end, _ in both:
            note = {"level": "info", "data": f"about {asked.mark} by-evil", **more}
            end.say(None, method="notifications/message", params=note)
        await house.rest()
        assert house.heard["client notifications/message"] == 0

    played(tmp_path, act)


def test_a_log_line_on_a_stream_of_no_call_is_of_none(tmp_path: Path) -> None:
    """A modern server may go on with what was given up; the stream of that is closed, and the one for changes is left."""

    async def act(house: House) -> None:
        asked, end, _ = await calls(house, "ann", "net")
        await calls(house, "fay", "net")
        house.clients["ann"].cancel(0)
        await house.rest()
        note = {"level": "info", "data": f"about {asked.mark} by-net"}
        end.say(next(iter(end.listens)), method="notifications/message", params=note)
        await house.rest()
        assert house.heard["client notifications/message"] == 0

    played(tmp_path, act)


def test_a_list_that_changes_during_a_call_is_looked_at(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        _, end, one = await calls(house, "ann", "one")
        what = "notifications/tools/list_changed"
        house.promised("one", "tools")
        end.say(one.ident, method=what)
        await house.rest()
        await house.pass_time(1.0)
        for client in house.listeners("one", "tools"):
            house.must_hear(client.name, what, 0)

    played(tmp_path, act)


# -- tasks


async def task(house: House, name: str, server: str) -> tuple[End, str, str]:
    """A client has a task: the connection that has it, its id there, and what its client calls it."""
    asked, end, one = await calls(house, name, server, task={})
    end.answered(one)
    end.say(one.ident, id=one.ident, result=end.make_task(name))
    await house.rest()
    assert not asked.gone
    return end, list(end.tasks)[-1], list(house.clients[name].tasks)[-1]


async def asks(house: House, name: str, ident: str) -> str:
    """What a client hears when it asks about a task, which may be somebody else's."""
    client = house.clients[name]
    number = client.tasks.get(ident)
    whose = set() if number is None else {house.made[number].end.server.name}
    params = {"taskId": ident}
    asked = client.request("tasks/get", params, frozenset(whose), may=bool(whose))
    await house.rest()
    return asked.heard


def test_how_a_task_stands_is_told_to_its_owner_alone(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        end, first, mine = await task(house, "ann", "one")
        _, second, theirs = await task(house, "gus", "one")
        for ident, number in ((first, "0"), (second, "1")):
            await stands(end, ident)
            house.must_hear(house.made[int(number)].who, "task", 0, number)
        for other in ("two", "evil"):  # to whom those are no tasks of theirs
            for each in house.servers[other].ends:
                told = {"taskId": first, "status": "working", "x": f"by-{other}"}
                each.say(None, method="notifications/tasks/status", params=told)
        assert "task-of-ann.0" in await asks(house, "ann", mine)
        assert await asks(house, "gus", mine) == "{}"
        assert "task-of-gus.1" in await asks(house, "gus", theirs)
        assert house.heard["client notifications/tasks/status"] == 2

    played(tmp_path, act)


def test_a_task_is_on_the_connection_of_its_session(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        end, ident, mine = await task(house, "ann", "own")
        other, theirs, fays = await task(house, "fay", "own")
        assert end is not other
        assert ident == theirs
        for each, name in ((end, "ann"), (other, "fay")):
            await stands(each, ident)
            house.must_hear(name, "task", 0, str(each.tasks[ident]))
        assert "task-of-ann.0" in await asks(house, "ann", mine)
        assert "task-of-fay.1" in await asks(house, "fay", fays)

    played(tmp_path, act)


def test_a_connection_that_is_new_has_no_task_of_the_former_one(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        _, _, mine = await task(house, "ann", "one")
        await house.dies("one")
        end, ident, theirs = await task(house, "gus", "one")
        assert ident == "T-1"
        assert await asks(house, "ann", mine) == "{}"
        assert "task-of-gus.1" in await asks(house, "gus", theirs)
        assert list(end.tasks) == ["T-1"]

    played(tmp_path, act)


def test_a_task_that_its_server_keeps_is_its_owners_after_a_restart(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        _, _, kept = await task(house, "ann", "far")
        _, _, gone = await task(house, "ann", "one")
        await house.restart()
        assert "task-of-ann.0" in await asks(house, "ann", kept)
        assert await asks(house, "fay", kept) == "{}"
        assert await asks(house, "amy", kept) == "{}"  # at another door
        assert await asks(house, "ann", gone) == "{}"

    played(tmp_path, act)


@pytest.mark.parametrize("method", ["notifications/tasks", "notifications/tasks/status"])
@pytest.mark.parametrize(
    ("server", "owner", "other"),
    [("new", "dan", "bob"), ("net", "ann", "eve"), ("one", "ann", "gus")],
)
def test_how_a_task_stands_is_no_word_of_anothers_call(
    tmp_path: Path, method: str, server: str, owner: str, other: str
) -> None:
    """In either dialect, while one session alone waits for that server."""

    async def act(house: House) -> None:
        end, ident, _ = await task(house, owner, server)
        _, _, theirs = await calls(house, other, server)
        for stream in (None, theirs.ident):
            end.say(stream, method=method, params=end.task(ident))
            await house.rest()

    assert played(tmp_path, act).faults == []
