"""MGP §16.6 from outside: `mgp/tools/request`, each of its statuses, and the task of four steps; the call tool walks every gate."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.call import UserContext
from tests.behaviour.access_house import House
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, Host, RpcError, host
from tests.behaviour.test_mgp_tool_session import named
from tests.behaviour.wires import DEADLINE

OFFER = {
    "mgp": {"version": "0.2.0", "extensions": ["security", "access_control", "tool_discovery"]}
}
SEED = {
    "reason": "capability_gap",
    "context": "Processing CSV data but need statistical analysis functions",
    "requirements": {
        "capabilities": ["data_analysis", "statistics"],
        "input_types": ["csv", "tabular_data"],
        "output_types": ["numeric", "chart"],
        "preferred_risk_level": "safe",
    },
    "task_trace_id": "550e8400-e29b-41d4-a716-446655440000",
}
KEYS = {
    "status",
    "tools_loaded",
    "tools_unavailable",
    "session_tools_count",
    "context_tokens_added",
}
NEEDS = {"risk_level": "safe", "permissions_required": ["memory.read"]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose hosts search; what its second server has needs a permission."""
    guarded = server(
        "workshop", "vault", "--only", "extract_key_facts", tools={"extract_key_facts": NEEDS}
    )
    guarded["mgp"] = {"extensions": ["security"], "permissions_required": []}
    content = config(
        server(
            "workshop",
            "shop",
            "--only",
            "read_file,parse_csv,analyze_csv,compute_statistics_unsafely,write_report",
            mgp={"trust_level": "trusted"},
        ),
        guarded,
        server("echo"),
        discovery={"expose": "discover"},
    )
    with running(tmp_path_factory.mktemp("shop"), content) as gateway:
        yield gateway


