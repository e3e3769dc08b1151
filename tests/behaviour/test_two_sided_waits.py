"""Who hears of what waits for an operator, and whose call a decision lets run: what the two-sided model comes across by chance, in the fewest
steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_deciding import puts_off
from tests.behaviour.two_sided_facts import Asked, handles
from tests.behaviour.two_sided_scene import played, work_of


async def task(house: House, name: str, what: str = "") -> tuple[Asked, str]:
    """A call of a client waits as a task: what it asked, and what that is called."""
    server = "far" if name in ("amy", "fay") else "one"
    asked = puts_off(house, name, server, what)
    await house.rest()
    (handle,) = handles(asked.heard)
    return asked, handle


async def about(house: House, name: str, handle: str, verb: str = "get") -> Any:
    """What a client hears that asks about a task, which may be another's."""
    mark = house.held[handle].mark
    mine = mark.partition("-")[0] == name
    whose = frozenset({house.waits[mark].server} if mine else ())
    asked = house.clients[name].request(f"tasks/{verb}", {"taskId": handle}, whose, may=mine)
    await house.rest()
    return json.loads(asked.heard) if asked.heard else None


async def decides(house: House, asked: Asked, *, yes: bool, edited: str = "") -> None:
    """An operator decides on what a client asked for."""
    wanted = house.waits[asked.mark]
    (one,) = [one for one in house.undecided() if house.known[one.id] == wanted]
    house.decides(one, yes=yes, edited=edited)
    await house.rest()


async def answers(house: House, asked: Asked) -> None:
    end, one = work_of(house, asked)
    end.answered(one)
    content = [{"type": "text", "text": f"about {asked.mark} by-{end.server.name}"}]
    end.say(one.ident, id=one.ident, result={"resultType": "complete", "content": content})
    await house.rest()


def runs(house: House) -> set[str]:
    """The calls that servers have and have not answered."""
    return {one.mark for _, one in house.every_work()}


@pytest.mark.parametrize("name", ["ann", "dan"])
def test_a_task_is_its_owners_alone(tmp_path: Path, name: str) -> None:
    async def act(house: House) -> None:
        asked, handle = await task(house, name)
        for other in sorted(house.clients.keys() - {name}):
            for verb in ("get", "result", "cancel", "update"):
                assert await about(house, other, handle, verb) == {}
        assert (await about(house, name, handle))["status"] == "working"
        await decides(house, asked, yes=True)
        assert runs(house) == {asked.mark}
        await answers(house, asked)
        for other in sorted(house.clients.keys() - {name}):
            for verb in ("get", "result"):
                assert await about(house, other, handle, verb) == {}
        assert (await about(house, name, handle))["status"] == "completed"

    played(tmp_path, act)


def test_each_lists_its_own_tasks(tmp_path: Path) -> None:
    """Of two at one door, and of one caller at two doors."""

    async def act(house: House) -> None:
        mine = {name: (await task(house, name))[1] for name in ("ann", "gus", "amy", "fay")}
        for name, handle in mine.items():
            house.clients[name].request("tasks/list", {}, frozenset())
            await house.rest()
            asked = house.asked[f"{name}-{house.clients[name].count}"]
            assert handles(asked.heard) == {handle}

    played(tmp_path, act)


def test_a_yes_is_to_one_call(tmp_path: Path) -> None:
    """Of another caller's in the same words nothing was said, nor of another one of the same caller's."""

    async def act(house: House) -> None:
        first, _ = await task(house, "ann", "same")
        other, theirs = await task(house, "gus", "same")
        second, again = await task(house, "ann")
        await decides(house, first, yes=True)
        assert runs(house) == {first.mark}
        for asked, handle in ((other, theirs), (second, again)):
            assert (await about(house, asked.who, handle))["status"] == "working"
        await decides(house, other, yes=False)
        assert runs(house) == {first.mark}
        assert (await about(house, "gus", theirs))["status"] == "failed"
        assert (await about(house, "ann", again))["status"] == "working"
        await decides(house, second, yes=True)
        assert runs(house) == {first.mark, second.mark}

    played(tmp_path, act)


