"""When it is known who may have asked, and when no wait will tell."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.mcp.client.held_request import CROWD, TOLD, HeldQuestion


def held(live: str, ghosts: dict[int | str, str]) -> HeldQuestion:
    calls: Any = [SimpleNamespace(party=party) for party in live]
    found = HeldQuestion(asyncio.get_running_loop(), calls)
    found.ghosts.update(ghosts)
    return found


@pytest.mark.parametrize(
    ("live", "ghosts", "settled", "hopeless"),
    [
        ("", {}, True, False),
        ("a", {}, True, False),
        ("aa", {1: "a"}, True, False),
        ("ab", {}, False, False),
        ("a", {1: "b"}, False, False),
        ("a", {CROWD: ""}, False, True),
        ("a", {f"{TOLD}a": "a"}, True, False),
        ("ab", {f"{TOLD}a": "a"}, False, False),
        ("a", {f"{TOLD}b": "b"}, False, True),
        ("ab", {f"{TOLD}a": "a", f"{TOLD}b": "b"}, False, True),
    ],
)
async def test_one_party_is_left_or_no_wait_will_leave_one(
    live: str, ghosts: dict[int | str, str], settled: bool, hopeless: bool
) -> None:
    found = held(live, ghosts)
    assert (found.settled, found.hopeless) == (settled, hopeless)


async def test_who_waits_looks_again_once_however_often_it_is_told() -> None:
    found = held("a", {})
    found.wake()
    found.wake()
    assert found.changed.done()
