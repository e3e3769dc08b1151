"""The lines of the inbox: what waits, what ended while the page is open and stays where it was, what came and is marked as new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.console import inbox_list
from gatewright.console.inbox_decisions import Decision
from gatewright.console.inbox_list import (
    InboxList,
    ListAsked,
    asked_at,
    list_of,
    where_of,
)
from gatewright.console.lists import placed
from gatewright.console.operations import ApiError, read
from gatewright.console.paging import url_of
from gatewright.pins.store import Seen
from tests.approvals.voting import voter
from tests.console.inbox_parts import ASKED, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def lines(world: World, asked: ListAsked | None = None) -> InboxList:
    return list_of(world.details, world.held, asked or ListAsked())


def ids(found: InboxList) -> list[str]:
    return [one.id for one in found.rows]


def two(world: World) -> tuple[str, str]:
    first = world.ask()
    world.now += 1
    return first.id, world.ask(asked=replace(ASKED, tool="other")).id


def test_the_oldest_is_open_and_definitions_stand_behind_requests(world: World) -> None:
    world.list_tool("one")
    world.list_tool("two")
    first, second = two(world)
    found = lines(world)
    assert (ids(found)[:2], found.opened, found.count, found.oldest) == (
        [first, second],
        first,
        3,
        100.0,
    )
    assert found.rows[2].definition is not None
    assert lines(world, ListAsked(open=ids(found)[2])).opened == ids(found)[2]


def test_what_ends_while_the_page_is_open_stays_where_it_was(world: World) -> None:
    """Above and below of what is open: nothing moves under a cursor."""
    first, second = two(world)
    before = lines(world)
    world.queue.decide(first, False, by=voter(world.state, "ana"), seen="", comment="no")
    found = lines(world, ListAsked(open=second, shown=before.shown))
    assert (ids(found), found.opened, found.count) == ([first, second], second, 1)
    assert [one.waits for one in found.rows] == [False, True]
    assert ids(lines(world)) == [second]


def test_what_is_open_stays_open_when_somebody_else_decides(world: World) -> None:
    first, second = two(world)
    world.queue.decide(first, True, by=voter(world.state, "ana"), seen="{}")
    found = lines(world, ListAsked(open=first, shown=f"{first},{second}"))
    assert found.opened == first
    (row,) = [one for one in found.rows if one.id == first]
    assert row.request is not None
    assert (row.waits, row.request.by) == (False, "ana")


def test_what_came_after_the_page_was_opened_is_new_unless_it_is_open(world: World) -> None:
    first, second = two(world)
    found = lines(world, ListAsked(since=100.5))
    assert ([one.new for one in found.rows], found.new) == ([False, True], 1)
    assert lines(world, ListAsked(since=100.5, open=second)).new == 0
    assert lines(world).new == 0
    assert first in ids(found)


def test_pages_follow_each_other_and_definitions_stand_on_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_list, "PAGE", 1)
    first, second = two(world)
    world.list_tool("one")
    world.list_tool("two")
    page = lines(world)
    assert (ids(page), page.next != "") == ([first], True)
    last = lines(world, ListAsked(after=page.next))
    assert (ids(last)[0], len(last.rows), last.next) == (second, 2, "")
    assert ids(lines(world, ListAsked(open=second)))[:2] == [first, second]


def test_what_is_open_and_goes_away_makes_way_for_nothing_else(world: World) -> None:
    """Who has the finger on a key means what they read, and not what would be opened in its place."""
    world.list_tool("one")
    world.list_tool("two")
    (held,) = [one.id for one in lines(world).rows]
    first, _ = two(world)
    before = lines(world, ListAsked(open=held))
    assert before.opened == held
    world.pins.accept("files", "read", digest="digest of two", by="olga")
    found = lines(world, ListAsked(open=held, shown=before.shown))
    assert (found.opened, found.count) == (held, 2)
    row = found.rows[-1]
    assert row.definition is not None
    assert (row.id, row.waits, row.gone, row.definition.tool) == (
        held,
        False,
        "accepted by olga",
        "read",
    )
    assert lines(world, ListAsked(open=first, shown=found.shown)).rows[-1].request is not None
    gone = lines(world, ListAsked(open="ap_never"))
    assert (gone.opened, gone.rows[-1].waits, gone.rows[-1].gone) == ("ap_never", False, "gone")


@pytest.mark.parametrize(
    ("then", "said"),
    [("one", "as it was accepted before"), ("", "refused by olga")],
)
def test_what_became_of_a_definition_is_said(world: World, then: str, said: str) -> None:
    world.list_tool("one")
    world.list_tool("two")
    (held,) = [one.id for one in lines(world).rows]
    if then:
        world.list_tool(then)
    else:
        world.pins.refuse("files", "read", digest="digest of two", by="olga", why="no")
    assert lines(world, ListAsked(open=held)).rows[-1].gone == said


def test_a_definition_that_a_page_shows_stays_there_when_calls_fill_the_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands on the last page otherwise."""
    monkeypatch.setattr(inbox_list, "PAGE", 1)
    world.list_tool("one")
    world.list_tool("two")
    shown = lines(world)
    (held,) = ids(shown)
    first, _ = two(world)
    found = lines(world, ListAsked(open=held, shown=shown.shown))
    assert (ids(found), found.opened, found.count) == ([first, held], held, 3)
    assert ids(lines(world, ListAsked(open=first, shown=found.shown))) == [first, held]
    assert ids(lines(world)) == [first]


