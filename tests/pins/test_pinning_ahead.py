"""What a server lists is compared with the names of all others in slices, before anybody sees it, also where a tool that is shown has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gatewright.call import Tool
from gatewright.pins import pinning as module
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins, Seen, Standing
from gatewright.transport import slices
from tests.pins.test_pinning import Trail, of, settings, tool, two_servers
from tests.pins.test_pinning_many import MANY
from tests.storage.parts import state_in


@pytest.fixture
def pinning(tmp_path: Path) -> Iterator[Pinning]:
    made = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), Trail())
    yield made
    made.close()


def many(says: str) -> list[Tool]:
    return [tool(says=says), *(tool(f"t{at}") for at in range(MANY))]


async def test_names_are_compared_in_slices_when_a_tool_that_is_shown_has_changed(
    pinning: Pinning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server alone would else hold the loop for as long as it takes to read the names of all that it lists."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    pinning.adopt(settings(tmp_path))
    before, rest = many("wipes"), list[Tool]()
    pinning.shelved("srv", before)
    rest = [tool(says="wipes everything"), *before[1:]]
    looks, turns = asyncio.ensure_future(pinning.look_ahead("srv", rest)), 0
    while not looks.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= MANY
    monkeypatch.setattr(module, "whole", None)
    pinning.shelved("srv", rest)
    assert "has changed" in pinning.held(rest[0])
    assert not any(map(pinning.held, rest[1:]))


async def test_what_was_found_in_another_list_says_nothing_of_this_one(
    pinning: Pinning, tmp_path: Path
) -> None:
    """The list that was looked at ahead is not the one that came."""
    pinning.adopt(settings(tmp_path))
    pinning.shelved("srv", [tool("send")])
    await pinning.look_ahead("srv", [tool("send", "sends")])
    late = tool("s\u0435nd")
    pinning.shelved("srv", [tool("send"), late])
    assert "looks like 'send'" in pinning.held(late)


@pytest.mark.parametrize("shown", [False, True])
async def test_of_two_lists_the_later_one_has_the_look_alike_also_where_its_server_had_an_earlier_one(
    pinning: Pinning, tmp_path: Path, shown: bool
) -> None:
    """Whoever was first with another list, and comes again, comes after those that came between."""
    pinning.adopt(two_servers(tmp_path))
    if shown:
        pinning.shelved("a__b", [of("a__b", "x")])
    await pinning.look_ahead("a", [of("a", "read")])
    first, second = [of("a__b", "c"), of("a__b", "x")], [of("a", "b__c")]
    await pinning.look_ahead("a__b", first)
    await pinning.look_ahead("a", second)
    pinning.shelved("a", second)
    pinning.shelved("a__b", first)
    assert "is taken for 'a__b__c' of another server" in pinning.held(second[0])
    assert not any(map(pinning.held, first))


async def test_what_another_server_lists_in_between_is_the_look_alike_of_what_was_looked_at(
    pinning: Pinning, tmp_path: Path
) -> None:
    """Also where nobody looked at it ahead."""
    pinning.adopt(two_servers(tmp_path))
    changed = tool("c")
    mine = [of("a__b", "c"), of("a__b", "d")]
    pinning.shelved("a__b", mine[:1])
    mine = [Tool(mine[0].target, "c", {**changed.definition}, None, changed.security), mine[1]]
    await pinning.look_ahead("a__b", mine)
    theirs = [of("a", "b__c"), of("a", "b__d")]
    pinning.shelved("a", theirs)
    pinning.shelved("a__b", mine)
    assert not any(map(pinning.held, mine))
    assert all("of another server" in pinning.held(one) for one in theirs)


async def test_what_nobody_sees_yet_is_judged_in_slices_by_its_length(
    pinning: Pinning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is written to the disk, and definitions may have a quarter of a megabyte each."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    pinning.adopt(settings(tmp_path))
    judge, steps = pinning.store.judge, list[int]()

    def counted(server: str, tools: Sequence[Seen], *, ask_first: bool) -> dict[str, Standing]:
        steps.append(len(tools))
        return judge(server, tools, ask_first=ask_first)

    monkeypatch.setattr(pinning.store, "judge", counted)
    await pinning.look_ahead("srv", [tool(f"t{at}", "x" * 100_000) for at in range(5)])
    await pinning.look_ahead("srv", [tool(f"u{at}") for at in range(7)])
    assert steps == [2, 2, 1, 5, 2]
