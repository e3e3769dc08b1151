"""Decisions on requests as the API takes them: of what was looked at, with a reason, on several at once, with other arguments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.console.inbox_decisions import Batch, Decision, Edited, LookedAt, said_of
from gatewright.console.inbox_list import ListAsked
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from tests.console.inbox_parts import ASKED, World
from tests.storage.parts import key_of, operators_in, revoked_in


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


async def problem_of(coroutine: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await coroutine
    return caught.value


async def test_a_yes_names_the_arguments_that_were_looked_at(world: World) -> None:
    one = world.ask()
    for digest in ("", "b" * 64):
        said = Decision(digest=digest)
        found = await problem_of(world.decisions.approve(world.asking(one.id, said)))
        assert (found.status, found.code) == (409, "not_shown")
    done = await world.decisions.approve(world.asking(one.id, Decision(digest=one.runs)))
    assert (done.state, done.by) == ("approved", "olga")


async def test_arguments_that_are_not_kept_whole_are_not_approved(world: World) -> None:
    """By themselves and among others; others may run in their place, and a no takes no look."""
    one = world.ask('{"a":"' + "x" * 20_000 + '"}')
    said = Decision(digest=one.runs)
    found = await problem_of(world.decisions.approve(world.asking(one.id, said)))
    assert (found.status, found.code) == (409, "not_shown")
    batch = Batch(of=[LookedAt(one.id, one.runs)], approve=True)
    (among,) = await world.decisions.decide(world.asking("", batch))
    assert (among.state, "of 20008 characters" in among.problem) == ("", True)
    other = Decision(digest=one.runs, edited='{"a":"y"}')
    assert (await world.decisions.approve(world.asking(one.id, other))).state == "approved"


async def test_a_yes_for_a_time_holds_that_long(world: World) -> None:
    one = world.ask()
    given = Decision(digest=one.runs, scope="arguments", minutes=10)
    done = await world.decisions.approve(world.asking(one.id, given))
    assert done.expires == 700.0


async def test_the_second_of_two_people_hears_by_whom_it_was_decided(world: World) -> None:
    one = world.ask()
    await world.decisions.deny(world.asking(one.id, Decision(comment="no")))
    ana = Person("ana", "approver", "key")
    given = Decision(digest=one.runs)
    found = await problem_of(world.decisions.approve(world.asking(one.id, given, ana)))
    assert (found.status, found.message) == (409, "it is denied already by olga")


async def test_a_no_needs_a_reason_and_a_request(world: World) -> None:
    one = world.ask()
    found = await problem_of(world.decisions.deny(world.asking(one.id, Decision(comment=" "))))
    assert found.status == 422
    found = await problem_of(world.decisions.deny(world.asking("ap_none", Decision(comment="x"))))
    assert found.status == 404
    found = await problem_of(world.decisions.show(world.asking("ap_none")))
    assert found.status == 404


async def test_who_asked_does_not_decide(world: World) -> None:
    one = world.ask()
    ann = Person("ann", "operator", "key")
    found = await problem_of(
        world.decisions.approve(world.asking(one.id, Decision(digest=one.runs), ann))
    )
    assert (found.status, found.code) == (403, "own")


async def test_a_key_that_has_ended_decides_on_nothing_though_its_person_was_let_in(
    world: World,
) -> None:
    """As by a gateway that has not looked yet: the owner has another key in force. One by one and in a batch."""
    one = world.ask()
    stolen = Person("olga", "operator", "key", key=key_of(world.state, "olga"))
    revoked_in(world.state, "olga", world.now)
    operators_in(world.state, "olga")
    given = Decision(digest=one.runs)
    found = await problem_of(world.decisions.approve(world.asking(one.id, given, stolen)))
    assert (found.status, found.code) == (403, "keyless")
    batch = Batch(of=[LookedAt(one.id, one.runs)], approve=True)
    (done,) = await world.decisions.decide(world.asking("", batch, stolen))
    assert (done.state, "has ended" in done.problem) == ("", True)
    good = await world.decisions.approve(world.asking(one.id, given))
    assert good.state == "approved"


async def test_of_several_each_is_decided_by_itself(world: World) -> None:
    first = world.ask()
    second = world.ask(asked=replace(ASKED, tool="other"))
    third = world.ask(asked=replace(ASKED, tool="third"))
    world.store.deny(second.id, by="ana")
    of = [LookedAt(one.id, one.runs) for one in (first, second)] + [LookedAt(third.id, "wrong")]
    done = await world.decisions.decide(world.asking("", Batch(of=of, approve=True)))
    assert [(one.state, one.problem) for one in done] == [
        ("approved", ""),
        ("", "it is denied already by ana"),
        ("", "the arguments are not those that were looked at"),
    ]
    batch = Batch(of=[LookedAt(third.id)], approve=False, comment="enough")
    (last,) = await world.decisions.decide(world.asking("", batch))
    assert last.state == "denied"


async def test_other_arguments_are_compared_before_they_run(world: World) -> None:
    one = world.ask('{"path":"/a","all":true}')
    found = await world.decisions.compare(
        world.asking(one.id, Edited(edited='{"all":true,"path":"/b"}'))
    )
    assert (found.edited, found.digest) == ('{"all":true,"path":"/b"}', one.runs)
    assert [line.kind for line in found.lines].count("added") == 1
    same = Edited(edited='{ "path": "/a", "all": true }')
    assert [
        line.text for line in (await world.decisions.compare(world.asking(one.id, same))).lines
    ] == []


@pytest.mark.parametrize("edited", ["", "[]", "{", '"x"', "[" * 5000])
async def test_what_is_no_object_cannot_be_arguments(world: World, edited: str) -> None:
    one = world.ask()
    found = await problem_of(world.decisions.compare(world.asking(one.id, Edited(edited=edited))))
    assert found.status == 422


async def test_pages_open_elsewhere_hear_of_a_decision(world: World) -> None:
    one, before = world.ask(), world.changes._count
    await world.decisions.deny(world.asking(one.id, Decision(comment="no")))
    assert world.changes.since(before, ("inbox", "audit", "live")) == ["inbox", "audit"]
    decided = world.store.get(one.id)
    assert decided is not None
    assert said_of(replace(decided, state="used")) == "approved"


async def test_arguments_that_nobody_can_look_at_are_not_compared(world: World) -> None:
    one = world.ask('{"text":"' + "x" * 20_000 + '"}')
    found = await problem_of(world.decisions.compare(world.asking(one.id, Edited(edited="{}"))))
    assert (found.status, found.code) == (409, "not_shown")


async def test_what_waits_is_listed_page_by_page(world: World) -> None:
    one = world.ask()
    page = await world.decisions.all(world.asking("", ListAsked()))
    assert ([found.id for found in page.approvals], page.next) == ([one.id], "")