def test_a_yes_is_to_one_server(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        both = [puts_off(house, "ann", server, "same") for server in ("one", "evil")]
        await house.rest()
        await decides(house, both[1], yes=True)
        assert runs(house) == {both[1].mark}
        await decides(house, both[0], yes=False)
        assert runs(house) == {both[1].mark}

    played(tmp_path, act)


def test_a_result_is_that_of_its_task(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        both = [await task(house, "ann") for _ in range(2)]
        waits = [
            house.clients["ann"].request("tasks/result", {"taskId": handle}, frozenset({"one"}))
            for _, handle in both
        ]
        for asked, _ in both:
            await decides(house, asked, yes=True)
        for (asked, _), found in reversed(list(zip(both, waits, strict=True))):
            assert found.heard == ""
            await answers(house, asked)
            assert f"about {asked.mark} by-one" in found.heard

    played(tmp_path, act)


def test_what_runs_has_the_words_to_which_an_operator_said_yes(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked, _ = await task(house, "ann")
        await decides(house, asked, yes=True, edited="other")
        assert work_of(house, asked)[1].params["arguments"] == {"m": "other"}

    played(tmp_path, act)


def test_what_is_cancelled_before_the_decision_is_withdrawn(tmp_path: Path) -> None:
    """And what somebody else asked for in the same words is not."""

    async def act(house: House) -> None:
        house.clients["amy"].close()  # the same caller, and the same request for approval
        asked, handle = await task(house, "ann", "same")
        other, theirs = await task(house, "gus", "same")
        beside, more = await task(house, "ann", "same")
        for one, each in ((asked, handle), (beside, more)):
            one.gone = True
            house.cancelled.add(each)
            house.tried.add(each)
            left = {house.known[found.id] for found in house.undecided()}
            assert left == {house.waits[asked.mark], house.waits[other.mark]}
            assert (await about(house, "ann", each, "cancel"))["status"] == "cancelled"
        assert {house.known[found.id] for found in house.undecided()} == {house.waits[other.mark]}
        await decides(house, other, yes=True)
        assert runs(house) == {other.mark}
        assert (await about(house, "gus", theirs))["status"] == "working"

    played(tmp_path, act)


@pytest.mark.parametrize("name", ["gus", "eve"])
def test_what_is_cancelled_after_the_decision_is_stopped(tmp_path: Path, name: str) -> None:
    async def act(house: House) -> None:
        asked, handle = await task(house, name)
        other, _ = await task(house, name)
        for each in (asked, other):
            await decides(house, each, yes=True)
        asked.gone = True
        await about(house, name, handle, "cancel")
        house.must_stop([asked])
        end, one = work_of(house, asked)
        assert end.stopped == {one.ident}
        assert (await about(house, name, handle))["status"] == "cancelled"

    played(tmp_path, act)


def test_what_waits_is_no_task_after_a_restart_and_runs_when_it_is_asked_again(
    tmp_path: Path,
) -> None:
    async def act(house: House) -> None:
        asked, handle = await task(house, "ann")
        await house.restart()
        assert await about(house, "ann", handle) == {}
        wanted = house.waits[asked.mark]
        await decides(house, asked, yes=True)
        assert runs(house) == set()
        assert await about(house, "ann", handle) == {}
        for name, there in (("gus", False), ("ann", True), ("ann", False)):
            again = puts_off(house, name, "one", wanted.what, task=False)
            await house.rest()
            assert (again.mark in runs(house)) is there

    played(tmp_path, act)


async def on_the_line(house: House, name: str) -> Asked:
    """A call of a client waits on the line, and that client alone is shown the page."""
    asked = puts_off(house, name, "one", "", task=False)
    await house.rest()
    assert [one.name for one in house.clients.values() if one.asked] == [name]
    return asked


async def comes_to(house: House, asked: Asked) -> None:
    """An operator says yes to a call, and its client hears what that comes to."""
    await decides(house, asked, yes=True)
    house.clients[asked.who].answer(0)
    await house.rest()
    await answers(house, asked)
    assert f"about {asked.mark} by-one" in asked.heard


def test_the_state_of_a_call_on_the_line_is_its_callers(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = await on_the_line(house, "bob")
        (page,) = house.clients["bob"].asked
        for name in ("dan", "eve"):
            client = house.clients[name]
            more = {"requestState": page.state, "inputResponses": {"q1": client.words("")}}
            words = {**asked.params, **more}
            shown = client.request("tools/call", words, frozenset(), may=False)
            await house.rest()
            assert shown.heard == "{}"
        await comes_to(house, asked)

    played(tmp_path, act)


def test_the_page_of_a_call_on_the_line_is_its_callers(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = await on_the_line(house, "ann")
        (page,) = house.clients["ann"].asked
        for name in ("cid", "gus"):
            client = house.clients[name]
            client.say(id=page.ident, result=client.words(""))
        await house.rest()
        assert house.clients["ann"].asked == [page]
        await comes_to(house, asked)

    played(tmp_path, act)


def test_of_two_calls_on_the_line_each_comes_to_its_own(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        client = house.clients["bob"]
        both = [puts_off(house, "bob", "one", "", task=False) for _ in range(2)]
        await house.rest()
        assert [one.mark for one in client.asked] == [one.mark for one in both]
        for asked in reversed(both):
            await decides(house, asked, yes=True)
            client.answer([one.mark for one in client.asked].index(asked.mark))
            await house.rest()
            await answers(house, asked)
            assert f"about {asked.mark} by-one" in asked.heard

    played(tmp_path, act)


def test_what_ended_while_its_caller_was_away_is_told_to_who_comes_back(tmp_path: Path) -> None:
    """And what was said of it meanwhile, first."""

    async def act(house: House) -> None:
        asked = await on_the_line(house, "bob")
        await decides(house, asked, yes=True)
        end, one = work_of(house, asked)
        token = one.params["_meta"]["progressToken"]
        note = {"progressToken": token, "progress": 9, "message": f"about {asked.mark} by-one"}
        end.say(one.ident, method="notifications/progress", params=note)
        await house.rest()
        await answers(house, asked)
        assert (asked.heard, house.told[asked.mark, "progress"]) == ("", 0)
        assert house.clients["bob"].answer(0) is not None
        await house.rest()
        assert f"about {asked.mark} by-one" in asked.heard
        assert house.told[asked.mark, "progress"] == 1

    played(tmp_path, act)


def test_a_no_is_told_to_who_asked(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = puts_off(house, "cid", "evil", "same")
        other = puts_off(house, "bob", "evil", "same")
        await house.rest()
        before = house.still(house.waits[asked.mark])
        assert before == [asked]
        await decides(house, asked, yes=False)
        house.must_end(before)
        assert house.still(house.waits[other.mark]) == [other]
        assert runs(house) == set()
        again = puts_off(house, "cid", "evil", "same")
        await house.rest()
        assert "denied" in again.heard

    played(tmp_path, act)


@pytest.mark.parametrize("server", ["far", "net"])
def test_a_yes_is_not_used_up_while_its_server_is_away_for_a_moment(
    tmp_path: Path, server: str
) -> None:
    """A server elsewhere that went away twice within seconds is asked again a second later."""

    async def act(house: House) -> None:
        asked = puts_off(house, "ann", server, "")
        await house.rest()
        await house.dies(server)
        house.clients["fay"].request("tools/call", {"name": f"{server}__do"}, frozenset({server}))
        await house.rest()
        await house.dies(server)
        await decides(house, asked, yes=True)
        assert not asked.got
        assert 0.0 < house.connects_in(server) <= 1.0
        await house.pass_time(house.connects_in(server))
        house.must_run(house.waits[asked.mark], [asked])

    played(tmp_path, act)


def test_a_yes_under_other_rules_than_hold_by_now_is_asked_for_once_more(tmp_path: Path) -> None:
    """Another server was put behind another id meanwhile: a request is bound to all that is configured (decision 0034)."""

    async def act(house: House) -> None:
        asked, _handle = await task(house, "ann")
        wanted = house.waits[asked.mark]
        (one,) = house.undecided()
        house.moves("two")
        await house.reads_anew()
        await decides(house, asked, yes=True)
        assert house.other_rules(one)
        assert runs(house) == set()
        house.must_ask_anew(wanted, [asked])
        (again,) = house.undecided()
        assert (again.id != one.id, house.known[again.id]) == (True, wanted)
        house.yes.clear()
        await decides(house, asked, yes=True)
        assert not house.other_rules(again)
        assert runs(house) == {asked.mark}

    played(tmp_path, act)
