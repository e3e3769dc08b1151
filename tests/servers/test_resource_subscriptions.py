"""The resources that are wanted on one connection: whose each wish is, and what the server hears of it when."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Answer, Failure, Refusal
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.resource_subscriptions import SEVERAL, Subscriptions
from tests.servers.rig import DEADLINE, FakeBack, make_call, within
from tests.servers.wishing import FakeWay, asks, rest

NO = Refusal("access_denied", "no")


def begun() -> tuple[FakeWay, Subscriptions]:
    way = FakeWay()
    return way, Subscriptions(way, changes=True)


async def held(way: FakeWay, wants: Subscriptions, uri: str, holder: str, name: str = "") -> None:
    """Somebody holds a resource."""
    asked = asks(wants.subscribe, uri, holder, name)
    await rest()
    if not asked.done():
        await way.answer(len(way.said_) - 1)
    assert isinstance(asked.result(), Answer)


async def test_who_asks_while_the_wishes_of_another_are_taken_back_is_told_all_the_same() -> None:
    """One after another, as fast as the server answers; what somebody asked for since is left out."""
    way, wants = begun()
    for uri in ("x:1", "x:2", "x:3"):
        await held(way, wants, uri, "a")
    wants.forget("a")
    await rest()
    assert way.words[3:] == [("unsubscribe", "x:1")]
    await held(way, wants, "x:2", "b")  # which the server was not told to forget
    assert way.words[4:] == []
    again = asks(wants.subscribe, "x:1", "b")
    await rest()
    assert way.words[4:] == [("subscribe", "x:1")]
    await way.answer(4)
    assert isinstance(again.result(), Answer)
    await way.answer(3, NO)  # it may have heard that last
    assert way.words[5:] == [("subscribe", "x:1"), ("unsubscribe", "x:3")] or way.words[5:] == [
        ("unsubscribe", "x:3"),
        ("subscribe", "x:1"),
    ]
    await way.stop()


async def test_who_asks_while_another_unsubscribes_is_told_to_the_server_last() -> None:
    way, wants = begun()
    await held(way, wants, "x:1", "a")
    ends, begins = asks(wants.unsubscribe, "x:1", "a"), asks(wants.subscribe, "x:1", "b")
    await rest()
    assert way.words[1:] == [("unsubscribe", "x:1"), ("subscribe", "x:1")]
    await way.answer(2)
    assert isinstance(begins.result(), Answer)
    await way.answer(1)
    assert isinstance(ends.result(), Answer)
    assert way.words[3:] == [("subscribe", "x:1")]
    await way.answer(3)
    await held(way, wants, "x:1", "c")
    assert len(way.words) == 4
    await way.stop()


@pytest.mark.parametrize("end", ["refused", "given up"])
async def test_of_two_wishes_of_one_holder_the_failed_one_takes_nothing_from_the_other(
    end: str,
) -> None:
    way, wants = begun()
    first, second = asks(wants.subscribe, "x:1", "a"), asks(wants.subscribe, "x:1", "a")
    await rest()
    if end == "refused":
        await way.answer(0, NO)
    else:
        first.cancel()
        await rest()
    assert wants.wanted() == ["x:1"]
    await way.answer(1)
    assert isinstance(second.result(), Answer)
    assert list(wants.held) == ["x:1"]
    assert wants.told == {"x:1"}


async def test_what_is_not_wanted_any_more_when_it_is_granted_is_not_held() -> None:
    way, wants = begun()
    begins = asks(wants.subscribe, "x:1", "a")
    await rest()
    ends = asks(wants.unsubscribe, "x:1", "a")
    await rest()
    assert way.words == [("subscribe", "x:1"), ("unsubscribe", "x:1")]
    await way.answer(1)
    await way.answer(0)
    assert isinstance(begins.result(), Answer)
    assert isinstance(ends.result(), Answer)
    assert wants.held == {}
    assert wants.told == set(), "the server heard last that nobody wants it"
    asks(wants.subscribe, "x:1", "b")
    await rest()
    assert way.words[2:] == [("subscribe", "x:1")]
    await way.stop()


async def test_a_late_yes_of_a_former_connection_is_none_of_the_new_one() -> None:
    way, wants = begun()
    asked = asks(wants.subscribe, "x:1", "a")
    await rest()
    await wants.renew(way.link)
    await rest()
    assert way.words == [("subscribe", "x:1")] * 2
    await way.answer(1, NO)
    await way.answer(0)
    assert isinstance(asked.result(), Answer)
    assert wants.told == set()
    await way.stop()


async def test_a_resource_is_held_under_each_name_by_itself() -> None:
    way, wants = begun()
    await held(way, wants, "x:1", "a")
    await held(way, wants, "x:1", "a", "gatewright://srv/x%3A1")
    for name in ("gatewright://srv/x%3A1", "gatewright://srv/x%3A1"):
        ends = asks(wants.unsubscribe, "x:1", "a", name)
        await rest()
        assert isinstance(ends.result(), Answer)
    assert len(way.words) == 1
    asks(wants.unsubscribe, "x:1", "a")
    await rest()
    assert way.words[1:] == [("unsubscribe", "x:1")]
    await way.stop()


async def test_what_a_new_connection_refuses_keeps_nothing_else_from_it_and_is_asked_for_once_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gatewright.servers.resource_subscriptions.AGAIN_S", 0.0)
    way, wants = begun()
    for uri in ("x:1", "x:2", "x:3"):
        await held(way, wants, uri, "a")
    await wants.renew(way.link)
    await rest()
    for number, outcome in enumerate((None, NO, None, NO), 3):
        await way.answer(number, outcome)
    assert [uri for _, uri in way.words[3:]] == ["x:1", "x:2", "x:3", "x:2"]
    assert wants.told == {"x:1", "x:3"}
    assert "does not tell of 1 of the resources" in caplog.text
    asks(wants.subscribe, "x:2", "b")  # who is not told yes in its place
    await rest()
    assert way.words[7:] == [("subscribe", "x:2")]
    await way.stop()


async def test_nothing_more_is_told_to_a_connection_that_is_not_the_present_one() -> None:
    way, wants = begun()
    for uri in ("x:1", "x:2"):
        await held(way, wants, uri, "a")
    await wants.renew(way.link)
    await rest()
    await wants.renew(way.link)
    await rest()
    assert way.words[2:] == [("subscribe", "x:1")] * 2
    await way.answer(2)
    assert wants.told == set()
    await way.answer(3)
    assert wants.told == {"x:1"}
    assert way.words[4:] == [("subscribe", "x:2")]
    await way.stop()


async def test_who_asked_of_a_connection_that_is_over_holds_nothing_of_it() -> None:
    way, wants = begun()
    await held(way, wants, "x:1", "a")
    asked = asks(wants.subscribe, "x:2", "a")
    await rest()
    wants.drop_all()
    await way.answer(1)
    assert asked.done()
    assert wants.wanted() == []
    assert asyncio.all_tasks() - {asyncio.current_task()} == set()


@pytest.mark.parametrize("end", ["given up", "late"])
async def test_what_nobody_waits_for_any_more_is_taken_back_for_the_server_may_say_yes_yet(
    end: str,
) -> None:
    """One resource after another: none of them stays with the server."""
    way, wants = begun()
    for number in range(3):
        asked = asks(wants.subscribe, f"x:{number}", "a")
        await rest()
        if end == "given up":
            asked.cancel()
            await rest()
        else:
            await way.answer(len(way.said_) - 1, Failure("upstream_timeout", "late"))
        assert way.words[-2:] == [("subscribe", f"x:{number}"), ("unsubscribe", f"x:{number}")]
        await way.answer(len(way.said_) - 1)
    assert len(way.words) == 6
    await way.stop()


async def test_what_was_refused_or_never_sent_or_is_wanted_by_another_is_not_taken_back() -> None:
    way, wants = begun()
    refused = Failure("upstream_error", "no", error=b'{"code":-32602,"message":"no"}')
    for number, outcome in enumerate((refused, Failure("x", "", {"sent": False}), NO)):
        asks(wants.subscribe, "x:1", "a")
        await rest()
        await way.answer(number, outcome)
    asks(wants.subscribe, "x:1", "a")
    other = asks(wants.subscribe, "x:1", "b")
    await rest()
    await way.answer(3, Failure("upstream_timeout", "late"))
    assert [method for method, _ in way.words] == ["subscribe"] * 5
    await way.answer(4)
    assert isinstance(other.result(), Answer)
    asks(wants.subscribe, "x:1", "c").cancel()
    await rest()
    assert len(way.words) == 5
    await way.stop()


async def test_a_modern_server_that_is_asked_for_what_nobody_waits_for_is_listened_to_without_it() -> (
    None
):
    way = FakeWay(LATEST_MODERN)
    wants = Subscriptions(way, changes=False)
    asked = asks(wants.subscribe, "x:1", "a")
    await rest()
    asked.cancel()
    await rest()
    uris, told, _ = way.link.listens[0]
    told.set_result({"resourceSubscriptions": uris})
    await rest()
    assert way.link.ended == [0]
    assert len(way.link.listens) == 1
    await way.stop()


async def test_by_one_name_one_resource_is_heard_of() -> None:
    way, wants = begun()
    await held(way, wants, "x:1", "a", "name")
    await held(way, wants, "x:2", "a", "name")
    await rest()
    assert way.words == [("subscribe", "x:1"), ("subscribe", "x:2"), ("unsubscribe", "x:1")]
    assert (wants.names("x:1", "a"), wants.names("x:2", "a")) == (set(), {"name"})
    assert wants.led("name", "a") == "x:2"
    wants.forget("a")
    assert (wants.held, wants.led("name", "a")) == ({}, None)
    await way.stop()


async def test_a_resource_is_one_partys_as_long_as_one_alone_wants_word_of_it() -> None:
    way = FakeWay()
    wants = Subscriptions(way, changes=True)
    assert wants.party("x:1") == SEVERAL
    first = asks(wants.subscribe, "x:1", "a")
    await rest()
    assert wants.party("x:1") == "a"
    await way.answer(0)
    assert isinstance(first.result(), Answer)
    assert wants.party("x:1") == "a"
    asks(wants.subscribe, "x:1", "b")
    await rest()
    assert wants.party("x:1") == SEVERAL
    assert wants.holders("x:1") == {"a", "b"}
    wants.forget("a")
    assert wants.holders("x:1") == {"b"}
    wants.forget("b")
    assert wants.party("x:1") == SEVERAL
    await way.stop()


async def test_everybody_hears_of_a_resource_under_their_own_names() -> None:
    way, wants = begun()
    await held(way, wants, "x:1", "a", "mine")
    await held(way, wants, "x:1", "b", "yours")
    found = [wants.names("x:1", one) for one in ("a", "b", "c")]
    assert found == [{"mine"}, {"yours"}, set()]
    assert [wants.led("mine", one) for one in ("a", "b")] == ["x:1", None]


async def test_a_server_that_acknowledges_nothing_holds_nobody_up_longer_than_a_call_may_take() -> (
    None
):
    """However many others it keeps waiting, and whoever wants word of nothing any more."""
    way = FakeWay(LATEST_MODERN, tools={"listChanged": True})
    wants = Subscriptions(way, changes=True)
    way.call_s = 0.05
    asked = [asks(wants.subscribe, f"x:{number}", "a") for number in range(50)]
    for one in asked:
        outcome = await within(one)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_timeout"
    assert wants.wanted() == []
    way.call_s = DEADLINE
    kept = asks(wants.subscribe, "x:kept", "a")
    await rest()
    call = make_call("method", "resources/subscribe", {"uri": "x:soon"}, deadline=0.0)
    soon = wants.subscribe("x:soon", "b", {}, call, FakeBack())
    outcome = await within(soon)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "upstream_timeout"
    wants.hold("x:1", "c", ["x:1"])
    way.call_s = 0.05
    assert isinstance(await within(asks(wants.unsubscribe, "x:1", "c")), Answer)
    kept.cancel()
    await wants.close()
    await way.stop()
