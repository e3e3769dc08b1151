"""Restart policies (MGP §11.5) from outside: which end is followed by a start, how soon, how often, and what is recorded."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import RpcError, host
from tests.behaviour.test_mgp_lifecycle import (
    OFFER,
    POLICY,
    living,
    operator,
    state_of,
    states,
    steps,
)

CRASHES = {"extensions": [], "max_restarts": 5, "backoff_base_ms": 100, "backoff_max_ms": 400}


async def leaves(client: Any, status: int) -> None:
    with pytest.raises(RpcError):
        await client.call("s__leave", status=status)


@pytest.mark.parametrize(
    ("policy", "status", "expected"),
    [
        ("never", 3, ["connected", "disconnected", "error"]),
        ("on_failure", 3, ["connected", "disconnected", "restarting", "connected"]),
        ("on_failure", 0, ["connected", "disconnected"]),
        ("always", 0, ["connected", "disconnected", "restarting", "connected"]),
        ("always", 3, ["connected", "disconnected", "restarting", "connected"]),
    ],
)
async def test_each_policy_restarts_after_its_ends_and_no_others(
    tmp_path: Path, policy: str, status: int, expected: list[str]
) -> None:
    """MGP-11.5-1, MGP-11.5-2 and MGP-11.5-3"""
    content = config(living("s", **POLICY, restart_policy=policy))
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            await leaves(client, status)
            assert states(await steps(client, "s", expected[-1])) == expected
            await asyncio.sleep(0.5)
            # It stays as it is: nobody has called it since.
            assert (await state_of(client, "s"))["status"] == expected[-1]


async def test_what_is_not_configured_is_as_the_specification_says(tmp_path: Path) -> None:
    """MGP-11.5-4"""
    with running(tmp_path, config(living("s", extensions=[]))) as gateway:
        shown = json.loads(gateway.cli("config", "show", "--json"))
        for key, value in {
            "max_restarts": 5,
            "restart_window_secs": 300,
            "backoff_base_ms": 1000,
            "backoff_max_ms": 30000,
        }.items():
            assert shown[f"servers.s.restart.{key}"]["value"] == value


async def test_a_crash_loop_is_retried_ever_more_rarely_and_then_not_at_all(
    tmp_path: Path,
) -> None:
    """MGP-11.5-5, MGP-11.5-6, MGP-11.5-7, MGP-6.4-9 and fault test 8: the first at once, then the base doubled up to the most."""
    times = tmp_path / "times"
    # Of a server whose era is not known, each attempt is two: the second asks the old way only.
    crashing = {**living("s", "--log", str(times), "--exit", "3", **CRASHES), "era": "legacy"}
    with running(tmp_path, config(crashing, living("other"))) as gateway:
        async with operator(gateway) as client:
            async with asyncio.timeout(20):
                while (found := await state_of(client, "s"))["status"] != "error" or (
                    "restarts in" not in found.get("reason", "")
                ):
                    await asyncio.sleep(0.05)
            assert await client.text("other__pid")
            with pytest.raises(RpcError) as caught:
                await client.call("s__pid")
            assert caught.value.code in (4001, -32602, 5002)
        started = [float(line) for line in times.read_text().split()]
        assert len(started) == 6  # once, and five restarts
        gaps = [after - before for before, after in itertools.pairwise(started)]
        for gap, least in zip(gaps[1:], (0.1, 0.2, 0.4, 0.4), strict=True):
            assert gap >= least * 0.9
        events = gateway.audit("--event", "SERVER_DISCONNECTED")
        details = [one["details"].get("detail") for one in events]
        assert details == ["restart_limit_exceeded"]
        before = len(times.read_text().split())
        await asyncio.sleep(0.6)
        assert len(times.read_text().split()) == before


async def test_one_that_crashes_after_its_hello_reaches_the_limit_too(tmp_path: Path) -> None:
    """MGP-11.5-6: each end is told, and the last is an error that is no more left."""
    crashing = server("bad", "s", "exit-after-hello", mgp={**POLICY, "max_restarts": 2})
    with running(tmp_path, config(crashing)) as gateway:
        async with operator(gateway) as client:
            async with asyncio.timeout(20):
                while (await state_of(client, "s"))["status"] != "error":
                    await asyncio.sleep(0.05)
        found = gateway.audit("--event", "SERVER_DISCONNECTED")
        assert "restart_limit_exceeded" in [one["details"].get("detail") for one in found]
