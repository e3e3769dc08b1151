from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gatewright.call import Answer, Failure
from gatewright.config import Profile, Settings, Storage
from gatewright.config.agents import Agent
from gatewright.discovery.costs import Costs
from gatewright.discovery.method_names import INDEX, TOKENS
from tests.discovery.houses import House, defined
from tests.gate_parts import Mute


async def asked(house: House, method: str, profile: str = "", **params: Any) -> Any:
    costs = Costs(house.now, house.index, house.meta.lookup)
    found = await costs.methods[method](house.call(params=params, profile=profile), Mute())
    return json.loads(found.raw) if isinstance(found, Answer) else found


async def test_what_each_server_costs_and_whether_search_pays() -> None:
    """MGP-16.3-3."""
    many = [
        defined(f"tool_{n}", "It does something that takes a sentence to say") for n in range(40)
    ]
    house = House({"a": many, "b": [defined("one")]})
    found = await asked(house, TOKENS)
    a, b = found["servers"]
    assert (a["server_id"], a["tools"], b["tools"]) == ("a", 40, 1)
    assert found["tokens"] == a["tokens"] + b["tokens"]
    assert found["pays"] is True
    assert 0.5 < found["saved"] < 1
    few = await asked(House({"b": [defined("one")]}), TOKENS)
    assert few["pays"] is False
    none = await asked(House({}), TOKENS)
    assert (none["tokens"], none["saved"], none["pays"]) == (0, 0.0, False)


async def test_pinned_tools_are_part_of_what_searching_costs() -> None:
    """MGP-16.3-3: those of the agent to which they take most, with its profile's, each of them once."""
    many = [defined(f"tool_{n}", "It takes a sentence to say") for n in range(40)]
    few = {"*": Agent(pinned=("a/tool_1",)), "ann": Agent(pinned=("a__tool_1", "a/tool_2"))}
    profile = Profile(expose="pinned+discover", pinned=("a/tool_3", "a/none"))
    settings = Settings(storage=Storage(path=Path("none")), agents=few, profiles={"kept": profile})
    house = House({"a": many}, settings=settings, profiles={"kept": profile})
    bare = await asked(House({"a": many}), TOKENS)
    found = await asked(house, TOKENS)
    tool = house.catalogue.tool("", "a/tool_1")
    assert tool is not None
    one = house.meta.lookup.tokens(tool)
    assert (bare["pinned_tokens"], found["pinned_tokens"]) == (0, 2 * one)
    searching = found["meta_tokens"] + found["pinned_tokens"] + found["answer_tokens"]
    assert found["saved"] == round(1 - searching / found["tokens"], 4) < bare["saved"]
    kept = await asked(house, TOKENS, profile="kept")
    assert kept["pinned_tokens"] == 3 * one


async def test_an_entry_of_the_index() -> None:
    """MGP-16.4-2."""
    house = House({"a": [defined("one", "Say it", keywords=["say"])]})
    found = await asked(house, INDEX, tool="a/one")
    assert (found["tool_id"], found["server_id"], found["keywords"]) == ("a.one", "a", ["say"])
    assert found["security"]["risk_level"] in {"safe", "moderate", "dangerous"}
    for params in ({"tool": "a/none"}, {}):
        assert isinstance(await asked(house, INDEX, **params), Failure)
