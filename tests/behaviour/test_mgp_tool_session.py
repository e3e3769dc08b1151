"""MGP §16.2, §16.3, §16.7 and §16.8 from outside: what hosts list (`expose`), pinned tools, the session's cache, and its budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.event_house import bearer, made_key
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, Host, RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "tool_discovery"]}}
META = ["mgp_tools_discover", "mgp_tools_describe", "mgp_tools_call"]
PROFILED = ("http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25")
"""Doors at which a host may choose a profile."""
BUDGET = {
    "max_tokens": 8000,
    "pinned_reserve": 2000,
    "discovery_reserve": 3000,
    "cache_limit": 3000,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose hosts search; two profiles do otherwise."""
    content = config(
        server("workshop", "shop", "--filler", "300"),
        discovery={"expose": "discover"},
        profiles={
            "whole": {"expose": "all"},
            "kept": {"expose": "pinned+discover", "pinned": ["shop/grep", "shop__parse_csv"]},
            "narrow": {"servers": ["shop"], "tools": ["shop/grep"]},
        },
        agents={
            "anonymous": {"pinned": ["shop/summarize"]},
            "local": {"pinned": ["shop/summarize"]},
            "ann": {"pinned": ["shop/summarize"]},
        },
    )
    with running(tmp_path_factory.mktemp("shop"), content) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose agents have room for two or three tools."""
    content = config(
        server("workshop", "shop"),
        discovery={
            "expose": "discover",
            "max_tokens": 1000,
            "cache_limit": 130,
            "discovery_reserve": 260,
        },
        agents={"*": {"pinned": ["shop/summarize"]}},
    )
    with running(tmp_path_factory.mktemp("tight"), content) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The same tools as behind `tight`, with room for all of them."""
    content = config(
        server("workshop", "shop"),
        discovery={"expose": "discover"},
        agents={"*": {"pinned": ["shop/summarize"]}},
    )
    with running(tmp_path_factory.mktemp("roomy"), content) as gateway:
        yield gateway


def named(gateway: Gateway, door: str) -> dict[str, str] | None:
    """A key where there are no sessions: of who has neither that nor a name, nothing is kept."""
    return bearer(made_key(gateway, "ann")["key"]) if door == "http 2026-07-28" else None


async def session(client: Host) -> dict[str, Any]:
    found: dict[str, Any] = await client.request("mgp/tools/session")
    return found


@pytest.mark.parametrize("door", DOORS)
async def test_a_host_lists_the_meta_tools_and_what_is_pinned(shop: Gateway, door: str) -> None:
    """MGP-16.2-1, MGP-16.7-2: and that stays so whatever is found and called."""
    async with host(shop, door) as client:
        before = await client.request("tools/list")
        assert sorted(one["name"] for one in before["tools"]) == sorted([*META, "shop__summarize"])
        await client.call("mgp_tools_discover", query="search file contents")
        await client.call("shop__grep", pattern="x")
        assert (await client.request("tools/list"))["tools"] == before["tools"]
        assert not [one for one in client.notes if one["method"].endswith("list_changed")]


@pytest.mark.parametrize("door", PROFILED)
async def test_profiles_say_what_is_listed(shop: Gateway, door: str) -> None:
    """MGP-16.3-1, MGP-16.3-2: pinned and found tools can be called; a narrowed profile has the search as well."""
    async with host(shop, door, profile="kept") as client:
        listed = {*META, "shop__summarize", "shop__grep", "shop__parse_csv"}
        assert set(await client.tools()) == listed
        assert await client.text("shop__grep", pattern="x")
        assert await client.text("shop__filler_7", text="x")
    async with host(shop, door, profile="whole") as client:
        names = await client.tools()
        assert len(names) > 300
        assert not [one for one in names if one.startswith("mgp")]
    async with host(shop, door, profile="narrow") as client:
        assert set(await client.tools()) == set(META)
        said = json.loads(await client.text("mgp_tools_discover", query="search file contents"))
        assert [one["name"] for one in said["tools"]] == ["shop__grep"]


