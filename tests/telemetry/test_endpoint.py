"""Whether the process lives, whether it serves, and what it has done."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest

from gatewright.audit.sinks import State
from gatewright.telemetry import endpoint
from gatewright.telemetry.endpoint import Collected, Health
from gatewright.transport import slices
from gatewright.transport.slices import in_slices
from tests.dialects.house import ANN, House, text
from tests.dialects.steps import CALL

NUMBERS: dict[str, Any] = {
    "servers": {"one": "connected", "two": "error"},
    "calls": {("tool", "ok"): 3, ("list", "refused"): 1},
    "sessions": 2,
    "audit_ok": True,
    "tools": {},
    "tool_bounds": (1.0, float("inf")),
    "audit_written": 7,
    "audit_lag": 2,
    "audit_sinks": {},
    "in_flight": 4,
    "waiting": 0,
    "took": [],
    "took_s": 0.0,
}


async def asked(path: str, **numbers: Any) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Health(lambda: NUMBERS | numbers)(path, send, ANN)
    return sent[0]["status"], sent[1]["body"]


async def test_a_living_process_says_so_without_being_asked_who() -> None:
    async with House(anonymous=False) as house:
        answered = await house.open(method="GET", path="/livez").whole()
        assert (answered.status, answered.body) == (200, b"ok\n")


async def test_a_gateway_is_ready_once_its_servers_have_started_or_failed() -> None:
    assert await asked("/readyz") == (
        200,
        b'{"ready":true,"audit":true,"servers":{"one":"connected","two":"error"}}',
    )


@pytest.mark.parametrize("state", ["registered", "connecting"])
async def test_a_gateway_whose_servers_still_start_is_not_ready(state: str) -> None:
    assert (await asked("/readyz", servers={"one": state}))[0] == 503


async def test_a_gateway_that_cannot_record_is_not_ready_but_alive() -> None:
    assert await asked("/readyz", audit_ok=False, servers={}) == (
        503,
        b'{"ready":false,"audit":false,"servers":{}}',
    )
    assert await asked("/livez", audit_ok=False) == (200, b"ok\n")


async def test_the_text_of_the_metrics_is_written_beside_the_loop_and_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a thousand tools it takes a tenth of a second, and any caller may ask at any time."""
    going, most = 0, 0
    threads: set[bool] = set()
    written = generate_latest

    def write(registry: Any) -> bytes:
        nonlocal going, most
        going += 1
        most = max(most, going)
        threads.add(threading.current_thread() is threading.main_thread())
        text = written(registry)
        going -= 1
        return text

    monkeypatch.setattr(endpoint, "generate_latest", write)
    async with House() as house:
        every = [house.open(method="GET", path="/metrics", key="key-ann") for _ in range(5)]
        for one in every:
            assert (await one.whole()).status == 200
    assert (most, threads) == (1, {False})


