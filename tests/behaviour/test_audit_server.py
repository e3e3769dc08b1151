"""The audit server under `examples/`: told by a real gateway, asked through it."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import io
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host

SCRIPT = ROOT / "examples" / "audit_server.py"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway with the audit server, as its docstring says."""
    args = [str(SCRIPT), "--file", str(tmp_path / "events.jsonl")]
    watch = {
        "id": "watch",
        "command": sys.executable,
        "args": args,
        "mgp": {"extensions": ["audit"]},
    }
    sink = {"name": "watch", "type": "mgp", "server": "watch"}
    content = config(watch, server("echo"), audit={"sinks": [sink]})
    with running(tmp_path, content) as gateway:
        yield gateway


async def told(client: Host, **asked: Any) -> list[dict[str, Any]]:
    """What `query_audit_log` finds, once it finds something."""
    async with asyncio.timeout(60):
        while not (found := json.loads(await client.text("watch__query_audit_log", **asked))):
            await asyncio.sleep(0.05)
    return list(found)


async def test_the_audit_server_answers_what_the_gateway_told_it(watched: Gateway) -> None:
    """MGP-10.1-4 and MGP-6.3-2: query by type, agent, trace and time; statistics; export."""
    trace = str(uuid.uuid4())
    async with host(watched) as client:
        call = {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": trace}
        await client.request("tools/call", call)
        (event,) = await told(client, trace_id=trace)
        assert event == json.loads(watched.cli("audit", "query", "--mgp", "--trace", trace))
        of_type = await told(client, event_type="TOOL_EXECUTED", agent="anonymous", limit=1)
        assert len(of_type) == 1
        assert await told(client, since=event["timestamp"], trace_id=trace) == [event]
        none = await client.text("watch__query_audit_log", until="2000", trace_id=trace)
        assert json.loads(none) == []
        stats = await client.text("watch__get_audit_stats", by="tool", trace_id=trace)
        assert json.loads(stats) == {"echo": 1}
        exported = await client.text("watch__export_audit", format="csv", trace_id=trace)
        (row,) = csv.DictReader(io.StringIO(exported, newline=""))
        assert (row["event_type"], row["target.tool_name"]) == ("TOOL_EXECUTED", "echo")
        lines = await client.text("watch__export_audit", format="jsonl", trace_id=trace)
        assert [json.loads(line) for line in lines.splitlines()] == [event]


async def test_events_are_counted_by_each_dimension_and_exported_as_json(
    watched: Gateway,
) -> None:
    """MGP-10.1-4: one call that is answered and one that is refused, within one trace; oldest first in the export."""
    trace = str(uuid.uuid4())
    async with host(watched) as client:
        await client.request(
            "tools/call",
            {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": trace},
        )
        with pytest.raises(RpcError):
            await client.request("tools/call", {"name": "echo__none", "trace_id": trace})
        async with asyncio.timeout(60):
            while len(newest_first := await told(client, trace_id=trace)) < 2:
                await asyncio.sleep(0.05)
        counted = {
            by: json.loads(await client.text("watch__get_audit_stats", by=by, trace_id=trace))
            for by in ("event_type", "result", "agent", "server", "tool")
        }
        assert counted == {
            "event_type": {"TOOL_EXECUTED": 1, "TOOL_BLOCKED": 1},
            "result": {"SUCCESS": 1, "BLOCKED": 1},
            "agent": {"anonymous": 2},
            "server": {"echo": 1, "": 1},
            "tool": {"echo": 1, "echo__none": 1},
        }
        exported = json.loads(
            await client.text("watch__export_audit", format="json", trace_id=trace)
        )
        assert exported == newest_first[::-1]
        assert [one["event_type"] for one in exported] == ["TOOL_EXECUTED", "TOOL_BLOCKED"]


async def test_events_are_found_by_who_did_it_alone(watched: Gateway) -> None:
    """MGP-10.1-4: of two agents and the gateway itself, those of one, whatever they are about."""
    async with host(watched) as client:
        await client.text("echo__echo", message="m")
        watched.cli("tool", "call", "echo__echo", "message=m")
        for agent, lists in (("anonymous", False), ("local", True), ("gatewright", False)):
            found = await told(client, agent=agent)
            assert {one["actor"]["id"] for one in found} == {agent}
            stats = await client.text("watch__get_audit_stats", by="agent", agent=agent)
            assert json.loads(stats).keys() == {agent}
            kinds = {one["event_type"] for one in found}
            assert ("dev.gatewright.list" in kinds) is lists
        every = json.loads(await client.text("watch__get_audit_stats", by="agent"))
        assert every.keys() >= {"anonymous", "local", "gatewright"}


def a_log(retention: str, **more: Any) -> Any:
    """The log of the example."""
    spec = importlib.util.spec_from_file_location("audit_server", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Log(retention, **{"days": 2, "most": 3, **more})


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        ("keep_all", list(range(1, 29))),
        ("time_based", [26, 27, 28]),
        ("size_based", [26, 27, 28]),
        ("tiered", [8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 27, 28]),
    ],
)
def test_each_retention_keeps_what_it_says(tmp_path: Path, retention: str, kept: list[int]) -> None:
    """MGP-10.1-4: one event a day, every second one a refusal."""
    file = tmp_path / "events.jsonl"
    log = a_log(retention, file=file)
    for day in range(1, 29):
        result = "SUCCESS" if day % 2 else "BLOCKED"
        log.add({"timestamp": f"2026-09-{day:02d}T12:00:00.000Z", "result": result})
    assert [int(one["timestamp"][8:10]) for one in log.events] == kept
    assert a_log(retention, file=file).events == log.events
