"""Crowds of clients that are slow, leave all at once, or never read (fault tests 15 to 17, scaled): they end, and nobody else notices.

`python -m benchmarks.crowds` has the crowds of full size, and the times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.crowds import OF_OTHERS, files, leaving, silent, slow
from benchmarks.good_client import Crowd, House
from tests.behaviour.gateway import Gateway, config, running, server

pytestmark = pytest.mark.timeout(300)

ALONE_S = 0.5
SLOW, LEAVING, SILENT = 201, 500, 50


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with running(tmp_path, config(server("echo"))) as one:
        yield one


def house(gateway: Gateway) -> House:
    return House(gateway.url, gateway.pid, "echo__echo", "message", gateway.folder / "gateway.log")


def fared_well(found: Crowd) -> bool:
    """Whether every call of the good client brought its own answer."""
    return not found.lost and len(found.crowded_ms) > 10


async def test_who_sends_a_byte_a_second_is_cut_off_and_nobody_else_notices(
    gateway: Gateway,
) -> None:
    found = await slow(house(gateway), SLOW, ALONE_S)
    assert found.left == 0
    assert {kind: len(cut) for kind, cut in found.cut_s.items()} == {
        "header": SLOW // 3,
        "body": SLOW // 3,
        "frame": SLOW // 3,
    }
    assert max(found.cut_s["header"]) < min(found.cut_s["body"])
    assert fared_well(found), found.lost


async def test_who_leaves_all_at_once_leaves_nothing_and_may_come_again(gateway: Gateway) -> None:
    found = await leaving(house(gateway), LEAVING, ALONE_S)
    assert (found.connected, found.again) == (LEAVING, LEAVING)
    assert found.more_descriptors == 0
    assert found.log_lines < 100
    assert fared_well(found), found.lost


async def test_who_never_reads_is_cut_off_before_much_waits_for_it(gateway: Gateway) -> None:
    before = files(gateway.pid)
    found = await silent(house(gateway), SILENT, ALONE_S)
    assert (found.cut, found.left) == (SILENT, 0)
    assert fared_well(found), found.lost
    async with asyncio.timeout(60):
        while files(gateway.pid) > before + OF_OTHERS:
            await asyncio.sleep(0.05)