async def test_the_text_for_somebody_who_is_gone_is_still_written_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who asks and goes, again and again, would have a thread for each time."""
    going, most = 0, 0
    inside, go = threading.Event(), threading.Event()

    def write(_: Any) -> bytes:
        nonlocal going, most
        going += 1
        most = max(most, going)
        inside.set()
        go.wait()
        going -= 1
        return b""

    async def send(_: dict[str, Any]) -> None:
        pass

    monkeypatch.setattr(endpoint, "generate_latest", write)
    health = Health(lambda: NUMBERS)
    http: Any = SimpleNamespace(caller=ANN, send=send)
    gone = asyncio.create_task(health.metrics(http))
    await asyncio.to_thread(inside.wait)
    gone.cancel()
    next_one = asyncio.create_task(health.metrics(http))
    await asyncio.wait([next_one], timeout=0.05)  # time to go wrong
    go.set()
    await next_one
    assert most == 1
    assert gone.cancelled()


async def test_numbers_are_told_to_who_may_come_in() -> None:
    async with House(anonymous=False) as house:
        house.script.does("echo", text("hi"))
        await house.modern("tools/call", CALL, key="key-ann")
        assert (await house.open(method="GET", path="/metrics").whole()).status == 401
        answered = await house.open(method="GET", path="/metrics", key="key-ann").whole()
        assert answered.kind == "text/plain"
        lines = [line for line in answered.body.decode().splitlines() if not line.startswith("#")]
        assert lines == [
            'gatewright_calls_total{kind="tool",outcome="ok"} 1.0',
            'gatewright_call_duration_seconds_bucket{le="0.5"} 1.0',
            'gatewright_call_duration_seconds_bucket{le="2.0"} 1.0',
            'gatewright_call_duration_seconds_bucket{le="+Inf"} 3.0',
            "gatewright_call_duration_seconds_count 3.0",
            "gatewright_call_duration_seconds_sum 7.5",
            'gatewright_server_state{server="srv",state="connected"} 1.0',
            "gatewright_sessions 0.0",
            "gatewright_approvals_pending 0.0",
            "gatewright_calls_in_flight 0.0",
            "gatewright_audit_up 1.0",
            "gatewright_audit_records_total 0.0",
            "gatewright_audit_lag 0.0",
        ]


async def test_a_sink_that_is_down_is_said_and_makes_nothing_less_ready() -> None:
    states = {"siem": State(3, 1, "the endpoint answered HTTP 503"), "archive": State(7, 7)}
    status, body = await asked("/readyz", servers={}, audit_sinks=states)
    assert status == 200
    assert b'"sinks":{"siem":"down","archive":"ok"}' in body
    assert b"503" not in body


def test_the_metrics_say_how_far_database_and_sinks_are() -> None:
    states = {"siem": State(3, 1, "the endpoint answered HTTP 503"), "archive": State(7, 7)}
    metrics = Collected(NUMBERS | {"audit_sinks": states, "took": [(float("inf"), 0)]}).collect()
    found = {
        (sample.name, sample.labels.get("sink")): sample.value
        for metric in metrics
        for sample in metric.samples
        if sample.name.startswith("gatewright_audit_")
    }
    assert found == {
        ("gatewright_audit_up", None): 1.0,
        ("gatewright_audit_records_total", None): 7,
        ("gatewright_audit_lag", None): 2.0,
        ("gatewright_audit_sink_up", "archive"): 1.0,
        ("gatewright_audit_sink_up", "siem"): 0.0,
        ("gatewright_audit_sink_lag", "archive"): 0,
        ("gatewright_audit_sink_lag", "siem"): 4,
        ("gatewright_audit_sink_records_total", "archive"): 7,
        ("gatewright_audit_sink_records_total", "siem"): 1,
    }


def test_each_tool_is_told_by_how_its_calls_ended() -> None:
    """GRH-mon-1 and GRH-mon-2: names, labels and values."""
    tools = {("srv/echo", "success"): [1.5, 1, 1], ("srv/echo", "failure"): [0.25, 1, 0]}
    numbers = NUMBERS | {"tools": tools, "took": [(float("inf"), 0)]}
    found = {
        (sample.name, sample.labels["status"], sample.labels.get("le")): sample.value
        for metric in Collected(numbers).collect()
        for sample in metric.samples
        if sample.labels.get("tool_id") == "srv/echo"
    }
    took = "mcp_tool_execution_duration"
    assert found == {
        (f"{took}_bucket", "failure", "1.0"): 1,
        (f"{took}_bucket", "failure", "+Inf"): 1,
        (f"{took}_count", "failure", None): 1,
        (f"{took}_sum", "failure", None): 0.25,
        (f"{took}_bucket", "success", "1.0"): 1,
        (f"{took}_bucket", "success", "+Inf"): 2,
        (f"{took}_count", "success", None): 2,
        (f"{took}_sum", "success", None): 1.5,
        ("mcp_tool_invocations_total", "failure", None): 1,
        ("mcp_tool_invocations_total", "success", None): 2,
    }


async def test_what_a_caller_may_know_of_thousands_of_tools_is_asked_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    sight = SimpleNamespace(tool=lambda *_: False, server=lambda *_: True)
    known: Any = SimpleNamespace(sight=sight, tool=lambda *_: None)
    tools = {(f"t{at}", "success"): [1.0, 1] for at in range(300)}
    health = Health(lambda: {**NUMBERS, "tools": tools}, lambda: known)
    told = asyncio.ensure_future(in_slices(health._told(health._numbers(), ANN)))
    turns = 0
    while not told.done():
        await asyncio.sleep(0)
        turns += 1
    assert told.result()["tools"] == {("_other", "success"): [300.0, 300]}
    assert turns >= 300
