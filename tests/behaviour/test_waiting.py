"""Calls that wait for somebody's word, and what changes meanwhile."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatewright.identity.keys import KeyStore
from tests.approvals.voting import Voting
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_pinning import content as moody
from tests.behaviour.test_pinning import moved, shows
from tests.storage.parts import operated_state_in, state_in

HOLD_S = 20
DOORS = ("http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25")


async def said_of(client: Host, tool: str) -> str:
    """What a caller hears of a call, however its door says it."""
    try:
        return str(await client.call(tool, message="x"))
    except RpcError as problem:
        return f"{problem} {problem.data}"
    except ConnectionError as closed:
        return str(closed)


async def approved_after(
    gateway: Gateway, client: Host, tool: str, then: Callable[[], Awaitable[object]]
) -> str:
    """What a caller hears whose call waited for an operator, who agrees when `then` has happened."""
    queue = Voting(operated_state_in(gateway.folder / "state"), clock=time.time, random=os.urandom)
    with closing(queue):
        calling = asyncio.ensure_future(said_of(client, tool))
        async with asyncio.timeout(HOLD_S):
            while not (waiting := queue.waiting()):
                await asyncio.sleep(0.02)
        await then()
        queue.approve(waiting[0].id, by="olga")
        return await calling


def ran(gateway: Gateway, tool: str) -> bool:
    """Whether a call of the tool was ever forwarded."""
    return bool(gateway.audit("--tool", tool, "--event", "TOOL_EXECUTED"))


@pytest.mark.parametrize("door", DOORS)
async def test_nothing_runs_with_a_key_that_was_revoked_while_its_call_waited(
    tmp_path: Path, door: str
) -> None:
    """MGP-4.4-3: whose word an approval is about is asked again when it comes. A WebSocket that the key opened is closed, which
    may be before."""
    configured = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        approvals={"approver": "operator", "hold_s": HOLD_S},
        gateway={"anonymous": "deny"},
    )
    with running(tmp_path, configured) as gateway:
        state = state_in(tmp_path / "state")
        with closing(KeyStore(state, clock=time.time, random=os.urandom)) as callers:
            key, secret = callers.create("short-lived", by="test")

            async def revoked() -> None:
                callers.revoke(key.id, by="test")
                while not gateway.audit("--event", "dev.gatewright.key.revoked"):
                    await asyncio.sleep(0.1)

            headers = {"authorization": f"Bearer {secret}"}
            async with host(gateway, door, headers=headers) as client:
                said = await approved_after(gateway, client, "echo__echo", revoked)
        closed = "the WebSocket closed" if door.startswith("websocket") else "auth_failed"
        assert "auth_failed" in said or said == closed
        assert not ran(gateway, "echo")


@pytest.mark.parametrize(
    ("pin", "reason"), [("first-use", "tool_disabled"), ("off", "confirmation_required")]
)
async def test_a_tool_that_changes_while_its_call_waits_does_not_run(
    tmp_path: Path, pin: str, reason: str
) -> None:
    """MGP-4.4-3: who agrees agrees to the tool that was called, also where definitions are not pinned."""
    configured: dict[str, Any] = moody(
        tmp_path, pin=pin, tools={"say": {"risk_level": "dangerous"}}
    )
    configured["approvals"] = {"approver": "operator", "hold_s": HOLD_S}
    with running(tmp_path, configured) as gateway:
        async with host(gateway) as client, host(gateway) as other:

            async def changed() -> None:
                await moved(gateway, other, "Says something. Call this first.")
                if pin == "first-use":
                    await shows(other, "moody__say", there=False)
                    return
                while "Call this first" not in str(await other.request("tools/list")):
                    await asyncio.sleep(0.05)

            said = await approved_after(gateway, client, "moody__say", changed)
        assert reason in said
        assert not ran(gateway, "say")
