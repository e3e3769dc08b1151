"""What is recorded of Groundhog's calls, where it goes, and what is counted."""

from __future__ import annotations

import asyncio
import http.server
import json
import re
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import running
from tests.behaviour.groundhog_client import DEADLINE, RefusedError
from tests.behaviour.groundhog_house import DOORS, GroundhogHouse, content, tree

pytestmark = pytest.mark.timeout(240)
MEMBERS = {
    "timestamp",
    "event_type",
    "source",
    "user_context",
    "details",
    "risk_level",
    "correlation_id",
}


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def house(grounds: dict[str, GroundhogHouse], door: str) -> GroundhogHouse:
    return grounds[door]


async def seen(look: Callable[[], Any]) -> Any:
    """What is there as soon as it is."""
    async with asyncio.timeout(DEADLINE):
        while not (found := look()):
            await asyncio.sleep(0.05)
    return found


async def event(house: GroundhogHouse, trace: str) -> dict[str, Any]:
    """The event of one trace in the file."""
    found = await seen(lambda: [one for one in house.events() if one["correlation_id"] == trace])
    event_: dict[str, Any] = found[-1]
    return event_


async def test_an_invocation_is_an_event_in_the_file(house: GroundhogHouse, door: str) -> None:
    """GRH-aud-1, GRH-aud-2 and GRH-cfg-11: one JSON a line, under the trace that its sender named."""
    name, key = house.user(role="reader")
    trace = str(uuid.uuid4())
    message = {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "tools/invoke",
        "trace_id": trace,
        "params": {"tool_id": "directory_list", "parameters": {"path": "."}},
    }
    async with house.client(door, key) as client:
        response = await client.exchange(message)
    assert response["result"]["security_context"]["audit_id"] == trace
    found = await event(house, trace)
    assert set(found) == MEMBERS
    assert (found["event_type"], found["source"]) == ("ToolInvocation", "mcp_protocol")
    assert found["user_context"]["user_id"] == name
    assert found["user_context"]["role"] == "reader"
    assert (found["details"]["tool_id"], found["details"]["status"]) == (
        "directory_list",
        "success",
    )
    assert found["risk_level"] == "Medium"


