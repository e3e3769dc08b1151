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
from gatewright.servers.listener import Listener
from gatewright.servers.notifications import AUDIT, UPDATED, ServerNotifications
from gatewright.servers.server_life import LIFECYCLE
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
    every = [f"s{at}" for at in range(MANY)]
    return ServerNotifications(
        lambda *_: True, names=lambda *_: ["x://a"], holding=lambda *_: [*every, "late"]
    )


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
    late, _ = _one(hub, session="late")
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
    assert [one.message[-2:].strip() for one in caplog.records] == ["1", "10"]


@pytest.mark.parametrize("more", [{}, {"_meta": {"x": 1}}])
async def test_each_resource_that_changed_is_told_to_all_who_hold_it_however_many_there_are(
    hub: ServerNotifications, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(hub._line, "_most", 50_000)
    monkeypatch.setattr(hub, "_names", lambda one, server, uri: [uri])
    every = _many(hub)
    for n in range(300):
        hub.tell("s", "notifications/message", {"data": n})
        hub.tell("s", UPDATED, {"uri": f"x://{n}", **more})
    await _told(hub)
    for one in every:
        uris = [params["uri"] for _, method, params in one if method == UPDATED]
        assert uris == [f"x://{n}" for n in range(300)]
        assert len(one) < 300 + 10


async def test_a_resource_that_changed_costs_nothing_for_all_who_do_not_hold_it() -> None:
    counts, held = [], {"x://held": ["s1"]}
    for number in (5, 200):
        hub = ServerNotifications(
            lambda *_: True,
            names=lambda one, _, uri: [uri] if one.session in held.get(uri, ()) else [],
            holding=lambda _, uri: held.get(uri, ()),
        )
        every = _many(hub, number)

        def tell(hub: ServerNotifications = hub) -> None:
            for uri in ("x://held", "x://unheld"):
                hub.tell("s", UPDATED, {"uri": uri})

        counts.append(lines_run(notifications, tell))
        assert [len(one) for one in every] == [0, 1, *[0] * (number - 2)]
    assert counts[0] == counts[1]


async def test_one_caller_with_many_sessions_keeps_nobody_from_hearing_of_what_is_recorded(
    hub: ServerNotifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub._line, "_most", 50_000)
    monkeypatch.setattr(hub._records, "_most", 50_000)
    _many(hub, audit=True)
    boss, _ = _one(hub, OLGA, audit=True)
    bob, _ = _one(hub, BOB, audit=True)
    strangers = [_one(hub, ANONYMOUS, session=name, audit=True)[0] for name in ("n1", "n2")]
    for n in range(60):
        hub.tell_audit({"n": n}, lambda *_: True, {ANN.who}, actor=ANN.who)
        if n % 10 == 0:
            hub.tell_audit({"bobs": n}, lambda *_: True, {BOB.who}, actor=BOB.who)
            hub.tell_audit({}, lambda *_: True, {ANONYMOUS.who}, "n1", actor=ANONYMOUS.who)
    await _told(hub)
    assert len(boss) == 60 + 6 + 6
    assert [len(one) for one in (bob, *strangers)] == [6, 6, 0]


async def test_of_what_many_operators_cannot_be_told_that_of_others_is_none(
    hub: ServerNotifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub._records, "_most", 50_000)
    every = _many(hub, caller=OLGA, audit=True)
    for n in range(60):
        hub.tell_audit({"n": n}, lambda *_: True, {ANN.who}, actor=ANN.who)
    hub.tell_audit({"bobs": 1}, lambda *_: True, {BOB.who}, actor=BOB.who)
    while not hub._records.idle:
        await asyncio.sleep(0)
    assert all(one[-1][2] == {"bobs": 1} and len(one) < 10 for one in every)


async def test_a_loud_server_silences_neither_what_is_said_of_it_nor_whose_task_it_is(
    hub: ServerNotifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub._line, "_most", 50_000)
    every = _many(hub)
    bob, _ = _one(hub, BOB, session="bobs", door="http")
    for n in range(50):
        hub.tell("s", "notifications/message", {"data": n})
    hub.tell("s", LIFECYCLE, {"new_state": "error"})
    owner = (*BOB.who, place_of(BOB, "http", "", "bobs"))
    hub.tell("s", "notifications/tasks/status", {}, owner=owner)
    hub.tell("s", UPDATED, {"uri": "x://a", "title": "A"}, session="bobs")
    await _told(hub)
    assert all(one[-1][1] == LIFECYCLE and len(one) < 10 for one in every)
    assert [said[1] for said in bob[-3:]] == [LIFECYCLE, "notifications/tasks/status", UPDATED]


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