async def asks(client: Host, *capabilities: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = await client.request(
        "mgp/tools/request",
        {"reason": "capability_gap", "requirements": {"capabilities": [*capabilities], **more}},
    )
    return found


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_the_seeds_request_through_every_door(shop: Gateway, door: str) -> None:
    """MGP-16.6-1, MGP-16.6-2, MGP-16.6-10: the safe one of two is loaded, for both capabilities."""
    async with host(shop, door, can=OFFER, headers=named(shop, door)) as client:
        found = await client.request("mgp/tools/request", SEED)
        assert found.keys() >= KEYS
        assert found["status"] == "fulfilled"
        (tool,) = found["tools_loaded"]
        assert tool["name"] == "shop__analyze_csv"
        assert tool["inputSchema"]["required"] == ["csv"]
        assert tool["security"]["risk_level"] == "safe"
        assert found["tools_unavailable"] == []
        assert found["session_tools_count"] >= 1
        assert found["context_tokens_added"] > 0
        cached = (await client.request("mgp/tools/session"))["cached"]
        assert "shop__analyze_csv" in cached
        assert json.loads(await client.text("mgp_tools_request", **SEED))["status"] == "fulfilled"


@pytest.mark.parametrize("door", DOORS)
async def test_partial_unavailable_and_waiting_for_a_permission(shop: Gateway, door: str) -> None:
    """MGP-16.6-3, MGP-16.6-4, MGP-16.6-5: what is lacking is named with why."""
    async with host(shop, door, can=OFFER) as client:
        some = await asks(client, "statistics", "weather_forecast")
        assert some["status"] == "partial"
        assert [one["name"] for one in some["tools_loaded"]] == ["shop__analyze_csv"]
        assert some["tools_unavailable"] == [
            {"capability": "weather_forecast", "reason": "no_matching_tool"}
        ]
        none = await asks(client, "weather_forecast")
        assert (none["status"], none["tools_loaded"]) == ("unavailable", [])
        assert none["context_tokens_added"] == 0
        waits = await asks(client, "extract_key_facts")
        assert (waits["status"], waits["tools_loaded"]) == ("pending_approval", [])
        (lacking,) = waits["tools_unavailable"]
        assert lacking["missing_permissions"] == ["memory.read"]
        marked = await client.request("mgp/tools/discover", {"query": "extract key facts"})
        (tool,) = [one for one in marked["tools"] if one["name"] == "vault__extract_key_facts"]
        assert tool["status"] == "pending_approval"


@pytest.mark.parametrize("policy", ["deny_all", "config_only"])
async def test_where_nobody_is_asked_nothing_is_marked(
    policy: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """MGP-16.5-6: a tool whose permission nobody will give is not there."""
    guarded = server("workshop", "vault", tools={"extract_key_facts": NEEDS})
    content = config(guarded, permissions={"policy": policy})
    with running(tmp_path_factory.mktemp("closed"), content) as gateway:
        async with host(gateway, "http 2025-11-25", can=OFFER) as client:
            assert (await asks(client, "extract_key_facts"))["status"] == "unavailable"
            found = await client.request("mgp/tools/discover", {"query": "extract key facts"})
            assert "vault__extract_key_facts" not in [one["name"] for one in found["tools"]]


@pytest.mark.parametrize("door", DOORS)
async def test_nothing_is_created_without_the_right(shop: Gateway, door: str) -> None:
    """MGP-16.6-8: neither permission nor policy is there."""
    async with host(shop, door, can=OFFER) as client:
        assert (await asks(client, "weather_forecast"))["status"] == "unavailable"


@pytest.mark.parametrize("door", DOORS)
async def test_a_task_of_four_steps_with_a_gap_at_the_third(shop: Gateway, door: str) -> None:
    """MGP-16.6-9: a scripted agent that begins with the meta tools, and knows no MGP."""
    async with host(shop, door) as client:

        async def use(query: str, **arguments: Any) -> str:
            said = json.loads(await client.text("mgp_tools_discover", query=query, max_results=1))
            tool = said["tools"][0]
            assert arguments.keys() == tool["inputSchema"]["properties"].keys()
            return await client.text("mgp_tools_call", name=tool["name"], arguments=arguments)

        table = await use("read file", path="sales.csv")
        rows = json.loads(await use("parse csv", csv=table))
        assert len(rows) == 3
        gap = {
            "reason": "capability_gap",
            "requirements": {"capabilities": ["statistics"], "preferred_risk_level": "safe"},
        }
        given = json.loads(await client.text("mgp/tools/request", **gap))
        assert given["status"] == "fulfilled"
        numbers = await client.text(given["tools_loaded"][0]["name"], csv=table)
        assert json.loads(numbers) == {"mean": 30.0, "most": 60.0}
        assert (await use("generate report", numbers=numbers)).startswith("report: ")


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_call_through_the_tool_is_a_call_of_what_it_names(shop: Gateway, door: str) -> None:
    """MGP-16.5-3: one path: arguments are checked by the real tool's schema, and the record has the real tool."""
    async with host(shop, door) as client:
        assert (
            await client.text("mgp_tools_call", name="echo__echo", arguments={"message": "x"})
            == "x"
        )
        for wrong in (
            {"name": "echo__echo", "arguments": {"message": 5}},
            {"name": "echo__none"},
            {"name": "mgp_tools_call"},
            {},
        ):
            assert await refused(client, "mgp_tools_call", **wrong)


def _ran(record: dict[str, Any]) -> bool:
    return bool(record["event_type"] == "TOOL_EXECUTED" and record["outcome"] == "success")


@pytest.mark.parametrize("door", [one for one in EVERY_DOOR if not one.startswith("stdio")])
async def test_the_record_has_the_real_tool(shop: Gateway, door: str) -> None:
    """One path: what was called through the tool is recorded as itself, with the way it was called."""
    async with host(shop, door) as client:
        await client.call("mgp_tools_call", name="echo__echo", arguments={"message": "x"})
    async with asyncio.timeout(DEADLINE):
        while not (records := [one for one in shop.audit("--tool", "echo") if _ran(one)]):
            await asyncio.sleep(0.05)
    assert records[0]["target"] == {"server_id": "echo", "tool_name": "echo"}
    assert {one["details"]["called_through"] for one in records} == {"mgp_tools_call"}


async def refused(client: Host, tool: str, **arguments: Any) -> bool:
    try:
        return bool((await client.call(tool, **arguments)).get("isError"))
    except RpcError:
        return True


async def test_no_gate_is_passed_by_calling_through_the_tool(house: House) -> None:
    """A tool that an agent may not use it may not use so either, nor one beyond its trust; and it hears the same."""
    _, key = house.agent(UserContext(trust="untrusted"))
    async with house.host("http 2025-11-25", key, OFFER) as client:
        for name, arguments in (
            ("echo__echo", {"message": "x"}),
            ("open__echo", {"message": "x"}),
            ("mgp_access_grant", {}),
        ):
            with pytest.raises(RpcError) as plain:
                await client.call(name, **arguments)
            with pytest.raises(RpcError) as through:
                await client.call("mgp_tools_call", name=name, arguments=arguments)
            assert (through.value.code, through.value.message) == (
                plain.value.code,
                plain.value.message,
            )
    (record, *_) = house.gateway.audit("--tool", "echo", "--limit", "1")
    assert record["outcome"] != "success"


async def test_who_asks_what_gates_would_say_hears_it_of_the_tool_that_is_meant(
    house: House,
) -> None:
    """As calling does: `explain` and `validate` judge what would be called, and not the tool through which it would be."""
    name, _ = house.agent(UserContext(trust="untrusted"))
    said = ("server_id", "tool_name", "verdict", "decided_by")
    async with house.host("http 2025-11-25", house.gateway.operator_token, OFFER) as operator:
        for tool, arguments in (("echo__echo", {"message": "x"}), ("open__echo", {"message": "x"})):
            asked = {"agent": name, "tool": tool, "arguments": arguments}
            plain = await operator.request("gatewright/policy/explain", asked)
            inner: dict[str, Any] = {"name": tool, "arguments": arguments}
            asked = {"agent": name, "tool": "mgp_tools_call", "arguments": inner}
            through = await operator.request("gatewright/policy/explain", asked)
            assert {one: through[one] for one in said} == {one: plain[one] for one in said}
            assert through["tool_name"] == "echo"
        for message, valid in (("x", True), (5, False)):
            inner = {"name": "echo__echo", "arguments": {"message": message}}
            found = await operator.request(
                "tools/validate", {"name": "mgp_tools_call", "arguments": inner}
            )
            assert found["valid"] is valid