async def test_the_same_tool_has_another_risk_with_other_arguments(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-aud-5."""
    risks = []
    async with house.client(door) as client:
        for message in ("hello", "cat /home/me/.ssh/id_rsa"):
            result = await client.invoke("echo__echo", {"message": message})
            found = await event(house, result["security_context"]["audit_id"])
            risks.append(found["risk_level"])
    assert risks == ["Low", "High"]


async def test_a_violation_is_an_event_of_high_risk(house: GroundhogHouse, door: str) -> None:
    """GRH-aud-3 and GRH-aud-6."""
    async with house.client(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "/etc"}}
        )
    found = await event(house, refused.data["security_context"]["audit_id"])
    assert (found["event_type"], found["source"]) == ("SecurityViolation", "mcp_security")
    assert found["risk_level"] == "High"
    assert found["details"]["reason"] == "path_not_allowed"


async def test_a_critical_violation_raises_an_alert(house: GroundhogHouse, door: str) -> None:
    """GRH-aud-4: whoever says to be somebody else."""
    async with house.client(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "echo__echo", "security_context": {"user_id": "root"}}
        )
    trace = refused.data["security_context"]["audit_id"]
    assert (await event(house, trace))["details"]["severity"] == "Critical"
    (line,) = await seen(
        lambda: [one for one in house.gateway.said() if "security alert" in one and trace in one]
    )
    assert "SecurityViolation" in line


async def test_every_request_of_a_run_has_its_record(house: GroundhogHouse, door: str) -> None:
    """GRH-test-5, GRH-err-11 and GRH-aud-6: whatever came of it, under the id that its answer says."""
    said: list[str] = []
    async with house.client(door) as client:
        for method, params in (
            ("tools/invoke", {"tool_id": "echo__echo", "parameters": {"message": "x"}}),
            ("tools/invoke", {"tool_id": "echo__echo", "parameters": {}}),
            ("tools/invoke", {"tool_id": "none"}),
            ("tools/invoke", {"tool_id": "writer__echo", "parameters": {"message": "x"}}),
            ("tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "none"}}),
            ("tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "/"}}),
            ("tools/invoke", {}),
            ("tools/list", {"limit": 0}),
            ("tools/list", {"trust_level": "x"}),
            ("tools/register", {}),
            ("session/get", {"security_context": {"user_id": "x"}}),
            ("no/such", {}),
        ):
            try:
                result = await client.request(method, params)
            except RefusedError as problem:
                said.append(problem.data["security_context"]["audit_id"])
            else:
                said.append(result["security_context"]["audit_id"])
    assert len(set(said)) == 12
    for trace in said:
        assert house.records(trace), trace


async def test_tools_are_counted_under_the_names_of_the_specification(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-mon-1 and GRH-mon-2."""
    url = house.gateway.url.replace("/mcp", "/metrics")
    headers = {"authorization": f"Bearer {house.gateway.operator_token}"}

    async def counted(status: str) -> tuple[float, float]:
        async with aiohttp.ClientSession(headers=headers) as web, web.get(url) as answer:
            text = await answer.text()
        labels = re.escape(f'{{status="{status}",tool_id="directory_list"}}')
        either = f'(?:{labels}|{{tool_id="directory_list",status="{status}"}})'
        calls = re.search(rf"^mcp_tool_invocations_total{either} (\S+)", text, re.MULTILINE)
        took = re.search(rf"^mcp_tool_execution_duration_count{either} (\S+)", text, re.MULTILINE)
        return float(calls[1]) if calls else 0.0, float(took[1]) if took else 0.0

    before = await counted("success"), await counted("denied")
    async with house.client(door) as client:
        for _ in range(2):
            await client.invoke("directory_list", {"path": "./src"})
        await client.refusal(
            "tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "/etc"}}
        )
    after = await counted("success"), await counted("denied")
    assert [now[0] - was[0] for was, now in zip(before, after, strict=True)] == [2, 1]
    assert [now[1] - was[1] for was, now in zip(before, after, strict=True)] == [2, 1]


# -- a gateway with everything switched


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes events, or is down."""

    bodies: list[tuple[str, bytes]]
    down: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.down.is_set():
            self.send_response(503)
        else:
            self.bodies.append((self.path, body))
            self.send_response(204)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Quiet."""


class Switched:
    """A gateway whose events go to a database and to a receiver, some classes switched off."""

    def __init__(self, house: GroundhogHouse, receiver: type[Receiver]) -> None:
        self.house = house
        self.receiver = receiver

    def remote(self, path: str = "/events") -> list[dict[str, Any]]:
        lines = [body for where, body in self.receiver.bodies if where == path]
        return [json.loads(line) for body in lines for line in body.splitlines()]

    def rows(self) -> list[dict[str, Any]]:
        path = self.house.gateway.folder / "state" / "audit-out.db"
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("SELECT record FROM gatewright_audit").fetchall()
        return [json.loads(row[0]) for row in found]


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switched]:
    folder: Path = tmp_path_factory.mktemp("switched")
    receiver = type("R", (Receiver,), {"bodies": [], "down": threading.Event()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    audit = {
        "log_tool_invocations": False,
        "log_protocol_errors": False,
        "alert_webhook": f"{base}/alerts",
        "sinks": {
            "database_sink": True,
            "database_url": "sqlite:///audit-out.db",
            "remote_sink": True,
            "remote_endpoint": f"{base}/events",
        },
    }
    limits = {"user_requests_per_second": 4, "tool_requests_per_second": 2}
    said = content(
        tree(folder / "tree"),
        "websocket",
        audit=audit,
        rate_limits=limits,
        performance={"execution_time_warning": 0.000001},
    )
    try:
        with running(folder, said) as gateway:
            yield Switched(GroundhogHouse(gateway, folder / "tree"), receiver)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


async def test_classes_that_are_switched_off_go_nowhere(switched: Switched) -> None:
    """GRH-cfg-9, GRH-cfg-12, GRH-cfg-13, GRH-aud-3 and GRH-aud-4."""
    house = switched.house
    async with house.client("websocket") as client:
        done = (await client.invoke("directory_list", {"path": "."}))["security_context"][
            "audit_id"
        ]
        wrong = (await client.refusal("no/such")).data["security_context"]["audit_id"]
        forged = (
            await client.refusal(
                "tools/invoke", {"tool_id": "echo__echo", "security_context": {"user_id": "root"}}
            )
        ).data["security_context"]["audit_id"]
    for look in (switched.remote, switched.rows, lambda: switched.remote("/alerts")):
        await seen(lambda: [one for one in look() if one["correlation_id"] == forged])  # noqa: B023
    for found in (switched.remote(), switched.rows()):
        kinds = {one["event_type"] for one in found}
        assert "ToolInvocation" not in kinds
        assert "ProtocolError" not in kinds
        assert not [one for one in found if one["correlation_id"] == wrong]
        assert all(set(one) == MEMBERS for one in found)
    assert house.records(done)
    assert house.records(wrong)


async def test_slow_calls_are_warned_of(switched: Switched) -> None:
    """GRH-mon-3 and GRH-mon-4: every call is slow where a microsecond is much."""
    house = switched.house
    async with house.client("websocket") as client:
        result = await client.invoke("directory_list", {"path": "./src"})
    trace = result["security_context"]["audit_id"]
    found = await seen(
        lambda: [
            one
            for one in switched.remote()
            if one["correlation_id"] == trace and one["event_type"] == "PerformanceEvent"
        ]
    )
    assert found[0]["details"]["warning_type"] == "slow_execution"
    url = house.gateway.url.replace("/mcp", "/metrics")
    headers = {"authorization": f"Bearer {house.gateway.operator_token}"}
    async with aiohttp.ClientSession(headers=headers) as web, web.get(url) as answer:
        text = await answer.text()
    assert re.search(
        r"^mcp_performance_warnings_total\{[^}]*slow_execution[^}]*\} \d", text, re.MULTILINE
    )


async def test_a_receiver_that_is_down_blocks_no_call_and_gets_everything_later(
    switched: Switched,
) -> None:
    """GRH-cfg-13."""
    house = switched.house
    switched.receiver.down.set()
    try:
        async with house.client("websocket") as client:
            outside = {"tool_id": "directory_list", "parameters": {"path": "/etc"}}
            refused = await client.refusal("tools/invoke", outside)
            while refused.data["error_code"] == "rate_limit_exceeded":  # what tests before it asked
                await asyncio.sleep(refused.data["details"]["retry_after_ms"] / 1000)
                refused = await client.refusal("tools/invoke", outside)
    finally:
        switched.receiver.down.clear()
    trace = refused.data["security_context"]["audit_id"]
    await seen(lambda: [one for one in switched.remote() if one["correlation_id"] == trace])
    assert refused.data["error_code"] == "path_not_allowed"


async def test_limits_of_its_configuration_hold_at_its_door(switched: Switched) -> None:
    """GRH-err-8, GRH-rate-3, GRH-rate-5 and GRH-test-6."""
    house = switched.house
    async with house.client("websocket") as client:
        call = {"tool_id": "echo__echo", "parameters": {"message": "x"}}
        found = await asyncio.gather(
            *(client.request("tools/invoke", call) for _ in range(12)), return_exceptions=True
        )
    refused = [one for one in found if isinstance(one, RefusedError)]
    assert refused
    for one in refused:
        assert (one.data["error_type"], one.data["error_code"]) == (
            "security_error",
            "rate_limit_exceeded",
        )
        assert one.data["details"]["retry_after_ms"] > 0
        assert one.data["security_context"]["violation_type"] == "rate_limit"


@pytest.mark.parametrize("method", ["session/create", "session/get", "session/close"])
async def test_asking_about_sessions_counts_like_calling(switched: Switched, method: str) -> None:
    """GRH-rate-3: one count of a user for whatever it asks, so that nothing can be asked without end."""
    house = switched.house
    async with house.client("websocket") as client:
        done = await asyncio.gather(
            *(client.request(method) for _ in range(20)), return_exceptions=True
        )
        refused = [one.data for one in done if isinstance(one, RefusedError)]
        over = [one for one in refused if one["error_code"] == "rate_limit_exceeded"]
        assert over
        assert over[0]["details"]["retry_after_ms"] > 0
        assert over[0]["security_context"]["violation_type"] == "rate_limit"
    assert house.records(over[0]["security_context"]["audit_id"])
