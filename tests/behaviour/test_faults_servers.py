"""Tool servers on pipes that crash, hang, flood or do not end (fault tests 8 and 9): each ends as it is written, and nobody else notices.

What was measured is logged (`--log-cli-level=INFO` shows it). What calls of others took is bounded nowhere, as that is of the machine and of
whoever else is busy on it. How often the gateway says that its loop stood still is: for as long as many calls cost there, and not because
it waited for a processor.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processes import resident_bytes
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_mgp_lifecycle import OFFER, operator, shut_down, state_of

pytestmark = [pytest.mark.timeout(240)]

log = logging.getLogger(__name__)

MIB = 1024 * 1024
CALLS = 100
MOST_GROWTH = 32 * MIB
STOOD = "the event loop stood still"
SELDOM_S = 4.0
"""It says so once a second where it stands still with each crash; a start that waits for a busy machine is one by itself."""
LIMIT_S = 1.0
POURS_S = 3.0
POLICY = {"extensions": [], "max_restarts": 5, "backoff_base_ms": 50, "backoff_max_ms": 200}
CRASHES = ("exit-at-start", "exit-after-hello", "exit-in-call", "half-frame", "closes-stdout")


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


async def times_ms(client: Host, on: Callable[[int], bool]) -> list[float]:
    """What calls to a server that is well took, as long as there is reason to go on; each with its own answer."""
    found: list[float] = []
    for number in itertools.count():
        if not on(number):
            return found
        began = time.perf_counter()
        assert await client.text("echo__echo", message=f"n{number}") == f"n{number}"
        found.append((time.perf_counter() - began) * 1e3)
    raise AssertionError


def p99(found: list[float]) -> float:
    return statistics.quantiles(found, n=100)[98]


def spent_ms(gateway: Gateway) -> float:
    """How long the gateway's loop has been on a processor so far."""
    said = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/schedstat").read_text(encoding="ascii")
    return int(said.split()[0]) / 1e6


async def test_five_servers_that_crash_at_once_end_in_error_and_cost_nobody_a_call(
    tmp_path: Path,
) -> None:
    """Fault test 8: at the start, after the hello, in a call, after half a frame, and by closing its output."""
    crashing = [server("bad", mode, mode, mgp=POLICY) for mode in CRASHES]
    with running(tmp_path, config(server("echo")), own_children=True) as gateway:
        async with host(gateway, can=OFFER) as client, operator(gateway) as chief:
            spent = spent_ms(gateway)
            before = await times_ms(client, lambda number: number < CALLS)
            long_ms = 2 * int(spent_ms(gateway) - spent) + 1
            told = config(server("echo"), *crashing, limits={"stall_ms": long_ms})
            began, lines = time.monotonic(), len(gateway.said())
            await asyncio.to_thread(gateway.reload, told)
            downs = [asyncio.create_task(down(chief, mode)) for mode in CRASHES]
            during = await times_ms(client, lambda _: not all(one.done() for one in downs))
            for one in downs:
                await one
            stood = [line for line in gateway.said()[lines:] if STOOD in line]
            took_s = time.monotonic() - began
        limits = gateway.audit("--event", "SERVER_DISCONNECTED")
        assert not any(map(is_zombie, gateway.children()))
    reached = {one["target"]["server_id"] for one in limits if one["details"].get("detail") == "restart_limit_exceeded"}  # fmt: skip
    assert reached == set(CRASHES)
    log.info(f"p99 of others: {p99(before):.2f} ms before, {p99(during):.2f} ms while five crash, median {statistics.median(before):.2f} and {statistics.median(during):.2f} ms, {len(during)} calls, none lost; in {took_s:.1f} s the loop stood still for {long_ms} ms: {stood}")  # fmt: skip
    assert len(stood) <= 1 + took_s / SELDOM_S, stood


