"""Thousands who listen: each hears what was said first before what was said next, others have their turns, and nothing grows without bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from gatewright.call import ANONYMOUS, Caller
from gatewright.mcp.wire import jsonrpc
from gatewright.servers import notifications
from gatewright.servers.notifications import AUDIT, UPDATED, Listener, ServerNotifications
from gatewright.servers.task_owners import place_of
from gatewright.transport import slices
from gatewright.transport.slices import in_slices
from tests.costs import lines_run

ANN, BOB, OLGA = Caller("ann"), Caller("bob"), Caller("olga", "operator")
MANY = 200
TOOLS = "notifications/tools/list_changed"
Heard = list[tuple[str, str, Any]]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> ServerNotifications:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    return ServerNotifications(lambda *_: True, names=lambda *_: ["x://a"])


def _one(
    hub: ServerNotifications, caller: Caller = ANN, **more: Any
) -> tuple[Heard, Callable[[], None]]:
    heard: Heard = []
    profile, session = more.pop("profile", ""), more.pop("session", None)
    take = lambda *said: heard.append(said)  # noqa: E731
    return heard, hub.watch(Listener(caller, profile, session, take, **more))


def _many(hub: ServerNotifications, number: int = MANY, **more: Any) -> list[Heard]:
    return [_one(hub, session=f"s{at}", **more)[0] for at in range(number)]


async def _told(hub: ServerNotifications) -> int:
    turns = 0
    while not hub._line.idle:
        await asyncio.sleep(0)
        turns += 1
    return turns


@pytest.mark.parametrize("method", ["notifications/message", TOOLS, UPDATED])
async def test_many_are_told_in_slices_and_each_in_order(
    hub: ServerNotifications, method: str
) -> None:
    every = _many(hub)
    params = {"uri": "x://a"} if method == UPDATED else {}
    hub.tell("s", method, params)
    hub.tell("s", "notifications/x", {"n": 1})
    hub.tell_audience(ANN, "", ["notifications/y"])
    assert sum(map(len, every)) == slices.AT_ONCE
    assert await _told(hub) >= 3 * MANY / slices.AT_ONCE - 1
    assert all(
        [said[1] for said in one] == [method, "notifications/x", "notifications/y"] for one in every
    )


async def test_a_large_text_is_made_once_for_all(hub: ServerNotifications) -> None:
    every, data = _many(hub), {"text": "x" * 60_000}
    hub.tell("s", "notifications/message", {"level": "info", "data": data})
    await _told(hub)
    first = every[0][0][2]
    assert isinstance(first["data"], msgspec.Raw)
    assert all(one[0][2]["data"] is first["data"] for one in every)
    assert jsonrpc.decode(jsonrpc.encode(first)) == {"level": "info", "data": data}


@pytest.mark.parametrize(("method", "params"), [(TOOLS, {}), (UPDATED, {"uri": "x://a"})])
async def test_a_change_that_nobody_was_told_of_yet_is_told_once_to_all_who_are_there_by_then(
    hub: ServerNotifications, method: str, params: dict[str, Any]
) -> None:
    every = _many(hub)
    for _ in range(5):
        hub.tell("s", method, params)
    late, _ = _one(hub)
    hub.tell("s", method, params)
    hub.tell("other", method, params)
    await _told(hub)
    assert [len(one) for one in every] == [3] * MANY  # one was begun at once, one waited
    assert len(late) == 2


async def test_rights_are_asked_about_again_in_each_turn(hub: ServerNotifications) -> None:
    sees = [True]
    hub._may_see = lambda *_: sees[0]
    every = _many(hub)
    hub.tell("s", TOOLS, {})
    sees[0] = False
    await _told(hub)
    assert sum(map(len, every)) == slices.AT_ONCE


async def test_who_has_left_meanwhile_is_told_nothing(hub: ServerNotifications) -> None:
    _many(hub)
    heard, end = _one(hub)
    hub.tell("s", "notifications/x", {})
    end()
    await _told(hub)
    assert heard == []


async def test_of_what_a_server_says_without_end_the_rest_is_left_out_and_no_change_of_lists_is(
    hub: ServerNotifications, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub._line, "_most", MANY * 600 * 2)
    every = _many(hub)
    for n in range(50):
        hub.tell("loud", UPDATED, {"uri": f"x://{n}"})
        hub.tell("loud", "notifications/message", {"data": n})
    hub.tell("loud", TOOLS, {})
    hub.tell_audience(ANN, "", ["notifications/y"])
    hub.tell("quiet", "notifications/message", {})
    await _told(hub)
    assert all(3 + 1 <= len(one) <= 3 + 5 for one in every)
    assert all(
        [said[1] for said in one[-3:]] == [TOOLS, "notifications/y", "notifications/message"]
        for one in every
    )
    assert caplog.text.count("some is left out") == 1


async def test_what_is_recorded_of_one_costs_nothing_for_all_the_others_who_want_it(
    hub: ServerNotifications,
) -> None:
    def may(caller: Caller, session: str | None) -> bool:
        return caller in (ANN, OLGA) or session == "s1"

    counts = []
    for number in (5, 200):
        hub = ServerNotifications(lambda *_: True)
        _many(hub, number, caller=ANONYMOUS, audit=True)
        mine, _ = _one(hub, ANN, audit=True)
        boss, _ = _one(hub, OLGA, audit=True)
        tell = partial(hub.tell_audit, {}, may, {ANN.who}, "s1")
        counts.append(lines_run(notifications, tell))
        assert mine == boss == [("", AUDIT, {})]
        hub.tell_audit({}, may)
        await _told(hub)
        assert len(mine) == 2
    assert counts[0] == counts[1]


async def test_what_is_one_callers_or_one_sessions_costs_nothing_for_all_the_others(
    hub: ServerNotifications,
) -> None:
    counts = []
    for number in (5, 200):
        hub = ServerNotifications(lambda *_: True)
        _many(hub, number)
        bob, _ = _one(hub, BOB, session="bobs", door="http")
        owner = (*BOB.who, place_of(BOB, "http", "", "bobs"))

        def tell(hub: ServerNotifications = hub, owner: Any = owner) -> None:
            hub.tell("s", "notifications/tasks/status", {}, owner=owner)
            hub.tell("s", "notifications/x", {}, session="bobs")
            hub.tell_audience(BOB, "", ["notifications/y"])

        counts.append(lines_run(notifications, tell))
        assert len(bob) == 3
    assert counts[0] == counts[1]


async def test_as_whom_all_are_shown_things_is_asked_in_slices(hub: ServerNotifications) -> None:
    narrow = Caller("ann", key_id="k")
    for _ in range(MANY):
        _one(hub, ANN, still=lambda: narrow)
    asked = asyncio.ensure_future(in_slices(hub.renewed()))
    turns = 0
    while not asked.done():
        await asyncio.sleep(0)
        turns += 1
    assert (asked.result(), hub.audience()) == ([(ANN, narrow, "")], [(narrow, "")])
    assert turns >= MANY
