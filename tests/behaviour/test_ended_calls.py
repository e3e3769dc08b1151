"""Calls that end in another way than by their answer: nothing keeps them, so a server that is replaced meanwhile is gone at once.

A process that was replaced ends with the last call that may still reach it, and that is known by who holds the former policy
(`servers/former_policies.py`). The gateway looks for cycles of references rarely: what a call left in one held up the processes of all servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.tool_servers.drive import listening

pytestmark = [pytest.mark.timeout(120)]

PROMPT_S = 3.0
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}, "elicitation": {}}
DOORS = tuple(door for door in EVERY if not door.startswith("stdio"))
TOOLS = '''
import asyncio

from gatewright.sdk import Context, mcp_tool


@mcp_tool(prefix="")
async def slow(context: Context, seconds: float) -> str:
    """Takes its time."""
    context.progress(0, 1, "begun")
    await asyncio.sleep(seconds)
    return "awake"
'''


def silent(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "decline"}


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[Gateway]:
    """A gateway in front of servers of each kind of connection, and of one that is replaced."""
    async with listening("asker") as legacy, listening("modern_asker") as modern:
        limit = {"call_timeout_s": 20.0}
        (folder / "tools").mkdir()
        (folder / "tools" / "mcp_tools.py").write_text(TOOLS)
        ours = {"mgp": {"extensions": ["streaming"]}, **limit}
        every = (
            server("asker", "pipe", **ours),
            {"id": "web", "url": legacy, **ours},
            {"id": "modern", "url": modern, **ours},
            {"id": "own", "python": str(folder / "tools"), **limit},
        )
        short = [{**one, "id": f"{one['id']}_short", "call_timeout_s": 0.3} for one in every]
        with running(folder, config(*every, *short, server("echo")), own_children=True) as gateway:
            yield gateway


async def begun(client: Host, server_id: str, **arguments: Any) -> Any:
    """A slow call that its server has begun; its id."""
    params = {"name": f"{server_id}__slow", "arguments": {"seconds": 15, **arguments}}
    token = {"progressToken": f"of {server_id}"}
    ident = await client.start("tools/call", {**params, "_meta": token, "_mgp": {"stream": True}})
    await client.note("notifications/progress", lambda one: one["params"]["progressToken"] == token["progressToken"])  # fmt: skip
    return ident


async def cancelled(client: Host, ident: Any) -> None:
    """By who made it: over HTTP of 2026-07-28 by hanging up."""
    if client.modern and ident in getattr(client.wire, "posts", {}):
        client.wire.posts[ident].cancel()  # type: ignore[attr-defined]
        return
    await client.say({"method": "notifications/cancelled", "params": {"requestId": ident}})


async def stopped(client: Host, ident: Any) -> None:
    """By `mgp/stream/cancel`."""
    answer = await client.request("mgp/stream/cancel", {"request_id": ident})
    assert answer["cancelled"] is True
    with pytest.raises(RpcError) as caught:
        await client.finish(ident)
    assert caught.value.code == 2099


async def replaced(gateway: Gateway) -> None:
    """Restart a server that nobody has called, and wait for the former process to end."""
    former = set(gateway.children())
    await asyncio.to_thread(gateway.cli, "server", "restart", "echo", "--key", gateway.operator_token)  # fmt: skip
    async with asyncio.timeout(PROMPT_S):
        while former <= set(gateway.children()):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("server_id", ["pipe", "web", "modern", "own"])
async def test_a_call_that_was_given_up_keeps_no_server_that_was_replaced(
    tmp_path: Path, server_id: str
) -> None:
    """At every door, in each way; the collector has looked at none of it."""
    async with house(tmp_path) as gateway:
        for door in DOORS:
            async with host(gateway, door, can=OFFER, answer=silent) as client:
                await cancelled(client, await begun(client, server_id))
                await asyncio.sleep(0.1)
                await replaced(gateway)
                if not (client.modern and door.startswith("http")):  # there by a handle alone
                    await stopped(client, await begun(client, server_id))
                    await replaced(gateway)
                with pytest.raises(RpcError) as caught:
                    await client.call(f"{server_id}_short__slow", seconds=15)
                assert caught.value.code == 5001
                await replaced(gateway)