async def down(chief: Host, mode: str) -> None:
    """Call a server until it is not started again."""
    async with asyncio.timeout(120):
        while True:
            found = await state_of(chief, mode)
            if found["status"] == "error" and "restarts in" in found.get("reason", ""):
                return
            if mode in ("exit-in-call", "half-frame"):
                with pytest.raises(RpcError) as caught:
                    await chief.call(f"{mode}__echo", message="x")
                assert caught.value.code in (2002, 4001, 5002), caught.value
            await asyncio.sleep(0.02)


class Memory:
    """How much more memory than at first a process had at most."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._first = resident_bytes(pid)
        self.growth = 0

    async def watch(self) -> None:
        while True:
            self.growth = max(self.growth, resident_bytes(self._pid) - self._first)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("mode", ["flood", "long-line"])
async def test_what_a_server_pours_out_is_not_kept(tmp_path: Path, mode: str) -> None:
    """Fault test 9: messages without end, and a gibibyte without the end of a line."""
    pouring = server("bad", "bad", mode, "--bytes", str(1024 * MIB), "--seconds", "60", mgp=POLICY)
    with running(tmp_path, config(server("echo")), own_children=True) as gateway:
        async with host(gateway, can=OFFER) as client:
            before = await times_ms(client, lambda number: number < CALLS)
            memory = Memory(gateway.pid)
            watch = asyncio.create_task(memory.watch())
            await asyncio.to_thread(gateway.reload, config(server("echo"), pouring))
            poured = asyncio.create_task(asyncio.sleep(POURS_S) if mode == "flood" else cut(client))
            during = await times_ms(client, lambda number: number < 2 or not poured.done())
            await poured
            watch.cancel()
    log.info(f"{mode}: {memory.growth / MIB:.1f} MiB more at most; p99 of others {p99(before):.2f} ms before, {p99(during):.2f} ms meanwhile")  # fmt: skip
    assert memory.growth <= MOST_GROWTH


async def cut(client: Host) -> None:
    """Call a server whose answer has no end, as soon as it is listed."""
    async with asyncio.timeout(30):
        while "bad__echo" not in await client.tools():
            await asyncio.sleep(0.05)
        with pytest.raises(RpcError) as caught:
            await client.call("bad__echo", message="x")
        assert caught.value.code == 5002


async def test_a_call_that_hangs_ends_in_time_and_who_does_not_end_is_killed(
    tmp_path: Path,
) -> None:
    """Fault test 9: within 200 ms of its time limit; five seconds after the end of its input SIGTERM, and five later SIGKILL."""
    silent = server("bad", "silent", "silent-call", call_timeout_s=LIMIT_S)
    stubborn = server("bad", "stubborn", "ignore-sigterm", "--seconds", "120")
    with running(tmp_path, config(server("echo"), silent, stubborn), own_children=True) as gateway:
        async with operator(gateway) as chief:
            assert await chief.text("stubborn__echo", message="x") == "x"
            pids = set(gateway.children())
            began = time.monotonic()
            await shut_down(chief, "stubborn")
            took: list[float] = []
            for _ in range(3):
                asked = time.monotonic()
                with pytest.raises(RpcError) as caught:
                    await chief.call("silent__echo", message="x")
                took.append(time.monotonic() - asked)
                assert caught.value.code in (3003, 5001), json.dumps(caught.value.data)
            async with asyncio.timeout(30):
                while len(pids & set(gateway.children())) == len(pids):
                    await asyncio.sleep(0.02)
            killed = time.monotonic() - began
            assert await chief.text("echo__echo", message="on") == "on"
        assert not any(map(is_zombie, gateway.children()))
    log.info(
        f"a limit of {LIMIT_S} s: {[round(one, 3) for one in took]}; killed after {killed:.1f} s"
    )
    assert all(one >= LIMIT_S - 0.2 for one in took)
    assert min(took) <= LIMIT_S + 0.2
    assert 9.5 <= killed <= 13.0
