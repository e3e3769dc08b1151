"""MGP §11 at every door, in both eras: transitions, draining, policies and codes as a caller is told them there, on pipes too.

Who shuts down holds `AdminWrite`: by the operator's token, and where a door takes no credential, by `[agents.local]`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.servers.states import STATES
from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import ROOT, Gateway, Pipes, config, running, server, write
from tests.behaviour.hosts import Host, RpcError, behind, host
from tests.behaviour.test_mgp_lifecycle import (
    LIFECYCLE,
    OFFER,
    POLICY,
    SPEAKS,
    living,
    operator,
    refused,
    shut_down,
    state_of,
    states,
    steps,
)

pytestmark = [pytest.mark.timeout(180)]

WANTED = "dev.cloto/lifecycle"
HOLDS = {"permissions": ["ToolsListAll", "ToolInvoke(*)", "AdminRead", "AdminWrite"]}
LATE = "import os, runpy, sys\nif os.path.exists({!r}): runpy.run_path({!r}, run_name='__main__')\nelse: sys.exit(3)"
PAUSE_MS = 600_000
ENDS = {
    "never": ("never", 3, ["connected", "disconnected", "error"]),
    "failed": ("on_failure", 3, ["connected", "disconnected", "restarting", "connected"]),
    "left": ("on_failure", 0, ["connected", "disconnected"]),
    "always": ("always", 0, ["connected", "disconnected", "restarting", "connected"]),
}
"""Servers by their policy: the status with which they leave, and what is told of it."""


def content(folder: Path, *names: str) -> dict[str, Any]:
    """One server for each story: all of them, or those that are named."""
    program = LATE.format(
        str(folder / "mended"), str(ROOT / "tests" / "tool_servers" / "living.py")
    )
    mended = {"extensions": [], "max_restarts": 1, "restart_window_secs": 2}
    mended |= {"backoff_base_ms": 10, "backoff_max_ms": 10}
    slow = {"extensions": [], "backoff_base_ms": PAUSE_MS, "backoff_max_ms": PAUSE_MS}
    every = (
        living("drained"),
        living("hung"),
        living("again", **{**POLICY, "restart_policy": "always"}),
        living("pausing", **slow),
        {"id": "broken", "command": sys.executable, "args": ["-c", program], "mgp": mended},
        living("odd", "--mgp", **SPEAKS),
        {**living("idle"), "idle_timeout_s": 0.5},
        *(living(name, **{**POLICY, "restart_policy": end[0]}) for name, end in ENDS.items()),
    )
    wanted = [one for one in every if not names or one["id"] in names]
    return config(*wanted, agents={"local": HOLDS})


@pytest.fixture(scope="module", params=EVERY)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Gateway]]:
    """A door, and the gateway that all stories at this door share."""
    door: str = request.param
    folder = tmp_path_factory.mktemp("place")
    if door.startswith("stdio"):
        yield door, Pipes(folder)
    else:
        with running(folder, content(folder)) as found:
            yield door, found


@asynccontextmanager
async def told(place: tuple[str, Gateway], *names: str) -> AsyncIterator[Host]:
    """Who may shut down, and hears of transitions: unasked, or by listening where nothing comes unasked."""
    door, gateway = place
    if isinstance(gateway, Pipes):
        write(gateway.folder, content(gateway.folder, *names))
    async with operator(gateway, door) as client:
        if client.modern:
            await client.start("subscriptions/listen", {"notifications": {WANTED: True}})
            await client.note("notifications/subscriptions/acknowledged")
        yield client


def exceeded(record: dict[str, Any]) -> bool:
    """Whether a server is started no more, as it was too often."""
    of, detail = record["target"]["server_id"], record["details"].get("detail")
    return (of, detail) == ("broken", "restart_limit_exceeded")


async def until(client: Host, ident: str, state: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while (found := await state_of(client, ident))["status"] != state:
            assert found["status"] in STATES
            await asyncio.sleep(0.02)
    return found


async def pending(client: Host, ident: str, count: int) -> None:
    async with asyncio.timeout(30):
        asked = {"server_id": ident}
        while (await client.request("mgp/health/status", asked))["pending_requests"] < count:
            await asyncio.sleep(0.02)


async def test_a_life_from_the_first_start_to_the_last_end(place: tuple[str, Gateway]) -> None:
    """MGP-6.4-8, MGP-6.4-9, MGP-11.2-1, MGP-11.2-2, MGP-11.2-5, MGP-11.2-7, MGP-11.4-1, MGP-11.4-2, MGP-11.4-4, MGP-14.3-8."""
    async with told(place, "drained") as client:
        await until(client, "drained", "connected")
        call = {"name": "drained__slow", "arguments": {"seconds": 1}}
        slow = await client.start("tools/call", call)
        await pending(client, "drained", 1)
        assert await refused(shut_down(client, "drained", "boredom")) == -32602
        said = await shut_down(client, "drained", "resource_limit")
        assert (said["accepted"], said["pending_requests"]) == (True, 1)
        assert 0 < said["estimated_drain_ms"] <= 20_000
        assert (await state_of(client, "drained"))["status"] == "draining"
        assert await refused(client.call("drained__pid")) == 2001
        assert (await client.finish(slow))["content"][0]["text"] == "done"
        found = await steps(client, "drained", "disconnected")
        assert states(found)[-3:] == ["connected", "draining", "disconnected"]
        assert {one["reason"] for one in found[-2:]} == {"resource_limit"}
        assert (await state_of(client, "drained"))["status"] == "disconnected"
        assert (
            await client.text("drained__pid")
        ).isdigit()  # on_failure: the next call brings it back
        assert states(await steps(client, "drained", "connected"))[-2:] == ["restarting", "connected"]  # fmt: skip
        came = behind(client, place[1]).audit("--event", "SERVER_CONNECTED")
        went = behind(client, place[1]).audit("--event", "SERVER_DISCONNECTED")
    assert [one["target"]["server_id"] for one in came].count("drained") == 2
    assert [one["target"]["server_id"] for one in went].count("drained") == 1


async def test_what_hangs_is_answered_with_3003_when_the_time_is_over(
    place: tuple[str, Gateway],
) -> None:
    """MGP-11.4-3"""
    async with told(place, "hung") as client:
        await until(client, "hung", "connected")
        call = {"name": "hung__slow", "arguments": {"seconds": 60}}
        slow = await client.start("tools/call", call)
        await pending(client, "hung", 1)
        began = time.monotonic()
        await shut_down(client, "hung", timeout_ms=500)
        assert await refused(client.finish(slow)) == 3003
        assert 0.45 <= time.monotonic() - began <= 1.5
        await steps(client, "hung", "disconnected")
        assert time.monotonic() - began <= 2.5


async def test_one_that_always_runs_is_back_after_its_drain(place: tuple[str, Gateway]) -> None:
    """MGP-11.2-6"""
    async with told(place, "again") as client:
        await until(client, "again", "connected")
        before = await client.text("again__pid")
        await shut_down(client, "again", "configuration_change")
        found = await steps(client, "again", "restarting")
        assert states(found)[-3:] == ["connected", "draining", "restarting"]
        found = await steps(client, "again", "connected")
        assert states(found) == ["restarting", "connected"]
        assert await client.text("again__pid") != before


async def test_a_call_in_the_pause_before_a_restart_is_2002(place: tuple[str, Gateway]) -> None:
    """MGP-11.2-8 and MGP-14.3-9"""
    async with told(place, "pausing") as client:
        async with asyncio.timeout(90):
            while True:  # it pauses once it has ended twice within seconds of its start
                with pytest.raises(RpcError) as caught:
                    await client.call("pausing__leave", status=3)
                if caught.value.code == 2002:
                    break
                assert caught.value.code == 5002
                await asyncio.sleep(0.05)
        assert (await state_of(client, "pausing"))["status"] == "restarting"
        assert PAUSE_MS / 2 < caught.value.data["_mgp"]["retry_after_ms"] <= PAUSE_MS


async def test_a_start_that_failed_is_an_error_until_it_is_mended(
    place: tuple[str, Gateway],
) -> None:
    """MGP-11.2-3, MGP-11.2-4, MGP-11.5-6 and MGP-11.5-7."""
    async with told(place, "broken") as client:
        async with asyncio.timeout(30):
            while not any(map(exceeded, behind(client, place[1]).audit("--event", "SERVER_DISCONNECTED"))):  # fmt: skip
                await asyncio.sleep(0.1)
        await until(client, "broken", "error")
        assert await refused(client.call("broken__pid")) in (4001, 5002)
        (place[1].folder / "mended").touch()
        async with asyncio.timeout(30):
            while True:  # once the window is over the next call tries it again
                try:
                    assert (await client.text("broken__pid")).isdigit()
                    break
                except RpcError:
                    await asyncio.sleep(0.2)
        told_of = states(await steps(client, "broken", "connected"))
        assert told_of[-3:] == ["error", "restarting", "connected"]


async def test_each_policy_is_told_as_what_it_is(place: tuple[str, Gateway]) -> None:
    """MGP-11.5-1, MGP-11.5-2 and MGP-11.5-3"""
    async with told(place, *ENDS) as client:
        for name, (_, status, expected) in ENDS.items():
            await until(client, name, "connected")
            await client.text(f"{name}__pid")
            client.notes = [one for one in client.notes if one["method"] != LIFECYCLE]
            with pytest.raises(RpcError):
                await client.call(f"{name}__leave", status=status)
            assert states(await steps(client, name, expected[-1])) == expected


async def test_health_is_asked_of_who_knows_it_and_of_who_does_not(
    place: tuple[str, Gateway],
) -> None:
    """MGP-11.3-5 and MGP-11.3-6: also with names in it that nobody knows."""
    async with told(place, "odd", "again") as client:
        await until(client, "odd", "connected")
        await until(client, "again", "connected")
        odd = await client.request("mgp/health/status", {"server_id": "odd"})
        assert (odd["status"], odd["uptime_secs"]) == ("healthy", 77)
        assert odd["resources"] == {"gpu_fans": 3}
        assert odd["checks"]["moon_is_up"] is False
        plain = await client.request("mgp/health/ping", {"server_id": "again"})
        assert (plain["status"], plain["server_id"]) == ("healthy", "again")
        assert "ping" in json.loads(await client.text("again__requests"))


async def test_an_idle_server_goes_and_comes_back(place: tuple[str, Gateway]) -> None:
    """MGP-11.4-5"""
    async with told(place, "idle") as client:
        before = await client.text("idle__pid")
        client.notes = [one for one in client.notes if one["method"] != LIFECYCLE]
        found = await steps(client, "idle", "disconnected")
        assert states(found)[-3:] == ["connected", "draining", "disconnected"]
        assert {one["reason"] for one in found[-2:]} == {"idle_timeout"}
        assert await client.text("idle__pid") != before


async def test_a_call_that_has_waited_for_a_first_start_is_2000(tmp_path: Path) -> None:
    """MGP-11.2-8: at all doors at once, since each waits for ten seconds."""
    late = server("bad", "late", "hang", connect_timeout_s=60, era="legacy")
    with running(tmp_path, config(late)) as gateway:
        async with AsyncExitStack() as stack:
            found = [await stack.enter_async_context(host(gateway, one, can=OFFER)) for one in EVERY]  # fmt: skip
            waits = (refused(one.request("tools/call", {"name": "late__x", "arguments": {}})) for one in found)  # fmt: skip
            assert await asyncio.gather(*waits) == [2000] * len(EVERY)
