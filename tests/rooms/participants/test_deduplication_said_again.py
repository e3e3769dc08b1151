"""What becomes of a request in a room that is said again: it is done once, and who asked is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY, Worker

KIND = "mcp/request:tools/call:dig"
DIG = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}


def say(bus: Bus, to: list[str], kind: str = KIND, body: Any = DIG, **more: Any) -> None:
    """The message of a client that counts from 1."""
    envelope = {"protocol": "mcpx/v0.1", "id": "1", "from": "eve", "kind": kind, "to": to, **more}
    bus.put(json.dumps({**envelope, "payload": body}).encode())


def answers(bus: Bus) -> list[str]:
    """What the worker said: done, or the error's code."""
    said = [one["payload"] for one in bus.of("worker") if one["kind"].startswith("mcp/")]
    return ["done" if "result" in one else str(one["error"]["code"]) for one in said]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_changes_nothing_is_answered_each_time() -> None:
    bus = Bus()
    bus.join("worker", responder=Worker())
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for _ in range(2):
        say(bus, ["worker"], "mcp/request:tools/list", body)
        await settled()
    assert answers(bus) == ["done", "done"]


async def test_what_was_done_is_not_done_again_and_who_asks_is_told() -> None:
    """One that was put to somebody else is another message, and so is one about something else."""
    bus, worker = Bus(), Worker()
    bus.join("worker", responder=worker)
    for to in (["other"], ["worker"], ["worker"]):
        say(bus, to)
        await settled()
    assert (len(worker.asked), answers(bus)) == (1, ["done", "-32600"])
    assert "heard before" in bus.of("worker")[-1]["payload"]["error"]["message"]
    say(bus, ["worker"], correlation_id="x")
    await settled()
    assert (len(worker.asked), answers(bus)[2:]) == (2, ["done"])


@pytest.mark.parametrize("more", [{}, {"body": {**DIG, "id": 2}}, {"to": ["worker", "other"]}])
async def test_what_is_said_again_while_it_runs_ends_nothing(more: dict[str, Any]) -> None:
    """An error under the id of the request that runs would count as its answer: a proposal would have failed."""
    bus, worker = Bus(), Worker()
    worker.hold = asyncio.Event()
    bus.join("worker", responder=worker)
    pending = bus.join("eva", PROPOSAL_ONLY).propose("tools/call", call("dig"), to=["worker"])
    outcome = asyncio.create_task(pending.outcome())
    for again in ({}, more):
        say(bus, **{"to": ["worker"], "correlation_id": pending.id, **again})
        await settled()
    assert (pending.proposal.status, answers(bus)) == ("fulfilling", [])
    worker.hold.set()
    assert (await within(outcome))["did"] == "tools/call"
    assert (len(worker.asked), answers(bus)) == (1, ["done"])
