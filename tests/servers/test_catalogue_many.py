"""Of a hundred thousand tools nothing is walked over for one: looked up, compared and listed in steps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Target
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listing import Listing
from gatewright.servers.server_catalogue import build_listing, shelve
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from gatewright.servers.task_subject import sees_tool
from gatewright.servers.view import Item, Profile
from gatewright.transport.slices import whole
from tests.servers.rig import LEGACY
from tests.servers.test_catalogue import ANN, Turns, names
from tests.servers.test_server_catalogue import listing, tool

SPEC = ServerSpec(id="s", catalogue=CatalogueLimits(tools=10_000))
MANY = 300


class Walked(tuple[Any, ...]):
    """Nobody goes through it."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        pytest.fail("it is walked over")


class Compared(list[Any]):
    """Nobody compares it as a whole, or goes through it at once."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        pytest.fail("it is compared in one step")


def many(number: int = MANY, **more: Any) -> Listing:
    found = listing(tools=[tool(f"t{n}", **more) for n in range(number)])
    return replace(found, sections={"tools": Compared(found.of("tools"))})


def test_a_tool_is_looked_up_however_many_its_server_lists() -> None:
    """Anybody may ask for a name that there is not (`mgp/access/query`), and each grant, task and listener asks."""
    found = Catalogue([SPEC])
    found.put("s", many())
    last = found.shelf("s").tools[-1]
    found.view("")
    found._shelves["s"] = replace(found.shelf("s"), tools=Walked(found.shelf("s").tools))
    assert found.present(Target("s", f"t{MANY - 1}")) is last
    for target in (Target("s", "never"), Target("gone", "t1")):
        assert found.present(target) is None
    assert sees_tool(found, ANN, "", Target("s", "never"))


async def test_a_server_that_lists_the_same_again_costs_one_comparison_in_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, found = Turns(monkeypatch), Catalogue([SPEC])
    first = await shelve(SPEC, many(), None)
    assert found.put("s", first.listing, first)
    found.view("")
    again = await shelve(SPEC, many(), first)
    assert again is first, "it is the same, and known to be by identity"
    _, taken = await turns.during(found.ahead("s", again))
    assert taken <= 1, "views of the same are not made anew"
    version = found.version
    assert not found.put("s", again.listing, again)
    assert found.version == version
    other = await shelve(SPEC, many(description="new"), first)
    assert other.listing.of("tools") is not first.listing.of("tools")
    assert found.put("s", other.listing, other)


async def test_the_same_list_under_other_words_of_the_operator_is_judged_by_those() -> None:
    first = await shelve(SPEC, many(3), None)
    spec = replace(SPEC, catalogue=CatalogueLimits(tools=1))
    again = await shelve(spec, many(3), first)
    assert again.listing is first.listing
    assert [one.target.name for one in again.shelf.tools] == ["t0"]
    assert again.shelf == build_listing(spec, first.listing)


async def test_a_list_that_never_comes_to_rest_is_made_in_slices_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of one moment: what is judged and what is written are the same items."""
    turns, found = Turns(monkeypatch), Catalogue([SPEC, ServerSpec(id="t")])
    found.put("s", many(12))
    judged, written = [0], [0]
    see, text = Catalogue._may_see, Item.text

    def counted_see(*given: Any) -> bool:
        judged[0] += 1
        return see(*given)

    def counted_text(*given: Any) -> bytes:
        written[0] += 1
        return text(*given)

    monkeypatch.setattr(Catalogue, "_may_see", counted_see)
    monkeypatch.setattr(Item, "text", counted_text)
    monkeypatch.setattr(Catalogue, "view", lambda *_: pytest.fail("it is made in one step"))
    offers = cycle((listing(tools=[tool("x")]), listing(tools=[tool("y")])))
    task = asyncio.ensure_future(found.list("tools/list", "", ANN, LEGACY))
    most = 0
    while not task.done():
        before = judged[0] + written[0]
        await asyncio.sleep(0)
        most = max(most, judged[0] + written[0] - before)
        found.put("t", next(offers))
    assert most <= 2
    assert sorted(names(task.result()))[:-1] == sorted(f"s__t{n}" for n in range(12))
    assert turns is not None


def test_names_of_what_is_away_are_gone_through_one_a_step_and_only_where_a_profile_has_them() -> (
    None
):
    found = Catalogue([SPEC, ServerSpec(id="t")], {"t": Profile(servers=("t",))})
    found.reserved.put("s", [f"gone{n}" for n in range(MANY)])
    plain = sum(1 for _ in Catalogue([SPEC, ServerSpec(id="t")])._now(""))
    assert sum(1 for _ in found._now("")) >= plain + MANY
    assert sum(1 for _ in found._now("t")) < MANY
    steps = found._now("")
    next(steps)
    found.put("t", listing(tools=[tool("late")]))
    view = whole(steps)
    assert "t__late" not in view.tools
    assert "s__gone7" in view.missing
