"""Whether the process lives, whether it serves, and what it has done."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.doors.health import Health
from tests.doors.house import House, text
from tests.doors.steps import CALL

NUMBERS: dict[str, Any] = {
    "servers": {"one": "connected", "two": "error"},
    "calls": {("tool", "ok"): 3, ("list", "refused"): 1},
    "sessions": 2,
    "audit_ok": True,
    "in_flight": 4,
}


async def asked(path: str, **numbers: Any) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Health(lambda: NUMBERS | numbers)(path, send)
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
            'gatewright_server_state{server="srv",state="connected"} 1.0',
            "gatewright_sessions 0.0",
            "gatewright_calls_in_flight 0.0",
            "gatewright_audit_up 1.0",
        ]
