"""Numbers, replay and bounds of subscriptions, and whose they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Call, Caller, Client, UserContext
from gatewright.events import subscriptions
from gatewright.events.subscription import Said, Subscription
from gatewright.events.subscriptions import (
    CALLER_MOST,
    HOLDER_MOST,
    KEPT,
    Subscriptions,
)
from gatewright.mcp.wire import jsonrpc

ANN, BOB = Caller("ann"), Caller("bob")
CALL = Call(
    id="c",
    door="http",
    kind="method",
    method="mgp/events/subscribe",
    name="",
    params={},
    caller=ANN,
    client=Client("2025-11-25"),
    trace_id="t",
    session="s1",
)


class _Listener:
    def __init__(self, caller: Caller | None) -> None:
        self.caller = caller
        self.heard: list[dict[str, Any]] = []

    def take(self, server: str, method: str, params: dict[str, Any]) -> None:
        self.heard.append(jsonrpc.decode(jsonrpc.encode(params)))  # as its client reads it

    def now(self) -> Caller | None:
        return self.caller


class _House:
    def __init__(self) -> None:
        self.listeners: dict[str, _Listener] = {"s1": _Listener(ANN)}
        self._count = 0
        self.all = Subscriptions(self.listeners.get, self._random)
        self.changes = 0
        self.over: list[str] = []
        self.all.changed = self._changed
        self.all.ended = lambda one: self.over.append(one.id)

    def _random(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")

    def _changed(self) -> None:
        self.changes += 1

    def begin(self, call: Call = CALL, *channels: str) -> Subscription:
        made = self.all.begin(call, channels or ("tool.*",), None, 0)
        self.all.accept(made, made.asked)
        self.all.catch_up(made)
        return made

    def tell(self, channel: str = "tool.completed", severity: int | None = None) -> None:
        for one in self.all.about(channel):
            self.all.tell(one, severity, lambda *_: True, lambda _: Said({"channel": channel}))


async def test_events_are_numbered_for_each() -> None:
    """MGP-13.3-1."""
    house = _House()
    one, other = house.begin(), house.begin(CALL, "tool.failed")
    house.tell()
    house.tell("tool.failed")
    told = [(each["subscription_id"], each["sequence"]) for each in house.listeners["s1"].heard]
    assert sorted(told) == [(one.id, 1), (one.id, 2), (other.id, 1)]
    assert house.all.about("security.x") == []


async def test_severity_and_rights_are_asked_each_time() -> None:
    """MGP-13.2-3."""
    house = _House()
    one = house.begin()
    one.least = 3
    house.tell(severity=2)
    house.tell(severity=3)
    house.tell(severity=None)
    assert len(house.listeners["s1"].heard) == 2
    for each in house.all.about("tool.x"):
        house.all.tell(each, None, lambda *_: False, lambda _: Said({}))
    house.listeners["s1"].caller = None
    house.tell()
    assert one.sequence == 2


async def test_nothing_is_told_before_its_caller_knows_the_id() -> None:
    house = _House()
    made = house.all.begin(CALL, ("tool.*",), None, 0)
    house.all.accept(made, made.asked)
    house.tell()
    assert house.listeners["s1"].heard == []
    house.all.catch_up(made)
    house.tell()
    assert [one["sequence"] for one in house.listeners["s1"].heard] == [1, 2]


async def test_what_has_ended_is_told_nothing_by_whoever_still_holds_it() -> None:
    """MGP-13.2-2."""
    house = _House()
    one, other = house.begin(), house.begin()
    held = tuple(house.all.about("tool.completed"))
    house.all.end(one)
    assert one not in house.all
    assert other in house.all
    for each in held:
        house.all.tell(each, None, lambda *_: True, lambda _: Said({}))
    house.all.catch_up(one)
    assert [each["subscription_id"] for each in house.listeners["s1"].heard] == [other.id]
    assert house.all._bytes == other.bytes > 0


async def test_whoever_comes_back_is_told_what_was_missed() -> None:
    house = _House()
    made = house.begin()
    house.tell()
    del house.listeners["s1"]
    house.all.left("s1")
    house.tell()
    house.tell()
    assert house.all.of(CALL, made.id) is None
    house.listeners["s2"] = _Listener(ANN)
    again = replace(CALL, session="s2")
    found = house.all.lost(again, made.id)
    assert found is made
    assert house.all.lost(replace(again, caller=BOB), made.id) is None
    assert house.all.lost(replace(again, profile="other"), made.id) is None
    house.all.take_up(found, again)
    found.since = found.sent
    assert house.all.missed(found, 1) == (2, 0)
    house.all.catch_up(found)
    assert [one["sequence"] for one in house.listeners["s2"].heard] == [2, 3]
    house.all.left("s1")  # it is heard elsewhere by now
    house.tell()
    assert len(house.listeners["s2"].heard) == 3


async def test_who_takes_it_up_is_asked_about_as_who_and_where_it_is_now() -> None:
    """A session that has ended, and a caller as it was, say nothing about what is kept from then on."""
    house, asked = _House(), list[tuple[str, str | None]]()
    made = house.begin()
    del house.listeners["s1"]
    house.all.left("s1")
    now, again = replace(ANN, key_id="k2"), replace(CALL, session="s2", door="websocket")
    house.all.take_up(made, replace(again, caller=now))
    assert (made.caller.key_id, made.door, made.session) == ("k2", "websocket", "s2")

    def may(caller: Caller, profile: str, session: str | None) -> bool:
        asked.append((caller.key_id or "", session))
        return True

    # Nobody hears it yet: it is its caller of now who is asked about.
    house.all.tell(made, None, may, lambda _: Said({"channel": "tool.completed"}))
    assert asked == [("k2", "s2")]


async def test_what_its_caller_may_not_see_any_more_is_left_out_of_what_it_missed() -> None:
    house, seen = _House(), {"tool.a", "tool.b"}
    made = house.begin()
    house.all.left("s1")
    house.all.tell(made, None, lambda *_: "tool.a" in seen, lambda _: Said({"channel": "tool.a"}))
    house.all.tell(made, None, lambda *_: "tool.b" in seen, lambda _: Said({"channel": "tool.b"}))
    seen.remove("tool.a")
    house.all.take_up(made, CALL)
    house.all.catch_up(made)
    assert [one["channel"] for one in house.listeners["s1"].heard] == ["tool.b"]


async def test_only_the_last_thousand_are_kept() -> None:
    house = _House()
    made = house.begin()
    for _ in range(KEPT + 50):
        house.tell()
    assert len(made.kept) == KEPT
    assert house.all.missed(made, 0) == (KEPT, 50)
    assert made.bytes == sum(one.size for one in made.kept)


async def test_what_is_kept_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "KEPT_BYTES", 1000)
    monkeypatch.setattr(subscriptions, "EVERY_KEPT_BYTES", 1500)
    house = _House()
    one, other = house.begin(), house.begin()
    for _ in range(100):
        house.tell()
    assert one.bytes <= 1000
    assert one.bytes + other.bytes <= 1500
    house.all.end(one)
    house.all.end(other)
    assert house.all._bytes == 0


async def test_what_others_keep_leaves_room_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "EVERY_KEPT_BYTES", 4000 * subscriptions.EVERY_MOST)
    house = _House()
    house.begin()
    house.all._bytes = subscriptions.EVERY_KEPT_BYTES  # all of it, by others
    quiet = house.begin()
    house.tell()
    assert house.all.missed(quiet, 0) == (1, 0)
    for _ in range(100):
        house.tell()
    assert 0 < quiet.bytes <= 4000


async def test_it_ends_some_time_after_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "LINGERS_S", 0.02)
    house = _House()
    made = house.begin()
    house.all.left("s1")
    assert len(house.all) == 1
    await asyncio.sleep(0.1)
    assert len(house.all) == 0
    assert house.over == [made.id]


async def test_nobody_known_leaves_nothing_behind() -> None:
    house = _House()
    house.listeners["s1"].caller = ANONYMOUS
    made = house.begin(replace(CALL, caller=ANONYMOUS))
    assert house.all.lost(replace(CALL, caller=ANONYMOUS, session="s2"), made.id) is None
    house.all.left("s1")
    assert len(house.all) == 0


async def test_they_are_bounded_in_number() -> None:
    house = _House()
    for _ in range(HOLDER_MOST):
        assert house.all.crowded(CALL) == ""
        house.begin()
    assert "on one connection" in house.all.crowded(CALL)
    assert house.all.crowded(replace(CALL, caller=BOB)) == ""
    for number in range(CALLER_MOST):
        session = f"x{number // HOLDER_MOST}"
        house.listeners[session] = _Listener(ANN)
        if not house.all.crowded(replace(CALL, session=session)):
            house.begin(replace(CALL, session=session))
    assert len(house.all) == CALLER_MOST
    assert "of one caller" in house.all.crowded(replace(CALL, session="new"))
    house.all.left("s1")  # what nobody hears makes room first
    assert house.all.crowded(replace(CALL, session="new")) == ""
    house.all.close()
    assert len(house.all) == 0


async def test_callers_without_a_name_have_no_room_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = _House()
    for number in range(CALLER_MOST + 1):
        call = replace(CALL, caller=ANONYMOUS, session=f"x{number // HOLDER_MOST}")
        house.listeners[call.session or ""] = _Listener(ANONYMOUS)
        assert house.all.crowded(call) == ""
        house.begin(call)
    assert "on one connection" in house.all.crowded(replace(CALL, caller=ANONYMOUS, session="x0"))
    monkeypatch.setattr(subscriptions, "NAMELESS_MOST", CALLER_MOST + 1)
    assert "too many" in house.all.crowded(replace(CALL, caller=ANONYMOUS, session="new"))
    assert house.all.crowded(CALL) == ""


async def test_whose_it_is_and_where_it_is_heard() -> None:
    """MGP-13.2-2."""
    house = _House()
    made = house.begin()
    assert house.all.of(CALL, made.id) is made
    for wrong in (
        replace(CALL, caller=BOB),
        replace(CALL, session="s2"),
        replace(CALL, profile="p"),
    ):
        assert house.all.of(wrong, made.id) is None
    assert house.all.of(CALL, None) is None
    listened = house.begin(replace(CALL, listen="listen 1"))
    assert house.all.of(replace(CALL, session=None), listened.id) is listened
    assert house.all.get(made.id) is made
    assert not house.all.can_hear(replace(CALL, session="nowhere"))
    assert house.all.can_hear(CALL)
    with pytest.raises(ValueError, match="nobody"):
        house.all.begin(replace(CALL, session=None), ("tool.*",), None, 0)


async def test_a_key_with_other_limits_neither_ends_a_subscription_nor_takes_it_up() -> None:
    house = _House()
    ann = Caller("ann", "agent", "k1")
    call = replace(CALL, caller=ann, credential="a")
    less = replace(ann, key_id="k2", user=(UserContext(trust="untrusted"),))
    other = replace(call, caller=less, credential="b")
    one = house.begin(call)
    house.listeners["s1"].caller = less  # who carries the session's stream by now
    house.tell()
    for asks, found in ((other, None), (call, one)):
        assert house.all.of(asks, one.id) is found
        assert house.all.lost(asks, one.id) is found
    successor = replace(call, caller=replace(ann, key_id="k3"), credential="c")
    house.all.take_up(one, successor)
    assert house.all.of(other, one.id) is None
    assert house.all.of(successor, one.id) is one
