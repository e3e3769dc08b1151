from __future__ import annotations

import json
from typing import Any, cast

import pytest

from gatewright.call import KERNEL, Call, Failure
from gatewright.discovery.meta_tools import Through, meta_tools
from gatewright.discovery.methods import MetaTools
from gatewright.discovery.tokens import count
from gatewright.servers.names import META_TOOLS, meta_tool
from tests.discovery.houses import House, defined
from tests.gate_parts import Mute

HOSTS_LIST = ("discover", "describe", "call")
NAMES = ("mgp_tools_call", "mgp/tools/call", "mgp.tools.call", "mgp/tools.call")


class Own:
    """A catalogue in which each of the names is the gateway's own tool."""

    def __init__(self, house: House, profile: str = "") -> None:
        self._tool, self._profile = house.catalogue.tool("", "a/one"), profile

    def knows(self, profile: str) -> bool:
        return profile == self._profile

    def tool(self, profile: str, name: str) -> Any:
        assert self._tool is not None
        target = type(self._tool.target)(KERNEL, "tools.call")
        return type(self._tool)(target, "mgp_tools_call", {})


async def meant(name: str, params: dict[str, Any], profile: str = "") -> Call:
    """What a call of that name goes on as."""
    house = House({"a": [defined("one")]})
    house.now.servers = cast("Any", type("Servers", (), {"catalogue": Own(house)}))
    call = house.call(
        kind="tool",
        method="tools/call",
        name=name,
        params={"name": name, **params},
        profile=profile,
    )
    return Through(house.now)(call)


@pytest.mark.parametrize("name", NAMES)
async def test_a_call_through_it_is_the_call_that_is_meant(name: str) -> None:
    found = await meant(
        name, {"arguments": {"name": "a__one", "arguments": {"x": 1}}, "_meta": {"k": 1}}
    )
    assert found.name == "a__one"
    assert found.params == {"name": "a__one", "arguments": {"x": 1}, "_meta": {"k": 1}}
    assert found.facts == {"called_through": name}


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"name": 5},
        {"name": "a__one", "arguments": []},
        {"name": "a__one", "also": 1},
        *({"name": one} for one in NAMES),
    ],
)
async def test_what_names_no_tool_stays_what_it_is(arguments: Any) -> None:
    assert (await meant(NAMES[0], {"arguments": arguments})).name == NAMES[0]


async def test_other_calls_and_unknown_profiles_are_left_alone() -> None:
    assert (await meant("a__one", {"arguments": {"name": "b"}})).name == "a__one"
    assert (await meant(NAMES[0], {"arguments": {"name": "a__one"}}, "none")).name == NAMES[0]


async def test_each_has_a_definition_and_answers() -> None:
    house = House({"a": [defined("one", "Say it")]})
    tools = meta_tools(house.meta)
    assert set(tools) == {meta_tool(name) for name in META_TOOLS}
    for definition, _ in tools.values():
        assert definition["inputSchema"]["additionalProperties"] is False
    _, discover = tools["tools.discover"]
    found = await cast("Any", discover)({"query": "say"}, house.call(), Mute())
    assert [one["name"] for one in found["tools"]] == ["a__one"]
    wrong = await cast("Any", discover)({}, house.call(), Mute())
    assert isinstance(wrong, Failure)
    assert wrong.reason == "invalid_args"
    _, call = tools["tools.call"]
    assert isinstance(call({}, house.call(), Mute()), Failure)


def test_what_hosts_list_to_search_takes_few_tokens() -> None:
    """MGP-16.3-3. By o200k_base 334, with which five compact results of 854 tools save 99.6 % (`benchmarks/tokens`)."""
    told = meta_tools(cast("MetaTools", None))
    held = [{"name": f"mgp_tools_{one}", **told[meta_tool(one)][0]} for one in HOSTS_LIST]
    assert count(json.dumps(held, separators=(",", ":"))) <= 330
