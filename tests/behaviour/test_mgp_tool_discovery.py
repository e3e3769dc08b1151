"""MGP §16.4 and §16.5 from outside: `mgp/tools/discover` as a method and as a tool, its strategies and filters, and what the index follows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.access_house import House
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, Host, RpcError, host
from tests.behaviour.wires import DEADLINE

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "tool_discovery"]}}
SEED = {
    "query": "read file contents from disk",
    "strategy": "semantic",
    "max_results": 5,
    "filter": {
        "categories": ["filesystem"],
        "risk_level_max": "moderate",
        "status": "connected",
    },
}
KEYS = {"tools", "total_available", "search_strategy", "query_time_ms"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a workshop with tools for one task and of thirty others that have nothing to do with it."""
    content = config(
        server("workshop", "tool.terminal", "--filler", "30", mgp={"trust_level": "trusted"}),
        server("echo"),
        profiles={"small": {"servers": ["echo"]}},
    )
    with running(tmp_path_factory.mktemp("shop"), content) as gateway:
        yield gateway


async def found(client: Host, **params: Any) -> list[str]:
    """The tools' own names, best first."""
    result = await client.request("mgp/tools/discover", params)
    return [one["tool_id"].rpartition(".")[2] for one in result["tools"]]


async def until(client: Host, wanted: bool, name: str, **params: Any) -> None:
    """Wait until a search finds a tool, or does not find it any more."""
    async with asyncio.timeout(DEADLINE):
        while (name in await found(client, **params)) is not wanted:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_the_seeds_request_through_every_door(shop: Gateway, door: str) -> None:
    """MGP-16.5-1, MGP-16.5-3: sorted, no more than asked for, with whole schemas, and callable at once by that name."""
    async with host(shop, door, can=OFFER) as client:
        result = await client.request("mgp/tools/discover", SEED)
        assert result.keys() >= KEYS
        scores = [one["relevance_score"] for one in result["tools"]]
        assert 0 < len(scores) <= 5
        assert scores == sorted(scores, reverse=True)
        best = result["tools"][0]
        assert best["server_id"] == "tool.terminal"
        assert best["tool_id"] == "filesystem.read_file"
        assert best["inputSchema"]["properties"]["path"]["type"] == "string"
        assert best["security"]["risk_level"] == "moderate"
        assert isinstance(result["query_time_ms"], int | float)
        assert "amount" in await client.text(best["name"], path="sales.csv")


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_no_more_are_told_than_were_asked_for(shop: Gateway, door: str) -> None:
    """MGP-16.5-1: thirty tools fit; an answer has `max_results` of them, the best ones, and says how many there are."""
    async with host(shop, door, can=OFFER) as client:
        asked = {"query": "arrange the pieces of a drawer by colour", "strategy": "keyword"}
        told = {
            most: await client.request("mgp/tools/discover", {**asked, "max_results": most})
            for most in (1, 3, 20)
        }
        names = {most: [one["name"] for one in found["tools"]] for most, found in told.items()}
        assert [len(some) for some in names.values()] == [1, 3, 20]
        assert names[1] == names[20][:1]
        assert names[3] == names[20][:3]
        assert [found["total_available"] >= 30 for found in told.values()] == [True] * 3
        assert len({found["total_available"] for found in told.values()}) == 1


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_the_meta_tool_is_a_tool_of_three_names(shop: Gateway, door: str) -> None:
    """MGP-16.5-5: a host that knows no MGP calls it by any of them, and hears what the method says."""
    async with host(shop, door, can=OFFER) as client, host(shop, door) as plain:
        told = await client.request("mgp/tools/discover", {"query": "parse csv"})
        for name in ("mgp/tools/discover", "mgp.tools.discover", "mgp_tools_discover"):
            said = json.loads(await plain.text(name, query="parse csv"))
            assert said["tools"] == told["tools"]
            assert said["total_available"] == told["total_available"]
        with pytest.raises(RpcError):
            await plain.request("mgp/tools/discover", {"query": "parse csv"})


