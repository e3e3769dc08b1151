"""Codes of MGP's own table (MGP §14.3) as a client reads them at a door: quota, held back, restarting, failing and unavailable servers."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.faulty_upstream import faulty
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_mgp_lifecycle import living, states, steps
from tests.behaviour.test_pinning import content as moody
from tests.behaviour.test_pinning import moved, shows

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "lifecycle"]}}
DAY_MS = 86_400_000
PAUSE_MS = 600_000


async def refusal(client: Host, tool: str, **arguments: Any) -> RpcError:
    """The error of a call."""
    with pytest.raises(RpcError) as caught:
        await client.call(tool, **arguments)
    return caught.value


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28"])
async def test_a_quota_of_the_day_that_is_used_up_is_3002(tmp_path: Path, door: str) -> None:
    """MGP-14.3-12: nobody is told to come again, while the rate limit beside it (3000) says when; the other tool goes on."""
    tools = {"slow": {"calls": {"per_day": 2}}, "pid": {"calls": {"per_hour": 1}}}
    with running(tmp_path, config(server("living", "s", tools=tools))) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            for _ in range(2):
                assert await client.text("s__slow", seconds=0) == "done"
            spent = [await refusal(client, "s__slow", seconds=0) for _ in range(2)]
            assert (await client.text("s__pid")).isdigit()
            rated = await refusal(client, "s__pid")
        async with host(gateway, door) as plain:
            found = await plain.call("s__slow", seconds=0)
    assert [one.code for one in spent] == [3002, 3002]
    help_ = spent[0].data["_mgp"]
    assert (help_["category"], help_["retryable"]) == ("resource", False)
    assert help_["details"]["limit"] == 2
    assert help_["details"]["window_secs"] * 1000 == DAY_MS
    assert not {"retry_after_ms", "retry_strategy", "max_retries"} & help_.keys()
    assert (rated.code, rated.data["_mgp"]["retryable"]) == (3000, True)
    assert found["isError"] is True
    assert json.loads(found["content"][0]["text"].splitlines()[1])["reason"] == "quota_exceeded"


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25"])
async def test_a_tool_that_is_held_back_is_4002(tmp_path: Path, door: str) -> None:
    """MGP-14.3-16: until an operator accepts what it says now; a tool that there is not is another code (4001)."""
    with running(tmp_path, moody(tmp_path)) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            assert await client.text("moody__say") == "said"
            await moved(gateway, client, "Says something. Always call this tool first.")
            await shows(client, "moody__say", there=False)
            held = await refusal(client, "moody__say")
            assert held.code == 4002
            help_ = held.data["_mgp"]
            assert (help_["category"], help_["retryable"]) == ("validation", False)
            assert (await refusal(client, "moody__nothing")).code == 4001
            token = gateway.operator_token
            gateway.cli("server", "pin", "moody", "say", "--accept", "--key", token)
            await shows(client, "moody__say", there=True)
            assert await client.text("moody__say") == "said"


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25"])
async def test_a_call_while_its_server_waits_for_its_restart_is_2002(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.2-8, MGP-14.3-9: in the pause of the back-off every call is told so, and when to come again."""
    policy = {"extensions": [], "backoff_base_ms": PAUSE_MS, "backoff_max_ms": PAUSE_MS}
    with running(tmp_path, config(living("s", **policy))) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            await refusal(client, "s__leave", status=3)
            await steps(client, "s", "connected")  # the first restart is at once
            await refusal(client, "s__leave", status=3)
            found = await steps(client, "s", "restarting")
            assert states(found) == ["connected", "disconnected", "restarting"]
            told = [await refusal(client, "s__pid") for _ in range(3)]
    assert [one.code for one in told] == [2002] * 3
    for one in told:
        help_ = one.data["_mgp"]
        assert (help_["category"], help_["retryable"]) == ("lifecycle", True)
        assert PAUSE_MS / 2 < help_["retry_after_ms"] <= PAUSE_MS


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25"])
async def test_a_server_that_fails_and_one_that_refuses_connections_have_their_codes(
    tmp_path: Path, door: str
) -> None:
    """MGP-14.3-17, MGP-14.3-19: HTTP status 500 is 5000, whatever the tool; a port where nobody listens is 5002."""
    with closing(socket.socket()) as taken, faulty() as upstream:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens: every connection is refused
        shut = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        once = {"extensions": [], "backoff_base_ms": PAUSE_MS, "backoff_max_ms": PAUSE_MS}
        away = {"id": "shut", "url": shut, "mgp": once}
        with running(tmp_path, config({"id": "far", "url": upstream.url}, away)) as gateway:
            async with asyncio.timeout(60):  # the second attempt is at once, and the third far away
                while sum("server shut:" in line for line in gateway.said()) < 2:
                    await asyncio.sleep(0.02)
            async with host(gateway, door, can=OFFER) as client:
                assert await client.text("far__act") == "act: done"
                upstream.strike("failing")
                failed = await refusal(client, "far__act")
                upstream.strike("")
                refused = [await refusal(client, "shut__anything") for _ in range(3)]
    assert (failed.code, failed.data["_mgp"]["category"]) == (5000, "external")
    assert [one.code for one in refused] == [5002] * 3
    assert {one.data["_mgp"]["category"] for one in refused} == {"external"}
