"""The names of a large catalogue are made in slices, once for all who wait; whoever needs none of them waits for nothing."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gatewright.access.resolve_gate import Resolve
from gatewright.access.resolver import CatalogueResolver
from gatewright.call import Call
from gatewright.servers import view
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.server_set import ServerSet
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import Profile
from gatewright.transport import slices
from gatewright.transport.slices import whole
from tests.gate_parts import Mute, a_call
from tests.servers.test_catalogue import ANN, two_servers
from tests.servers.test_server_catalogue import listing, tool

MANY = 600


def _large(monkeypatch: pytest.MonkeyPatch, **profiles: Profile) -> tuple[Catalogue, list[int]]:
    """One of many tools, and how many views were begun."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    found = two_servers(None, **profiles)
    found.put("a", listing(tools=[tool(f"t{at}") for at in range(MANY)]))
    begun: list[int] = []
    placed = view.View._placed

    def counted(one: view.View) -> Any:
        begun.append(1)
        return placed(one)

    monkeypatch.setattr(view.View, "_placed", counted)
    return found, begun


def _gate(catalogue: Catalogue) -> Resolve:
    fleet = ServerSet({one: ServerSpec(id=one) for one in ("a", "b")}, {}, {}, catalogue)
    may = lambda *_: True  # noqa: E731
    return Resolve(CatalogueResolver(fleet, cast("Any", None), may, may_use=may), may)


async def _judged(catalogue: Catalogue, call: Call) -> Any:
    verdict = _gate(catalogue)(call, Mute())
    return verdict if isinstance(verdict, Call) else await cast("Any", verdict)


async def test_calls_wait_for_the_names_which_are_made_once_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, begun = _large(monkeypatch)
    call = a_call(name="a__t7")
    calls = asyncio.gather(*(_judged(catalogue, call) for _ in range(5)))
    turns = 0
    while not calls.done():
        await asyncio.sleep(0)
        turns += 1
    assert [one.target.name for one in calls.result()] == ["t7"] * 5
    assert turns >= MANY
    assert begun == [1]
    assert catalogue.making("") is None
    assert isinstance(_gate(catalogue)(call, Mute()), Call)


async def test_what_changes_meanwhile_is_what_a_call_goes_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, begun = _large(monkeypatch)
    judged = asyncio.ensure_future(_judged(catalogue, a_call(name="b__new")))
    for _ in range(50):
        await asyncio.sleep(0)
    catalogue.put("b", listing(tools=[tool("new")]))
    assert (await judged).target.name == "new"
    assert len(begun) == 2


async def test_a_rehearsal_waits_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue, begun = _large(monkeypatch)
    found = await _gate(catalogue).rehearse(a_call(name="a__t7"))
    assert isinstance(found, Call)
    assert begun == [1]


async def test_of_few_names_nobody_has_to_wait() -> None:
    assert two_servers().making("") is None
    assert isinstance(_gate(two_servers())(a_call(name="a__t"), Mute()), Call)


async def test_of_a_profile_that_is_not_there_nothing_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, begun = _large(monkeypatch)
    assert catalogue.making("nowhere") is None
    await catalogue.warm(["nowhere"])
    assert begun == []


async def test_which_servers_there_are_is_said_without_a_name_of_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, begun = _large(monkeypatch, narrow=Profile(servers=("b",)))
    assert catalogue.servers("", ANN) == ["a", "b"]
    assert catalogue.servers("narrow", ANN) == ["b"]
    assert catalogue.servers("gone", ANN) == []
    assert catalogue.seen_tool("", "a__t7") is None
    assert begun == []
    await catalogue.warm(catalogue.profiles)
    assert catalogue.servers("narrow", ANN) == ["b"]
    assert catalogue.seen_tool("", "a__t7") is catalogue.tool("", "a__t7") is not None


def test_whose_a_name_is_is_looked_up_and_no_tool_is_walked_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, _ = _large(monkeypatch)
    asked: list[Any] = []
    monkeypatch.setattr(catalogue, "about", asked.append)
    assert catalogue.user_of("t7", "gatewright") == "a"
    assert catalogue.user_of("nothing", "gatewright") == ""
    assert asked == []


async def test_what_changes_while_a_view_is_made_in_steps_is_kept_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalogue, begun = _large(monkeypatch)
    steps = catalogue._viewed("")
    next(steps)
    catalogue.put("b", listing(tools=[tool("new")]))
    assert "b__new" not in whole(steps).tools
    assert "" not in catalogue.viewed
    made = whole(catalogue._viewed(""))
    assert "b__new" in made.tools
    assert whole(catalogue._viewed("")) is made is catalogue.view("")
    assert begun == [1, 1]