def test_filters_keep_the_rest_out(world: World) -> None:
    first, _ = two(world)
    other = world.ask(asked=replace(ASKED, agent="bob"), risk="moderate")
    assert ids(lines(world, ListAsked(agent="bob"))) == [other.id]
    assert ids(lines(world, ListAsked(risk="moderate"))) == [other.id]
    assert first in ids(lines(world, ListAsked(server="files")))
    assert lines(world, ListAsked(server="none")).rows == []


@pytest.mark.parametrize("after", ["x", "x,ap_1", "[1]", '["a",1,"b"]', "[1,2,3]", "[" * 999])
def test_a_place_that_no_list_gave_out_is_refused(world: World, after: str) -> None:
    with pytest.raises(ApiError) as caught:
        lines(world, ListAsked(after=after))
    assert caught.value.status == 422
    with pytest.raises(ApiError) as caught:
        lines(world, ListAsked(after='[1.0,1.0,"ap_1"]', sort="agent"))
    assert caught.value.status == 422


def test_a_page_that_is_open_for_days_keeps_only_so_much_of_what_ended(world: World) -> None:
    """What it says of itself is always taken back."""
    shown = ""
    for number in range(inbox_list._IDS + 30):
        one = world.ask(asked=replace(ASKED, arguments_digest=f"{number:064}"))
        asked = msgspec.convert({"shown": shown}, ListAsked)
        shown = lines(world, asked).shown
        world.store.deny(one.id, by="ana")
    found = lines(world, ListAsked(shown=shown))
    assert len(found.rows) == inbox_list._IDS
    assert msgspec.convert({"shown": found.shown}, ListAsked).shown == found.shown


def test_the_order_holds_for_what_waits_and_for_what_ended_meanwhile(world: World) -> None:
    long = world.ask(asked=replace(ASKED, agent="zoe"), lasts_s=90)
    world.now += 1
    short = world.ask(asked=replace(ASKED, agent="bob"), lasts_s=30)
    assert ids(lines(world)) == [long.id, short.id]
    by_time = lines(world, ListAsked(sort="left"))
    assert ids(by_time) == [short.id, long.id]
    assert ids(lines(world, ListAsked(sort="agent"))) == [short.id, long.id]
    world.store.deny(short.id, by="ana")
    assert ids(lines(world, ListAsked(sort="left", shown=by_time.shown))) == [short.id, long.id]


def test_a_decision_says_in_which_list_it_was_made() -> None:
    place = url_of("", where_of(ListAsked(agent="a&b", sort="left", open="ap_1", since=3.0)))

    def sent(place: str) -> Any:
        return read(placed(Decision), {"digest": "d", "place": place}, texts=True)

    assert asked_at(sent(place), 5.0) == ListAsked(agent="a&b", sort="left", since=5.0)
    assert asked_at(sent(""), 5.0) == ListAsked(since=5.0)
    with pytest.raises(ApiError):
        asked_at(sent("?sort=nothing"), 5.0)


def test_more_definitions_than_a_page_has_stand_on_further_pages(world: World) -> None:
    """Behind the requests, of one server as well, and all of them are counted."""
    one = world.ask()
    seen = [Seen(f"t{number:03}", "{}", f"digest of {number}") for number in range(120)]
    world.pins.judge("files", seen, ask_first=True)
    for server in ("", "files"):
        found: list[str] = []
        asked = ListAsked(server=server)
        while True:
            page = list_of(world.details, world.held, asked)
            found += [row.id for row in page.rows]
            assert (page.count, page.oldest) == (121, 100.0)
            if not page.next:
                break
            asked = ListAsked(server=server, after=page.next)
        assert (len(found), len(set(found)), found[0]) == (121, 121, one.id)
