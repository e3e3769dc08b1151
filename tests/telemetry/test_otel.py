"""Spans and metrics of calls, as a collector on localhost gets them; and that nothing is done without it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Call, Failure, Outcome, Refusal, Security, Target, Tool
from gatewright.config import Settings, SettingsError, load
from gatewright.kernel import Hooks
from gatewright.telemetry.otel import Telemetry, Untold, telemetry_of
from tests.gate_parts import Mute, a_call, a_tool
from tests.telemetry.collector import Collector, attributes, collecting

NUMBERS = {"waiting": 2, "audit_lag": 7, "servers": {"srv": "connected"}}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "ghp_" + "a1B2" * 9
PLAIN = a_tool("echo")


def settings(folder: Path, text: str) -> Settings:
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def wanted(folder: Path, url: str, sample: float = 1.0) -> Settings:
    return settings(folder, f'[telemetry]\nenabled = true\nendpoint = "{url}"\nsample = {sample}\n')


class Kernel:
    """As much of a kernel as there is to see: gates that resolve or refuse, a server, an end."""

    def __init__(self, telemetry: Telemetry | Untold, outcome: Outcome, tool: Tool | None) -> None:
        self.asked: list[Call] = []
        self._outcome = outcome
        self._tool = tool
        hooks = telemetry.hooks
        self.around, self._ended = hooks.around, hooks.ended
        self._dispatch: Any = self._serve
        for sent in hooks.sent:
            self._dispatch = sent(self._dispatch)

    async def handle(self, call: Call, back: Any) -> Outcome:
        (around,) = self.around
        return await around(call, back, self._walk)

    async def _walk(self, call: Call, back: Any) -> Outcome:
        outcome = self._outcome
        if self._tool is not None:
            tool = self._tool
            call = type(call)(**{**_members(call), "tool": tool, "target": tool.target})
            if not isinstance(outcome, Refusal):
                outcome = await self._dispatch(call, back)
        for ended in self._ended:
            ended(call, outcome, None)
        return outcome

    async def _serve(self, call: Call, back: Any) -> Outcome:
        self.asked.append(call)
        return self._outcome


def _members(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in call.__struct_fields__}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@asynccontextmanager
async def telling(
    folder: Path, collector: Collector, sample: float = 1.0
) -> AsyncIterator[Telemetry]:
    made = telemetry_of(wanted(folder, collector.url, sample), "1")
    assert isinstance(made, Telemetry)
    made.observe(lambda: NUMBERS)
    try:
        yield made
    finally:
        await made.close()


async def test_a_call_is_a_server_span_with_what_the_gates_and_the_server_took_below_it(
    tmp_path: Path, collector: Collector
) -> None:
    facts = {"waited_ms": 5.0, "approval": "ap_1"}
    async with telling(tmp_path, collector) as telemetry:
        kernel = Kernel(telemetry, Answer(b"{}"), PLAIN)
        call = a_call(name="srv__echo", facts=facts, session="handle", arguments={"key": SECRET})
        await kernel.handle(call, Mute())
    (client,) = [one for one in collector.spans if one.kind == 3]
    (server,) = [one for one in collector.spans if one.kind == 2]
    spans = {one.name: one for one in collector.spans}
    assert server.name == client.name == "tools/call echo"
    assert client.parent_span_id == server.span_id
    assert spans["gatewright.policy"].parent_span_id == server.span_id
    held = spans["gatewright.approval"]
    assert held.parent_span_id == spans["gatewright.policy"].span_id
    assert attributes(held) == {"gatewright.approval.id": "ap_1"}
    found = attributes(server)
    assert found.pop("mcp.session.id") != "handle"
    assert found == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gatewright.server.id": "srv",
        "mcp.protocol.version": "2025-11-25",
        "network.transport": "tcp",
        "gatewright.agent.id": call.caller.id,
        "gatewright.trace_id": "t1",
        "gatewright.call": "c1",
    }
    assert server.status.code == 0
    sent = b"".join(collector.bodies)
    assert SECRET.encode() not in sent
    assert b"handle" not in sent


async def test_the_trace_goes_on_through_the_gateway_and_nothing_else_of_it(
    tmp_path: Path, collector: Collector
) -> None:
    """W3C trace context: the server's parent is our span of the caller's trace."""
    meta = {
        "traceparent": f"00-{TRACE}-{PARENT}-01",
        "tracestate": "vendor=1",
        "baggage": "user=ann",
        "progressToken": 1,
    }
    async with telling(tmp_path, collector, sample=0.0) as telemetry:
        kernel = Kernel(telemetry, Answer(b"{}"), PLAIN)
        call = a_call()
        call.params["_meta"] = meta
        await kernel.handle(call, Mute())
    (server,) = [one for one in collector.spans if one.kind == 2]
    (client,) = [one for one in collector.spans if one.kind == 3]
    assert (server.trace_id.hex(), server.parent_span_id.hex()) == (TRACE, PARENT)
    (asked,) = kernel.asked
    assert asked.params["_meta"] == {
        "progressToken": 1,
        "traceparent": f"00-{TRACE}-{client.span_id.hex()}-01",
    }
    assert call.params["_meta"] == meta


@pytest.mark.parametrize(
    ("outcome", "sample", "exported"),
    [
        (Answer(b"{}"), 0.0, False),
        (Answer(b"{}"), 1.0, True),
        (Answer(b"{}", tool_error=True), 0.0, True),
        (Refusal("access_denied", SECRET), 0.0, True),
        (Failure("upstream_error", SECRET), 0.0, True),
    ],
)
async def test_what_went_wrong_is_always_exported_and_the_rest_by_its_share(
    tmp_path: Path, collector: Collector, outcome: Outcome, sample: float, exported: bool
) -> None:
    async with telling(tmp_path, collector, sample) as telemetry:
        await Kernel(telemetry, outcome, PLAIN).handle(a_call(), Mute())
    assert bool(collector.spans) == exported
    assert SECRET.encode() not in b"".join(collector.bodies)
    (point,) = collector.points("mcp.server.operation.duration")
    assert point.count == 1  # which is counted whatever is exported
    if exported and not isinstance(outcome, Answer):
        (server,) = [one for one in collector.spans if one.kind == 2]
        assert attributes(server)["error.type"] == outcome.reason
        assert server.status.code == 2


async def test_names_that_callers_make_up_are_one_name(
    tmp_path: Path, collector: Collector
) -> None:
    async with telling(tmp_path, collector) as telemetry:
        for name in ("nope", "nope2"):
            refused = Refusal("tool_not_found", "")
            await Kernel(telemetry, refused, None).handle(a_call(name=name), Mute())
    (point,) = collector.points("mcp.server.operation.duration")
    assert attributes(point)["gen_ai.tool.name"] == "_other"
    assert point.count == 2
    assert b"nope" not in b"".join(collector.bodies)


async def test_the_metrics_have_the_names_of_the_conventions(
    tmp_path: Path, collector: Collector
) -> None:
    tool = Tool(Target("srv", "wipe"), "srv__wipe", {}, None, Security(risk_level="dangerous"))
    async with telling(tmp_path, collector) as telemetry:
        call = a_call(facts={"waited_ms": 1500.0})
        await Kernel(telemetry, Answer(b"{}"), tool).handle(call, Mute())
    assert {one.name for one in collector.metrics} == {
        "mcp.server.operation.duration",
        "mcp.client.operation.duration",
        "gatewright.approval.wait",
        "gatewright.decisions",
        "gatewright.approvals.pending",
        "gatewright.audit.lag",
        "gatewright.server.state",
    }
    (wait,) = collector.points("gatewright.approval.wait")
    assert wait.sum == 1.5
    (decided,) = collector.points("gatewright.decisions")
    assert attributes(decided) == {"decision": "allow", "server": "srv", "tool_class": "dangerous"}
    (lag,) = collector.points("gatewright.audit.lag")
    assert (lag.as_int or lag.as_double) == 7
    (state,) = collector.points("gatewright.server.state")
    assert attributes(state) == {"gatewright.server.id": "srv", "state": "connected"}


def test_without_telemetry_everything_stays_what_it_is(tmp_path: Path) -> None:
    off = telemetry_of(settings(tmp_path, ""), "1")
    assert isinstance(off, Untold)
    off.observe(lambda: NUMBERS)
    assert off.hooks == Hooks()


def test_what_is_not_installed_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr("gatewright.config.extras.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"gatewright\[otel\]"):
        wanted(tmp_path, "http://127.0.0.1:1")
