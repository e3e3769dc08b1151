from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Client, Failure
from gatewright.config import Discovery
from gatewright.config.agents import Agent
from tests.discovery.houses import House, defined
from tests.gate_parts import Mute

LONG_SEARCH = {"query": "read", "max_results": 50}
TOOLS = {"a": [defined("read_file", "Read a file"), defined("read_mail", "Read a mail " * 30)]}


async def said(house: House, what: str, **params: Any) -> dict[str, Any]:
    found = await house.meta.answer(what, house.call(), params)
    assert isinstance(found, dict), found
    found = json.loads(json.dumps(found, default=lambda raw: json.loads(bytes(raw))))
    assert isinstance(found, dict)
    return found


async def flaw(house: House, what: str, **params: Any) -> str:
    found = await house.meta.answer(what, house.call(), params)
    assert isinstance(found, Failure)
    return found.reason


async def test_only_who_negotiated_has_the_methods() -> None:
    house = House(TOOLS)
    call = house.call(params={"query": "read file"})
    found = await house.meta(call, Mute())
    assert isinstance(found, Answer)
    assert json.loads(found.raw)["tools"][0]["name"] == "a__read_file"
    plain = await house.meta(replace(call, client=Client("2025-11-25")), Mute())
    assert isinstance(plain, Failure)
    assert plain.reason == "method_not_found"


async def test_what_does_not_fit_is_named_and_counted() -> None:
    """MGP-16.8-3."""
    house = House(TOOLS, budget=Discovery(discovery_reserve=120))
    found = await said(house, "discover", query="read")
    assert [one["name"] for one in found["tools"]] == ["a__read_file"]
    assert found["left_out"] == ["a__read_mail"]
    assert found["total_available"] == 2


async def test_nothing_that_fits_has_a_hint() -> None:
    house = House({"a": []})
    assert "mgp_tools_request" in (await said(house, "discover", query="read"))["hint"]


async def test_what_is_taken_away_during_a_search_is_not_in_its_answer() -> None:
    """MGP-16.5-6."""
    house = House(TOOLS)
    searching = house.index.search

    async def slow(*args: Any, **more: Any) -> Any:
        found = await searching(*args, **more)
        house.hidden.add("a/read_file")
        return found

    house.index.search = slow  # type: ignore[method-assign]
    names = [one["name"] for one in (await said(house, "discover", query="read"))["tools"]]
    assert names == ["a__read_mail"]


async def test_one_tool_by_any_name_and_none_that_there_is_not() -> None:
    house = House(TOOLS, budget=Discovery(max_tokens=60))
    assert (
        (await said(house, "describe", name="a/read_mail"))["tool"]
        .keys()
        .isdisjoint({"inputSchema"})
    )
    assert await flaw(house, "describe", name="a/none") == "tool_not_found"
    assert await flaw(house, "describe") == "invalid_params"


async def test_a_request_loads_counts_and_says_what_is_lacking() -> None:
    """MGP-16.6-1, MGP-16.6-3, MGP-16.6-4."""
    house = House(TOOLS, budget=Discovery(cache_limit=60))
    found = await said(
        house, "request", requirements={"capabilities": ["read_file", "fly"]}, task_trace_id="t"
    )
    assert found["status"] == "partial"
    assert [one["name"] for one in found["tools_loaded"]] == ["a__read_file"]
    assert found["tools_unavailable"] == [{"capability": "fly", "reason": "no_matching_tool"}]
    assert found["session_tools_count"] == 1
    assert (await said(house, "session"))["cached"] == ["a__read_file"]
    heavy = await said(house, "request", requirements={"capabilities": ["read mail"]})
    assert (heavy["status"], heavy["tools_unavailable"][0]["reason"]) == (
        "unavailable",
        "over_budget",
    )
    assert (await said(house, "request", context="read a file"))["status"] == "fulfilled"
    assert await flaw(house, "request") == "invalid_params"


async def test_a_request_says_what_it_adds_beside_what_is_there() -> None:
    """MGP-16.6-1."""
    house = House({"a": [*TOOLS["a"], defined("read_clock", "Read a clock")]})
    pins = {"ann": Agent(pinned=("a__read_clock",))}
    house.settings = house.now.settings = replace(house.settings, agents=pins)
    house.sessions.used(house.call(), "a/read_mail")
    before = (await said(house, "session"))["total_tokens"]
    found = await said(house, "request", requirements={"capabilities": ["read_file"]})
    assert (found["status"], found["session_tools_count"]) == ("fulfilled", 3)
    assert found["context_tokens_added"] > 0
    after = (await said(house, "session"))["total_tokens"]
    assert found["context_tokens_added"] == after - before
    assert before > 0


async def test_a_session_is_asked_about_and_emptied() -> None:
    """MGP-16.7-1, MGP-16.7-5."""
    house = House(TOOLS)
    house.sessions.used(house.call(), "a/read_file")
    assert (await said(house, "session"))["cached"] == ["a__read_file"]
    found = await said(house, "session.evict", tools=["a/read_file", "none"])
    assert (found["evicted"], found["not_cached"]) == (["a/read_file"], ["none"])
    assert (await said(house, "session"))["total_tokens"] == 0
    assert await flaw(house, "session.evict") == "invalid_params"


async def test_long_definitions_are_counted_a_tool_at_a_time() -> None:
    """What servers list does not hold the loop, however often somebody asks for it."""
    long = {"inputSchema": {"type": "object", "description": "read it, " * 7000}}
    house = House({"a": [defined(f"read_{n}", "Read", **long) for n in range(50)]})
    await said(house, "discover", query="read")  # the index is made
    asking = asyncio.ensure_future(house.meta.answer("discover", house.call(), LONG_SEARCH))
    longest = 0.0
    while not asking.done():
        began = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - began)
    found = asking.result()
    assert isinstance(found, dict)
    assert len(found["left_out"]) == 50
    assert longest < 0.05
