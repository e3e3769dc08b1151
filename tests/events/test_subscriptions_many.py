"""Thousands of subscriptions, most of one stranger: what one that begins, is accepted or ends costs, and whom an event holds up."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Caller
from gatewright.events import channel_index, channels, methods, subscriptions
from gatewright.events.subscription import Said
from gatewright.transport import slices
from tests.costs import lines_run
from tests.events.test_methods import _House as _Methods
from tests.events.test_methods import members
from tests.events.test_subscriptions import ANN, CALL, _House, _Listener

_MODULES = (subscriptions, channels, channel_index, methods)


def _strangers(every: subscriptions.Subscriptions, number: int) -> None:
    """So many of whoever has no name, 16 to a session, each about what nobody says."""
    for at in range(number):
        call = replace(CALL, caller=ANONYMOUS, session=f"stranger {at // 16}")
        names = tuple(f"tool.n{at}.*" for at in range(60))
        made = every.begin(call, names, None, 0)
        every.accept(made, names)


async def _over(every: subscriptions.Subscriptions) -> None:
    while not every._line.idle:
        await asyncio.sleep(0)


def _say(said: Said, _: Caller) -> Said:
    return said


async def _lines(what: str, number: int) -> int:
    house = _Methods()
    every = house.events.every
    _strangers(every, number)
    made = every.begin(CALL, ("tool.*",), None, 0)
    every.accept(made, ("tool.*",))
    every.catch_up(made)
    work: dict[str, Any] = {
        "begins": lambda: every.crowded(CALL) or every.begin(CALL, ("tool.a",), None, 0),
        "is accepted": lambda: every.accept(made, ("tool.a", "model.x")),
        "ends": lambda: every.end(made),
        "leaves": lambda: every.left("stranger 0"),
        "hears": lambda: house.write("TOOL_EXECUTED"),
    }
    try:
        return lines_run(_MODULES, work[what])
    finally:
        await house.events.close()


@pytest.mark.parametrize("what", ["begins", "is accepted", "ends", "leaves", "hears"])
async def test_what_one_does_costs_the_same_however_many_there_are(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 60.0)
    assert await _lines(what, 32) == await _lines(what, 512)


async def test_of_a_call_those_hear_whose_it_is_and_operators_whoever_else_wants_to() -> None:
    house = _Methods()
    boss, every = Caller("boss", "operator"), house.events.every
    house.listeners |= {
        "s2": _Listener(boss),
        "s3": _Listener(ANONYMOUS),
        "s4": _Listener(ANONYMOUS),
    }
    for session, caller in (("s1", ANN), ("s2", boss), ("s3", ANONYMOUS), ("s4", ANONYMOUS)):
        made = every.begin(replace(CALL, caller=caller, session=session), ("tool.*",), None, 0)
        every.accept(made, ("tool.*",))
        every.catch_up(made)
    house.write("TOOL_EXECUTED")
    house.write("TOOL_EXECUTED", actor={"type": "anonymous", "id": "anonymous"}, session="s3")
    assert [len(one.heard) for one in house.listeners.values()] == [1, 2, 1, 0]
    await house.events.close()


async def test_what_was_accepted_after_its_session_had_ended_is_not_kept() -> None:
    house = _House()
    made = house.all.begin(CALL, ("tool.*",), None, 0)
    house.all.end(made)
    house.all.accept(made, ("tool.*",))
    assert house.all.about("tool.x") == []
    assert not house.all.hearing


async def test_many_are_told_in_slices_each_in_the_order_of_what_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _House()
    for at in range(60):
        house.listeners[f"s{at}"] = _Listener(ANN)
        house.begin(replace(CALL, session=f"s{at}"))
    told = [Said({"channel": "tool.x", "number": number}) for number in range(3)]
    for said in told:
        house.all.tell_all(house.all.about("tool.x"), None, lambda *_: True, partial(_say, said))
    turns = 0
    while not house.all._line.idle:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 120
    for one in house.listeners.values():
        assert [(each["sequence"], each["number"]) for each in one.heard] == [
            (1, 0),
            (2, 1),
            (3, 2),
        ]


async def test_who_takes_up_while_many_are_told_misses_nothing_and_hears_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _House()
    made = [house.begin() for _ in range(40)]
    last, heard = made[-1], house.listeners["s1"].heard
    for _ in range(3):
        some = house.all.about("tool.x")
        house.all.tell_all(some, None, lambda *_: True, lambda _: Said({"channel": "tool.x"}))
        house.all.take_up(last, CALL)
        last.since = last.sent
        house.all.catch_up(last)
        for _ in range(7):
            await asyncio.sleep(0)
    await _over(house.all)
    mine = [one["sequence"] for one in heard if one["subscription_id"] == last.id]
    assert mine == [1, 2, 3]


async def test_subscribing_still_finds_what_the_gateway_has() -> None:
    house = _Methods()
    _strangers(house.events.every, 32)
    told = members(await house.subscribe(channels=["tool.started", "tool.nothing"]))
    assert (told["subscribed"], told["unsupported"]) == (["tool.started"], ["tool.nothing"])
    assert house.events.tells_starts
    await house.events.close()


async def test_a_call_without_a_name_costs_nothing_for_all_the_others_without_one() -> None:
    counts = []
    for number in (32, 512):
        house = _Methods()
        every = house.events.every
        for at in range(number):
            call = replace(CALL, caller=ANONYMOUS, session=f"stranger {at}")
            every.accept(every.begin(call, ("tool.*",), None, 0), ("tool.*",))
        # It asks with a listening of its own: whose it is, the session says.
        house.listeners["listen"] = _Listener(ANONYMOUS)
        call = replace(CALL, caller=ANONYMOUS, session="mine", listen="listen")
        made = every.begin(call, ("tool.*",), None, 0)
        every.accept(made, ("tool.*",))
        every.catch_up(made)
        nameless = {"type": "anonymous", "id": "anonymous"}
        write = partial(house.write, "TOOL_EXECUTED", actor=nameless, session="mine")
        counts.append(lines_run(_MODULES, write))
        assert len(house.listeners["listen"].heard) == 1
        await house.events.close()
    assert counts[0] == counts[1]


async def test_of_the_events_of_one_caller_that_wait_the_rest_is_counted_and_those_of_others_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _Methods()
    every = house.events.every
    monkeypatch.setattr(every._line, "_most", 100_000)
    for at in range(60):
        boss = Caller(f"boss {at}", "operator")
        house.listeners[f"s{at}"] = _Listener(boss)
        made = every.begin(replace(CALL, caller=boss, session=f"s{at}"), ("tool.*",), None, 0)
        every.accept(made, ("tool.*",))
        every.catch_up(made)
    for _ in range(40):
        house.write("TOOL_EXECUTED")
    house.write("TOOL_EXECUTED", actor={"type": "agent", "id": "bob"})
    assert every._line._weights.total() < 200_000
    await _over(every)
    house.write("TOOL_EXECUTED")
    house.write("TOOL_EXECUTED")
    await _over(every)
    for one in house.listeners.values():
        if not one.heard:
            continue
        told = [each["data"]["actor"]["id"] for each in one.heard]
        *_, bobs, late, last = one.heard
        assert (told[-3:], len(told) < 20) == (["bob", "ann", "ann"], True)
        assert late["dropped"] == 40 - (len(told) - 3)
        assert "dropped" not in bobs | last
    await house.events.close()


def test_what_was_left_out_is_counted_of_so_many_callers() -> None:
    events = _Methods().events
    for at in range(methods._DROPPED_MOST + 5):
        events._left_out((at, "tool.x"))
    assert len(events._dropped) == methods._DROPPED_MOST


@pytest.mark.parametrize("gone", ["its session", "who it was"])
async def test_what_was_not_told_when_its_session_ended_is_told_to_whoever_takes_it_up(
    gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _House()
    made = house.all.begin(CALL, ("tool.*",), None, 0)
    house.all.accept(made, made.asked)
    for _ in range(100):
        house.tell()
    house.all.catch_up(made)
    former = house.listeners["s1"]
    while len(former.heard) < 10:
        await asyncio.sleep(0)
    number = len(former.heard)
    if gone == "its session":
        del house.listeners["s1"]
        house.all.left("s1")
    else:
        former.caller = None
    await _over(house.all)
    assert (len(former.heard), made.sent, made.ready) == (number, number, False)
    house.listeners["s2"] = _Listener(ANN)
    house.all.take_up(made, replace(CALL, session="s2"))
    assert house.all.missed(made, made.sent) == (100 - number, 0)
    made.since = made.sent
    house.all.catch_up(made)
    await _over(house.all)
    assert [one["sequence"] for one in house.listeners["s2"].heard] == [*range(number + 1, 101)]


async def test_who_was_nobody_for_a_while_is_told_what_was_kept_with_what_happens_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _House()
    made = house.all.begin(CALL, ("tool.*",), None, 0)
    house.all.accept(made, made.asked)
    for _ in range(100):
        house.tell()
    house.all.catch_up(made)
    listener = house.listeners["s1"]
    listener.caller = None
    await _over(house.all)
    house.tell()
    listener.caller = ANN
    for _ in range(2):
        house.tell()
        await _over(house.all)
    assert [one["sequence"] for one in listener.heard] == [*range(1, 103)]


async def test_rights_are_asked_about_again_with_all_that_was_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    house = _House()
    made = house.all.begin(CALL, ("tool.*",), None, 0)
    house.all.accept(made, made.asked)
    narrow = Caller("ann", key_id="narrow")
    for one in house.all.about("tool.x"):
        for _ in range(100):
            house.all.tell(
                one, None, lambda now, *_: now is ANN, lambda _: Said({"channel": "tool.x"})
            )
    house.all.catch_up(made)
    while len(house.listeners["s1"].heard) < 10:
        await asyncio.sleep(0)
    house.listeners["s1"].caller = narrow
    await _over(house.all)
    assert len(house.listeners["s1"].heard) == 10
