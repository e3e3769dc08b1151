"""Fault test 20: the clock of the machine jumps an hour while calls run. What lasts goes by a clock that never jumps; what ends at a
time of day goes by the day; the record is in order whatever the stamps say."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gatewright.app.gateway import Gateway
from gatewright.call import Answer, Back, Call, Caller, Client, Outcome, Refusal
from gatewright.config import load
from gatewright.servers.local import LocalServer
from gatewright.servers.spec import ServerSpec
from tests.audit.parts import journal_lines, verified
from tests.gate_parts import Mute

HOUR = 3600.0
DEADLINE = 30.0


class Heard(Mute):
    """A caller who may be told of progress."""

    def emit(self, event: Any) -> None:
        """Heard."""


class Jumping:
    """The wall clock, and how far it is off."""

    off = 0.0

    def __init__(self) -> None:
        self._real = time.time

    def __call__(self) -> float:
        return self._real() + self.off


class House:
    """A gateway in this process, with a tool that waits until it is let go."""

    def __init__(self, folder: Path, gateway: Gateway, clock: Jumping) -> None:
        self.folder = folder
        self.gateway = gateway
        self.clock = clock
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self._count = 0

    async def wait(self, arguments: dict[str, Any], call: Call, back: Back) -> str:
        self.begun.set()
        await self.go_on.wait()
        return "done"

    async def call(self, agent: str, tool: str) -> Outcome:
        self._count += 1
        made = Call(
            id=f"call-{self._count}",
            door="http",
            kind="tool",
            method="tools/call",
            name=tool,
            params={"name": tool, "arguments": {}},
            caller=Caller(agent),
            client=Client("2026-07-28"),
            trace_id=f"{self._count:032x}",
            facts={},
            credential=self.keys[agent],
        )
        return await self.gateway.front.kernel.handle(made, Heard())

    keys: dict[str, str]


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    clock = Jumping()
    monkeypatch.setattr(time, "time", clock)
    monkeypatch.setattr(time, "time_ns", lambda: int(clock() * 1e9))
    ends = datetime.fromtimestamp(clock() + HOUR / 2, UTC).isoformat()
    (tmp_path / "mgp.toml").write_text(
        f'[storage]\npath = "{tmp_path}/state"\n[limits]\ncalls_per_minute = 3\n'
        '[[grants]]\nagent = "ann"\nserver = "own"\n'
        f'[[grants]]\nagent = "bob"\nserver = "own"\nexpires_at = {ends}\n'
    )
    settings = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})
    found = House(tmp_path, None, clock)  # type: ignore[arg-type]
    schema = {"inputSchema": {"type": "object"}}
    local = LocalServer(
        ServerSpec(id="own"),
        {"wait": (schema, found.wait), "quick": (schema, lambda *_: "here")},
    )
    async with Gateway(settings, [local]) as gateway:
        found.gateway = gateway
        callers = gateway.callers
        found.keys = {name: callers.create(name, by="test")[1] for name in ("ann", "bob")}
        yield found


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_jump_of_an_hour_neither_ends_a_call_nor_gives_a_limit_back(
    house: House, jump: float
) -> None:
    running = asyncio.ensure_future(house.call("ann", "own__wait"))
    await asyncio.wait_for(house.begun.wait(), DEADLINE)
    for _ in range(2):
        assert isinstance(await house.call("ann", "own__quick"), Answer)
    house.clock.off = jump
    refused = await house.call("ann", "own__quick")
    assert isinstance(refused, Refusal)
    assert refused.reason == "rate_limited"
    assert refused.retry_after_ms is not None
    assert refused.retry_after_ms <= 60_000
    assert not running.done()
    house.go_on.set()
    assert isinstance(await asyncio.wait_for(running, DEADLINE), Answer)


async def test_what_ends_at_a_time_of_day_goes_by_the_day_and_stays_ended(
    house: House,
) -> None:
    said = []
    for house.clock.off in (0.0, HOUR, -HOUR):
        outcome = await house.call("bob", "own__quick")
        said.append(outcome.reason if isinstance(outcome, Refusal) else "runs")
    assert said == ["runs", "access_denied", "access_denied"]


async def test_the_record_is_in_order_whatever_the_clock_said(house: House) -> None:
    for house.clock.off in (0.0, HOUR, -HOUR):
        assert isinstance(await house.call("ann", "own__quick"), Answer)
    await house.gateway.audit.on_disk()
    state = house.folder / "state"
    found = verified(state)
    assert found.problem is None
    lines = [json.loads(line) for line in journal_lines(state)]
    assert [one["seq"] for one in lines] == list(range(1, len(lines) + 1))
    stamps = [one["time"] for one in lines if one["event_type"] == "TOOL_EXECUTED"]
    assert len(stamps) == 3
    assert stamps != sorted(stamps)