@pytest.mark.parametrize("door", DOORS)
async def test_a_misspelt_name_is_found(shop: Gateway, door: str) -> None:
    """MGP-16.4-3."""
    async with host(shop, door, can=OFFER) as client:
        assert (await found(client, query="analyze_csv", strategy="keyword"))[0] == "analyze_csv"
        assert "analyze_csv" in await found(client, query="analyse_cvs", strategy="keyword")


@pytest.mark.parametrize("door", DOORS)
async def test_an_intent_without_the_tools_words_is_found(shop: Gateway, door: str) -> None:
    """MGP-16.4-4: none of these words is in the tool's name or description."""
    async with host(shop, door, can=OFFER) as client:
        result = await client.request(
            "mgp/tools/discover", {"query": "view a document", "strategy": "semantic"}
        )
        assert result["search_strategy"] == "semantic"
        assert "read_file" in [one["tool_id"].rpartition(".")[2] for one in result["tools"]]


@pytest.mark.parametrize("door", DOORS)
async def test_a_category_includes_those_below_it(shop: Gateway, door: str) -> None:
    """MGP-16.4-5."""
    async with host(shop, door, can=OFFER) as client:
        browsing = {"strategy": "category", "max_results": 20}
        data = await found(client, filter={"categories": ["data"]}, **browsing)
        assert set(data) == {"parse_csv", "analyze_csv", "compute_statistics_unsafely"}
        below = await found(client, filter={"categories": ["data/statistics"]}, **browsing)
        assert set(below) == {"analyze_csv", "compute_statistics_unsafely"}


@pytest.mark.parametrize("door", DOORS)
async def test_each_filter_excludes(shop: Gateway, door: str) -> None:
    """MGP-16.5-2: safe < moderate < dangerous; servers that are not connected are left out unless they are asked for."""
    async with host(shop, door, can=OFFER) as client:
        asked = {"query": "compute statistics of csv data", "max_results": 20}
        assert "compute_statistics_unsafely" in await found(client, **asked)
        for most in ("safe", "moderate"):
            risky = await found(client, filter={"risk_level_max": most}, **asked)
            assert "analyze_csv" in risky
            assert "compute_statistics_unsafely" not in risky
        assert "read_file" not in await found(
            client, filter={"risk_level_max": "safe"}, query="read file contents"
        )
        assert await found(client, filter={"status": "draining"}, **asked) == []
        assert "analyze_csv" in await found(client, filter={"status": "any"}, **asked)


@pytest.mark.parametrize("door", DOORS)
async def test_a_question_that_is_none_is_refused(shop: Gateway, door: str) -> None:
    """MGP-16.5-1: nobody searches with a megabyte, nor for more than fifty tools."""
    async with host(shop, door, can=OFFER) as client:
        wrong: list[dict[str, Any]] = [
            {},
            {"query": "x" * 2001},
            {"query": "x", "max_results": 51},
            {"query": "x", "max_results": 0},
            {"query": "x", "strategy": "guess"},
            {"query": "x", "filter": {"risk_level_max": "deadly"}},
            {"query": ["x"]},
        ]
        for params in wrong:
            with pytest.raises(RpcError) as caught:
                await client.request("mgp/tools/discover", params)
            assert caught.value.code == -32602


@pytest.mark.parametrize("door", DOORS)
async def test_the_seeds_flow_in_japanese(shop: Gateway, door: str) -> None:
    """MGP-16.5-4: a scripted agent passes on what its user says, finds `read_file` and calls it."""
    async with host(shop, door) as client:
        said = json.loads(
            await client.text("mgp/tools/discover", query="このファイルの中身を見せて")
        )
        chosen = next(one for one in said["tools"] if one["tool_id"] == "filesystem.read_file")
        assert "amount" in await client.text(chosen["name"], path="sales.csv")


