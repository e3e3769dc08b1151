"""MGP §6.3 to §6.5: the record of what was decided, and the trace that ties it together."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, RpcError, host

pytestmark = pytest.mark.timeout(180)
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    mgp = {"extensions": ["security", "audit"]}
    content = config(
        server("mgp_server", "one", mgp=mgp),
        server("mgp_server", "two", mgp=mgp),
        server("asker"),
        server("echo", tools={"echo": {"risk_level": "safe", "validator": "sandbox"}}),
    )
    with running(tmp_path_factory.mktemp("recorded"), content) as gateway:
        yield gateway


async def test_a_record_has_the_shape_of_the_specification(recorded: Gateway) -> None:
    """MGP-6.3-1, MGP-6.3-4 and MGP-6.4-1."""
    trace = str(uuid.uuid4())
    async with host(recorded) as client:
        await client.request(
            "tools/call",
            {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": trace},
        )
    shown = recorded.cli("audit", "query", "--mgp", "--trace", trace)
    (event,) = [json.loads(line) for line in shown.splitlines()]
    assert ISO.fullmatch(event.pop("timestamp"))
    details = event.pop("details")
    assert details["risk_level"] == "safe"
    assert details["validator_applied"] == "sandbox"
    assert details["duration_ms"] > 0
    assert event == {
        "trace_id": trace,
        "event_type": "TOOL_EXECUTED",
        "actor": {"type": "anonymous", "id": "anonymous"},
        "target": {"server_id": "echo", "tool_name": "echo"},
        "result": "SUCCESS",
    }


async def test_servers_that_come_and_go_are_recorded(recorded: Gateway) -> None:
    """MGP-6.3-3 and MGP-6.4-8: kept locally, as there is no audit server."""
    connected = recorded.audit("--event", "SERVER_CONNECTED")
    assert {one["target"]["server_id"] for one in connected} == {"one", "two", "asker", "echo"}


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_trace_in_the_params_is_taken(recorded: Gateway, door: str) -> None:
    """MGP-6.5-1 and MGP-6.5-3: one trace through several servers, and to those that speak MGP."""
    if door.startswith("stdio"):
        # A stdio host has a gateway, and so a record, of its own; what its servers get is seen below.
        async with host(recorded, door) as client:
            await client.request("tools/call", {"name": "one__hello", "arguments": {}})
            seen = json.loads(await client.text("one__requests"))
            assert all("trace_id" in one["params"] for one in seen if one["method"] == "tools/call")
        return
    trace = str(uuid.uuid4())
    async with host(recorded, door) as client:
        for tool in ("one__hello", "two__hello", "asker__structured"):
            await client.request("tools/call", {"name": tool, "arguments": {}, "trace_id": trace})
        seen = json.loads(await client.text("one__requests"))
    assert trace in [one["params"].get("trace_id") for one in seen]
    done = [one for one in recorded.audit("--trace", trace) if one["event_type"] == "TOOL_EXECUTED"]
    assert {one["target"]["server_id"] for one in done} == {"one", "two", "asker"}


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25"])
async def test_a_trace_beside_the_params_is_taken_too(recorded: Gateway, door: str) -> None:
    """MGP-6.5-2."""
    trace = str(uuid.uuid4())
    async with host(recorded, door) as client:
        params = client._with_meta({"name": "echo__echo", "arguments": {"message": "x"}})
        frame = {
            "jsonrpc": "2.0",
            "id": 77,
            "method": "tools/call",
            "params": params,
            "trace_id": trace,
        }
        await client.finish(await client.start_raw(77, json.dumps(frame)))
    assert len(recorded.audit("--trace", trace)) == 1


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25"])
async def test_a_missing_trace_is_made(recorded: Gateway, door: str) -> None:
    """MGP-6.5-4: a fresh UUID for each call."""
    async with host(recorded, door) as client:
        for _ in range(2):
            await client.call("asker__tool_error")
    newest = recorded.audit("--tool", "tool_error")
    traces = {one["trace_id"] for one in newest}
    assert len(traces) >= 2
    assert all(str(uuid.UUID(one)) == one for one in traces)


@pytest.mark.parametrize("door", DOORS)
async def test_the_w3c_parent_goes_through_and_names_the_trace(
    recorded: Gateway, door: str
) -> None:
    """MGP-6.5-3: `traceparent` in `_meta` reaches the server as it came."""
    trace = uuid.uuid4().hex
    parent = f"00-{trace}-00f067aa0ba902b7-01"
    async with host(recorded, door) as client:
        result = await client.request(
            "tools/call",
            {"name": "asker__meta", "arguments": {}, "_meta": {"traceparent": parent}},
        )
        assert result["_meta"]["asker/got"]["traceparent"] == parent
    if not door.startswith("stdio"):
        assert recorded.audit("--trace", trace)


async def test_a_failed_tool_and_a_refused_one_are_told_apart(recorded: Gateway) -> None:
    """MGP-6.4-1, MGP-6.4-2."""
    trace = str(uuid.uuid4())
    async with host(recorded) as client:
        common = {"arguments": {}, "trace_id": trace}
        await client.request("tools/call", {"name": "asker__tool_error", **common})
        with pytest.raises(RpcError):
            await client.request("tools/call", {"name": "nowhere__nothing", **common})
    outcomes = {one["event_type"]: one["outcome"] for one in recorded.audit("--trace", trace)}
    assert outcomes["TOOL_EXECUTED"] == "failure"
    assert outcomes["TOOL_BLOCKED"] == "denied"


async def test_the_record_verifies(recorded: Gateway) -> None:
    assert "ok" in recorded.cli("audit", "verify").lower()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Gateway]:
    """An audit server that negotiated `audit`, and an MGP server that is only a tool server."""
    mgp = {"extensions": ["security", "audit"]}
    sink = {"name": "watch", "type": "mgp", "server": "watch"}
    content = config(
        server("mgp_server", "watch", mgp=mgp),
        server("mgp_server", "other", mgp=mgp),
        server("echo"),
        audit={"sinks": [sink]},
    )
    with running(tmp_path, content) as gateway:
        yield gateway


async def test_an_audit_server_is_told_each_event(watched: Gateway) -> None:
    """MGP-6.3-2: forwarded to the audit server, to no other server, and never by a client's word."""
    trace = str(uuid.uuid4())
    async with host(watched) as client:
        forged = {"event_type": "TOOL_EXECUTED", "trace_id": "forged"}
        await client.say({"method": "notifications/mgp.audit", "params": forged})
        await client.request(
            "tools/call", {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": trace}
        )
        async with asyncio.timeout(60):
            while not (told := await audited(client, "watch", trace)):
                await asyncio.sleep(0.05)
        (event,) = told
        assert event == json.loads(watched.cli("audit", "query", "--mgp", "--trace", trace))
        assert await audited(client, "other", trace) == []
        # That a client said so is on the record, as what it was: a notification that went nowhere.
        about = await audited(client, "watch", "forged")
        assert [(one["event_type"], one["result"]) for one in about] == [
            ("dev.gatewright.method", "BLOCKED")
        ]


async def audited(client: Any, server_id: str, trace: str) -> list[Any]:
    """The audit events of a trace that a server was told of."""
    seen = json.loads(await client.text(f"{server_id}__requests"))
    return [
        one["params"]
        for one in seen
        if one["method"] == "notifications/mgp.audit" and one["params"]["trace_id"] == trace
    ]
