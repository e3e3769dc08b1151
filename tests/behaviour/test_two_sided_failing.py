"""Calls that fail or get lost, long answers, and much in one turn: what the two-sided model comes across by chance, in the fewest steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_failing import at_length, comes_to_nothing
from tests.behaviour.two_sided_scene import calls, played

METHOD = "elicitation/create"


@pytest.mark.parametrize(("server", "other"), [("one", "hal"), ("far", "amy")])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("tells", [True, False])
def test_what_is_asked_about_a_call_that_comes_to_nothing_is_put_to_nobody_else(
    tmp_path: Path, server: str, other: str, waits: bool, tells: bool
) -> None:
    async def act(house: House) -> None:
        first, end, _ = await calls(house, "ann", server)
        _, beside, one = await calls(house, other, server)
        assert end is beside
        await comes_to_nothing(house, first, METHOD, waits=waits, tells=tells)
        await house.pass_time(40.0)
        assert end.asked == {}  # each was refused
        end.answered(one)
        end.say(one.ident, id=one.ident, result={"content": []})

    house = played(tmp_path, act)
    own = server == "far" and waits  # on the stream of that very call
    assert house.heard["client asked"] == own


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("server", ["one", "new", "far", "net"])
def test_a_long_answer_is_its_callers(tmp_path: Path, server: str, behind: bool) -> None:
    async def act(house: House) -> None:
        first, end, one = await calls(house, "ann", server)
        second, _, _ = await calls(house, "ann", server)
        at_length(end, one, behind=behind)
        await house.rest()
        assert len(json.loads(first.heard)["content"][0]["text"]) > 70_000
        assert second.heard == ""

    played(tmp_path, act)