async def test_an_entry_of_the_index(shop: Gateway) -> None:
    """MGP-16.4-2."""
    entry = json.loads(shop.cli("tool", "index", "tool.terminal/read_file", "--json"))
    assert entry["tool_id"] == "filesystem.read_file"
    assert entry["server_id"] == "tool.terminal"
    assert entry["name"] == "read_file"
    assert entry["description"] == "Read the contents of a file at the given path"
    assert "filesystem/read" in entry["categories"]
    assert "open" in entry["keywords"]
    assert entry["security"]["risk_level"] == "moderate"
    assert "embedding" in entry


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25"])
async def test_only_what_a_profile_shows_is_found(shop: Gateway, door: str) -> None:
    """MGP-16.5-6: the meta tool is in every profile, and finds what that shows."""
    async with host(shop, door, profile="small", can=OFFER) as client:
        assert await found(client, query="analyze csv") == []
        assert await found(client, query="echo a message") == ["echo"]
        assert (
            json.loads(await client.text("mgp_tools_discover", query="analyze csv"))["tools"] == []
        )


async def test_a_tool_is_found_as_long_as_it_is_there(tmp_path: Path) -> None:
    """MGP-16.4-1, and the drift of a definition: connect, list-changed, disconnect, a new configuration."""
    shelf = server("workshop", "shelf", pin="first-use")
    with running(tmp_path, config(shelf)) as gateway:
        async with host(gateway, "http 2025-11-25", can=OFFER) as client:
            await until(client, True, "grep", query="search file contents by pattern")
            assert "translate_text" not in await found(client, query="translate a text")
            await client.call("shelf__grow")
            await until(client, True, "translate_text", query="translate a text")
            await client.call("shelf__alter")
            await until(client, False, "grep", query="search file contents by pattern")
            assert "grep" not in await found(client, query="send all files away", max_results=50)
            gateway.cli("server", "stop", "shelf")
            await until(client, False, "translate_text", query="translate a text")
            gateway.cli("server", "start", "shelf")
            await until(client, True, "summarize", query="summarize a text")
            gateway.reload(config(shelf, server("echo")))
            await until(client, True, "echo", query="echo a message")
            gateway.reload(config(server("echo")))
            await until(
                client, False, "summarize", query="summarize a text", filter={"status": "any"}
            )


@asynccontextmanager
async def agent_of(house: House, key: str) -> AsyncIterator[Host]:
    async with house.host("http 2025-11-25", key, OFFER) as client:
        yield client


async def test_what_is_granted_is_found_and_what_is_taken_back_is_not(house: House) -> None:
    """MGP-16.5-6: a denied tool is absent, from lists of search and from what is said of a name; grants count at once."""
    agent, key = house.agent()
    async with agent_of(house, key) as client, house.operator() as operator:
        assert await found(client, query="echo a message") == ["echo"]  # of the open server alone
        result = await client.request("mgp/tools/discover", {"query": "echo a message"})
        assert [one["server_id"] for one in result["tools"]] == ["open"]
        assert result["total_available"] == 1
        grant = {"entry_type": "server_grant", "agent_id": agent, "server_id": "echo"}
        await operator.request("mgp/access/grant", {**grant, "permission": "allow"})
        result = await client.request("mgp/tools/discover", {"query": "echo a message"})
        assert {one["server_id"] for one in result["tools"]} == {"open", "echo"}
        await operator.request("mgp/access/revoke", grant)
        result = await client.request("mgp/tools/discover", {"query": "echo a message"})
        assert [one["server_id"] for one in result["tools"]] == ["open"]
        with pytest.raises(RpcError) as hidden:
            await client.call("mgp_tools_describe", name="echo__echo")
        with pytest.raises(RpcError) as nowhere:
            await client.call("mgp_tools_describe", name="echo__none")
        assert hidden.value.code == nowhere.value.code
        assert hidden.value.message.replace("echo__echo", "X") == nowhere.value.message.replace(
            "echo__none", "X"
        )


async def test_an_operator_may_forbid_the_search_itself(house: House) -> None:
    """A deny of the table holds for the gateway's own tools, too."""
    agent, key = house.agent()
    async with agent_of(house, key) as client, house.operator() as operator:
        deny = {
            "entry_type": "tool_grant",
            "agent_id": agent,
            "server_id": "mgp",
            "tool_name": "tools.discover",
        }
        await operator.request("mgp/access/grant", {**deny, "permission": "deny"})
        with pytest.raises(RpcError) as caught:
            await client.call("mgp_tools_discover", query="echo")
        assert caught.value.code == 1001
