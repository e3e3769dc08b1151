"""Tools that are left in slices: what is listed, what runs, and what whoever registers finds, at any time of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer
from gatewright.dialects.groundhog import tool_registry
from gatewright.dialects.groundhog.tool_registry import Conflict, Registry
from gatewright.sdk.versions import precedence
from gatewright.servers.listing import Listing
from tests.dialects.groundhog.test_tool_registry import listed, one, ran, several


async def test_many_that_leave_are_gone_for_who_registers_and_listed_until_the_next_list_is_ready() -> (
    None
):
    told: list[int] = []
    registry, ready = Registry(), asyncio.Event()
    for each in several(5):
        registry.add(replace(each, owner="key ann"))
    registry.changed.listen(lambda listing: told.append(len(listing.of("tools"))))

    async def ahead(listing: Listing) -> None:
        await ready.wait()

    keys = [(f"tool-{number}", "1.0.0") for number in range(4)]
    leaving = asyncio.create_task(registry.leave(keys, ahead))
    await asyncio.sleep(0)
    assert len(registry.listing.of("tools")) == 5
    other = replace(several(1)[0], owner="key ann", fingerprint="another")
    assert registry.add(other), "whoever is back registers what it likes"
    with pytest.raises(Conflict):
        registry.add(replace(several(2)[1], owner="key bob"))
    ready.set()
    await leaving
    assert told[-1] == len(registry.tools) == 2
    assert registry.get("tool-0", "1.0.0") is other
    assert registry._each == {"key ann": 2}
    assert registry._leaving == {}


async def test_what_leaves_is_not_counted_for_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatewright.dialects.groundhog.tool_registry.MOST_EACH", 3)
    registry = Registry()
    for each in several(3):
        registry.add(replace(each, owner="key ann"))

    async def ahead(listing: Listing) -> None:
        registry.add(replace(one(), name="more", owner="key ann"))

    await registry.leave([("tool-0", "1.0.0"), ("none", "1")], ahead)
    assert registry._each == {"key ann": 3}
    assert {tool.name for tool in registry.tools} == {"tool-1", "tool-2", "more"}
    assert len(registry.listing.of("tools")) == 3


async def test_what_leaves_is_marked_at_once_and_not_a_turn_later() -> None:
    """Who registers it in that turn would hear that it is there, and it would go all the same."""
    registry = Registry()
    mine = replace(one(), owner="key ann")
    registry.add(mine)

    async def ahead(listing: Listing) -> None:
        await asyncio.sleep(0)

    leaving = asyncio.ensure_future(registry.leave([("tool", "1.0.0")], ahead))
    assert registry.add(replace(mine)), "it is offered anew"
    await leaving
    assert [tool.name for tool in registry.tools] == ["tool"]
    assert listed(registry) == {"tool": "1.0.0"}


async def test_what_runs_is_the_version_that_is_listed_at_any_time_of_a_leave() -> None:
    registry, ready = Registry(), asyncio.Event()
    asked: list[Listing] = []
    output = {"type": "object", "properties": {"version": {"const": "2.0.0"}}}
    for each in (one(), one("2.0.0", outputSchema=output), one("3.0.0")):
        registry.add(replace(each, owner="key ann"))

    async def ahead(listing: Listing) -> None:
        asked.append(listing)
        await ready.wait()

    async def same() -> None:
        """Each listed name runs its version, under its own output schema."""
        for name, version in listed(registry).items():
            outcome = await ran(registry, name)
            assert isinstance(outcome, Answer), name
            assert json.loads(outcome.raw)["structuredContent"]["version"] == version

    leaving = asyncio.create_task(registry.leave([("tool", "3.0.0"), ("tool", "2.0.0")], ahead))
    while not asked:
        await asyncio.sleep(0)
        await same()
    assert listed(registry) == {"tool": "3.0.0", "tool.v2.0.0": "2.0.0", "tool.v1.0.0": "1.0.0"}
    registry.add(replace(one(), name="other", owner="key ann"))
    assert {"tool", "other"} <= set(registry._functions)
    registry.remove(("other", "1.0.0"))
    await same()
    ready.set()
    await leaving
    assert listed(registry) == {"tool": "1.0.0"}
    assert set(registry._functions) == {"tool"}
    await same()


async def test_what_was_left_is_listed_no_more_where_its_next_list_cannot_be_made_ready() -> None:
    registry = Registry()
    for version in ("1.0.0", "2.0.0"):
        registry.add(replace(one(version), owner="key ann"))

    async def ahead(listing: Listing) -> None:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError):
        await registry.leave([("tool", "2.0.0")], ahead)
    assert listed(registry) == {"tool": "1.0.0"}
    assert json.loads((await ran(registry)).raw)["structuredContent"]["version"] == "1.0.0"
    assert registry._leaving == {}


async def test_many_versions_of_one_name_are_sorted_once_when_they_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And each version is read once: with all of them for each one, a thousand would take a second."""
    read, put = list[str](), list[str]()

    def reading(version: str) -> Any:
        read.append(version)
        return precedence(version)

    class Counting(Registry):
        def _put(self, name: str, function: Any) -> None:
            put.append(name)
            super()._put(name, function)

    monkeypatch.setattr(tool_registry, "precedence", reading)
    registry = Counting()
    for number in range(30):
        registry.add(replace(one(f"1.0.{number}"), owner="key ann"))
    assert len(read) == 30
    assert len(put) == 59  # each as the newest, and all but the last as an older one

    async def ahead(listing: Listing) -> None:
        await asyncio.sleep(0)

    put.clear()
    await registry.leave([("tool", f"1.0.{number}") for number in range(10, 30)], ahead)
    assert put == ["tool"]
    assert len(read) == 30
    assert len(listed(registry)) == 10
    assert set(registry._functions) == set(listed(registry))
    registry.remove(*((tool.name, tool.version) for tool in registry.tools))
    assert registry._ranks == {}
    assert registry._functions == {}


async def test_what_was_left_is_gone_also_where_the_slices_of_it_fail() -> None:
    class Broken(Registry):
        def _groups(self, names: Iterable[str]) -> Any:
            raise RuntimeError("no memory")

    registry = Broken()
    for each in several(3):
        registry.add(replace(each, owner="key ann"))

    async def ahead(listing: Listing) -> None:
        raise AssertionError("nothing is made ready")

    with pytest.raises(RuntimeError):
        await registry.leave([("tool-0", "1.0.0"), ("tool-1", "1.0.0")], ahead)
    assert len(registry.listing.of("tools")) == len(registry.tools) == 1
    assert registry._leaving == {}
    assert registry._each == {"key ann": 1}
