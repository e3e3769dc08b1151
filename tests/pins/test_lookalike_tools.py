"""Which names of tools are held against which others, and in how many steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gatewright.call import Security, Target, Tool
from gatewright.pins.lookalike_tools import lookalikes
from gatewright.transport.slices import whole


def tools(server: str, names: Sequence[str]) -> list[Tool]:
    return [Tool(Target(server, name), name, {}, None, Security()) for name in names]


def found(server: str, names: Sequence[str], own: Any = (), **others: Sequence[str]) -> Any:
    elsewhere = [(other, tools(other, named)) for other, named in others.items()]
    return whole(lookalikes(server, tools(server, names), own, elsewhere))


def test_the_gateways_own_names_and_their_look_alikes_are_taken() -> None:
    assert found("a", ["mgp_x", "mgp-x", "other"], {"mgp_x"}) == {
        "mgp_x": "its name looks like 'mgp_x'",
        "mgp-x": "its name looks like 'mgp_x'",
    }


def test_a_name_behind_the_servers_id_is_compared_with_those_of_servers_that_begin_alike() -> None:
    assert found("a", ["b__read", "write"], a__b=["read"], c=["write"]) == {
        "b__read": "its name is taken for 'a__b__read' of another server"
    }
    assert found("a", ["b__read"], c=["b__read"]) == {}


@pytest.mark.parametrize("letter", ["a", "\u0430", "\uac00", "\ufdfa"])
def test_each_name_is_looked_at_in_a_step_of_its_own(letter: str) -> None:
    """Whoever else has a call waits for one of them."""
    mine = tools("a", [f"{letter * 100}{one}" for one in range(200)])
    theirs = tools("ab", [f"{letter * 100}{one}" for one in range(200)])
    steps = lookalikes("a", mine, (), [("ab", theirs)])
    assert sum(1 for _ in steps) >= 600