async def test_little_of_the_whole_list_is_left(shop: Gateway) -> None:
    """MGP-16.3-3: at 300 tools, meta and pinned tools with a first answer of five take less than a twelfth of all definitions."""
    told = json.loads(shop.cli("tool", "tokens", "--json"))
    (only,) = told["servers"]
    assert only["server_id"] == "shop"
    assert only["tools"] > 300
    searching = told["meta_tokens"] + told["pinned_tokens"] + told["answer_tokens"]
    assert 0 < searching < told["tokens"] / 12
    assert told["saved"] == round(1 - searching / told["tokens"], 4) > 0.91
    assert told["pays"] is True
    async with host(
        shop, can=OFFER
    ) as client:  # what a host has that lists them is what is counted
        summarize = (await session(client))["total_tokens"]
    assert told["pinned_tokens"] == summarize > 0
    kept = json.loads(shop.cli("tool", "tokens", "--profile", "kept", "--json"))
    assert kept["pinned_tokens"] > told["pinned_tokens"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_session_keeps_what_it_used_and_nothing_else(shop: Gateway, door: str) -> None:
    """MGP-16.7-1, MGP-16.7-3, MGP-16.7-4, MGP-16.8-1: names, tokens and budget; what was only found is not kept."""
    async with host(shop, door, can=OFFER, headers=named(shop, door)) as client:
        if not client.modern:  # without sessions it is the same caller as before
            assert (await session(client))["cached"] == []
        await client.request("mgp/tools/discover", {"query": "parse csv"})
        await client.call("shop__read_file", path="sales.csv")
        await client.call("mgp_tools_call", name="shop__write_report", arguments={"numbers": "1"})
        found = await session(client)
        assert found["pinned"] == ["shop__summarize"]
        assert found["cached"][-2:] == ["shop__read_file", "shop__write_report"]
        assert "shop__parse_csv" not in found["cached"]
        assert 0 < found["total_tokens"] <= found["max_tokens"] == 8000
        assert found["tool_context_budget"] == BUDGET
        assert json.loads(await client.text("mgp_tools_session"))["cached"] == found["cached"]
    if not door.endswith("2026-07-28"):
        async with host(shop, door, can=OFFER, headers=named(shop, door)) as client:
            assert (await session(client))["cached"] == []


@pytest.mark.parametrize("door", DOORS)
async def test_tools_are_evicted_and_pinned_ones_are_not(shop: Gateway, door: str) -> None:
    """MGP-16.7-5."""
    async with host(shop, door, can=OFFER, headers=named(shop, door)) as client:
        await client.call("shop__grep", pattern="x")
        await client.call("shop__read_file", path="sales.csv")
        before = await session(client)
        request = {"tools": ["shop__grep", "shop__none"], "reason": "no_longer_needed"}
        found = await client.request("mgp/tools/session/evict", request)
        assert found["evicted"] == ["shop__grep"]
        assert found["not_cached"] == ["shop__none"]
        after = await session(client)
        assert set(before["cached"]) - set(after["cached"]) == {"shop__grep"}
        assert found["total_tokens"] == after["total_tokens"] < before["total_tokens"]
        with pytest.raises(RpcError) as caught:
            await client.request(
                "mgp/tools/session/evict", {"tools": ["shop__summarize", "shop__read_file"]}
            )
        assert caught.value.code == -32602
        assert "shop__read_file" in (await session(client))["cached"]
        await client.call("mgp/tools/session/evict", tools=["shop__read_file"])
        assert "shop__read_file" not in (await session(client))["cached"]


@pytest.mark.parametrize("door", DOORS)
async def test_the_least_recently_used_goes_first_and_pinned_tools_never(
    tight: Gateway, door: str
) -> None:
    """MGP-16.8-2."""
    async with host(tight, door, can=OFFER, headers=named(tight, door)) as client:
        await client.call("shop__grep", pattern="x")
        await client.call("shop__parse_csv", csv="a\n1\n")
        await client.call("shop__grep", pattern="x")
        await client.call("shop__analyze_csv", csv="month,amount\njan,1\n")
        await client.call("shop__extract_key_facts", text="x")
        found = await session(client)
        assert found["pinned"] == ["shop__summarize"]
        order = ["shop__parse_csv", "shop__grep", "shop__analyze_csv", "shop__extract_key_facts"]
        assert found["cached"] == order[-len(found["cached"]) :]
        assert 0 < len(found["cached"]) < len(order)
        assert found["total_tokens"] <= 1000


@pytest.mark.parametrize("door", DOORS)
async def test_an_answer_has_as_many_tools_as_fit(
    tight: Gateway, roomy: Gateway, door: str
) -> None:
    """MGP-16.8-3: fewer results, and the same number that there are."""
    asked = {"query": "csv file text", "max_results": 20}
    async with (
        host(tight, door, can=OFFER, headers=named(tight, door)) as small,
        host(roomy, door, can=OFFER, headers=named(roomy, door)) as large,
    ):
        few = await small.request("mgp/tools/discover", asked)
        assert 0 < len(few["tools"]) < few["total_available"]
        some = await large.request("mgp/tools/discover", asked)
        assert few["total_available"] == some["total_available"] == len(some["tools"])
        assert "left_out" not in some
        names = [one["name"] for one in some["tools"]]
        kept = [one["name"] for one in few["tools"]]
        assert kept == [one for one in names if one not in few["left_out"]]
        assert few["left_out"] == [one for one in names if one not in kept]


@pytest.mark.parametrize("door", DOORS)
async def test_one_tool_is_described(shop: Gateway, door: str) -> None:
    """The second of the three tools that a host lists."""
    async with host(shop, door) as client:
        told = json.loads(await client.text("mgp_tools_describe", name="shop/grep"))["tool"]
        assert told["name"] == "shop__grep"
        assert told["status"] == "connected"
        assert told["inputSchema"]["required"] == ["pattern"]


@pytest.mark.parametrize("door", DOORS)
async def test_context_management_is_a_server_like_any_other(
    tight: Gateway, roomy: Gateway, door: str
) -> None:
    """MGP-10.1-2: tools that shorten a context are found, called and let go; where its budget is small, for room that others had."""
    kept: dict[str, list[str]] = {}
    for gateway in (roomy, tight):
        async with host(gateway, door, can=OFFER, headers=named(gateway, door)) as client:
            await client.request(
                "mgp/tools/session/evict", {"tools": (await session(client))["cached"]}
            )
            bare = await session(client)
            assert (bare["pinned"], bare["cached"]) == (["shop__summarize"], [])
            for pattern in ("shop__grep", "shop__read_file"):
                given = {"path": "sales.csv"} if pattern == "shop__read_file" else {"pattern": "x"}
                await client.call(pattern, **given)
            full = await session(client)
            assert full["cached"] == ["shop__grep", "shop__read_file"]
            for query, name in (
                ("summarize text", "shop__summarize"),
                ("extract key facts", "shop__extract_key_facts"),
            ):
                found = await client.request(
                    "mgp/tools/discover", {"query": query, "max_results": 1}
                )
                assert [one["name"] for one in found["tools"]] == [name]
                assert await client.text(name, text="It rained. Nobody came.")
            after = await session(client)
            taken = after["total_tokens"] - bare["total_tokens"]
            assert 0 < taken <= after["tool_context_budget"]["cache_limit"]
            kept["tight" if gateway is tight else "roomy"] = after["cached"]
            await client.request("mgp/tools/session/evict", {"tools": after["cached"]})
            assert (await session(client))["total_tokens"] == bare["total_tokens"]
    every = ["shop__grep", "shop__read_file", "shop__extract_key_facts"]
    assert kept == {"roomy": every, "tight": every[1:]}


async def test_of_who_has_neither_a_session_nor_a_name_nothing_is_kept(shop: Gateway) -> None:
    """That is anybody: what one used would be told to all, and let go by each of them."""
    async with host(shop, "http 2026-07-28", can=OFFER) as client:
        await client.call("shop__grep", pattern="x")
        assert (await session(client))["cached"] == []
