"""What modern clients listen for, and on which stream each thing stands, scene by scene; and that the judge sees what stands elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from gatewright.mcp.server.open_call import HANDLE
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import Asked
from tests.behaviour.two_sided_scene import defended, inside, main_end, played, work_of
from tests.behaviour.two_sided_streaming import (
    asks,
    cancels,
    sends,
    streams,
    subscribes,
    takes_up,
    tells,
    unsubscribes,
)

# -- calls without a session


def test_a_call_without_a_session_is_cancelled_by_what_its_caller_alone_was_told(
    tmp_path: Path,
) -> None:
    async def act(house: House) -> None:
        kim = house.clients["kim"]
        every = []
        for _ in range(2):
            asked = streams(house, "kim", "imp")
            await house.rest()
            every.append(work_of(house, asked))
        first, second = kim.mgp.handles  # told at once, before any chunk
        assert first != second
        end, one = every[0]
        for other in ("jon", "gus", "ida", "lou"):  # `jon` is the same caller, at another endpoint
            await cancels(house, other, first)
        for guess in (1, "1", "x", one.mark):
            await cancels(house, "kim", guess)
        assert end.stopped == set()
        tells(*every[0])
        await house.rest()
        await cancels(house, "kim", first)
        assert end.stopped == {one.ident}
        tells(*every[1])
        await house.rest()
        assert house.heard["client notifications/mgp.stream.chunk"] == 2

    played(tmp_path, act)


# -- events


def test_what_a_request_to_listen_subscribed_to_ends_with_it(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("jon", "kim"):
            assert await subscribes(house, name, ["tool.*"])
        odd = main_end(house, "odd")
        await sends(house, odd, "s1", "tool.flood")
        assert sorted(house.heard_events) == [("jon", 0), ("kim", 0)]
        house.clients["kim"].cancel(0)
        await house.rest()
        await sends(house, odd, "s1", "tool.flood")
        assert ("kim", 1) not in house.heard_events
        assert ("jon", 1) in house.heard_events

    played(tmp_path, act)


def test_a_listeners_subscription_is_its_callers_alone(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        ident = await defended(house, "jon", "gus", "ida")
        await sends(house, main_end(house, "odd"), "s1", "tool.flood")
        assert list(house.heard_events) == [("jon", 0)]
        await takes_up(house, "kim", ident, 0)  # the same caller, which hears it there from now on
        await sends(house, main_end(house, "odd"), "s1", "tool.flood")
        assert list(house.heard_events) == [("jon", 0), ("kim", 0), ("kim", 1)]
        await unsubscribes(house, "jon", ident)
        await sends(house, main_end(house, "odd"), "s1", "tool.flood")
        assert ("kim", 2) not in house.heard_events

    played(tmp_path, act)


@pytest.mark.parametrize("name", ["jon", "kim"])
def test_transitions_and_records_are_told_to_who_listens_for_them(
    tmp_path: Path, name: str
) -> None:
    async def act(house: House) -> None:
        for wanted in ({AUDIT_WANTED: True}, {LIFECYCLE_WANTED: True}, {"toolsListChanged": True}):
            asks(house, name, "subscriptions/listen", {"notifications": wanted})
        await house.rest()
        streams(house, name, "odd")
        await house.rest()
        await house.dies("odd")
        for what in ("audit", "lifecycle"):
            assert house.heard[f"client notifications/mgp.{what}"] > 0

    played(tmp_path, act)


# -- the judge

_NOTE: dict[str, Any] = {"method": "notifications/tools/list_changed"}
FORGED: dict[str, tuple[dict[str, Any], int | None]] = {
    "was answered on the stream of another": ({"id": 9, "result": {}}, 3),
    "heard of a call on the stream of another": (
        {"method": "notifications/mgp.stream.chunk", "params": {"request_id": 9}},
        3,
    ),
    "no request of its own asked for": ({**_NOTE, "params": {}}, 3),
    "what another listens for": ({**_NOTE, "params": {"_meta": {META_SUBSCRIPTION: 3}}}, 4),
    "was told what it was not granted": (
        {**_NOTE, "params": {"_meta": {META_SUBSCRIPTION: 3}}},
        3,
    ),
    "was told what it was not granted ": (
        {
            "method": "notifications/resources/updated",
            "params": {"uri": "b://r", "_meta": {META_SUBSCRIPTION: 3}},
        },
        3,
    ),
    "was told what it was not granted  ": (
        {
            "method": "notifications/mgp.event",
            "params": {"subscription_id": "s2", "_meta": {META_SUBSCRIPTION: 3}},
        },
        3,
    ),
    "granted what it did not ask for": (
        {
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "notifications": {"promptsListChanged": True},
                "_meta": {META_SUBSCRIPTION: 4},
            },
        },
        4,
    ),
    "by what another call is cancelled": (
        {"method": "notifications/progress", "params": {"_meta": {HANDLE: "h"}}},
        9,
    ),
}


def test_what_stands_on_another_stream_or_was_not_granted_is_a_fault(tmp_path: Path) -> None:
    missed: list[str] = []

    async def forge(house: House) -> None:
        kim = house.clients["kim"]
        asked = Asked("kim-9", "subscriptions/listen", frozenset(), may=True)
        asked.params = {"notifications": {"toolsListChanged": True}}
        kim.open |= dict.fromkeys((3, 4, 9), asked)
        granted = {"resourceSubscriptions": ["a://r"], EVENTS_WANTED: {"subscription_id": "s1"}}
        kim.acks[3] = granted
        house.cancelled_by["h"] = "kim", kim.times, 3
        for fault, (said, stream) in FORGED.items():
            house.faults.clear()
            house.judge_client(kim, said, stream)
            if not any(fault.strip() in one for one in house.faults):
                missed.append(fault)
        house.faults.clear()
        kim.open.clear()

    assert inside(tmp_path, forge).faults == []
    assert missed == []
