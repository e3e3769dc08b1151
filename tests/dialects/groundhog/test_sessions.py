from __future__ import annotations

import itertools

import pytest

from gatewright.call import Caller, Refusal, Who
from gatewright.dialects.groundhog.sessions import ENDED, Session, Sessions

ANN, BOB = Caller("ann"), Caller("bob")
HOUR = 3600.0


class Clocked:
    """Sessions and the time they live in."""

    def __init__(self, most: int = 100) -> None:
        self.now = 1000.0
        self.owners: dict[str, Who] = {}
        self.ended: list[str] = []
        numbers = itertools.count(1)
        self.all = Sessions(
            self.owners,
            clock=lambda: self.now,
            random=lambda size: next(numbers).to_bytes(size, "big"),
            timeout_s=HOUR,
            most=most,
            ended=self.ended.append,
        )

    def opened(self, caller: Caller, id: str | None = None) -> Session:
        found = self.all.open(caller, id)
        assert isinstance(found, Session), found
        return found


def reason(found: Session | Refusal) -> str:
    assert isinstance(found, Refusal), found
    return found.reason


def test_a_session_has_an_id_an_owner_and_two_times() -> None:
    """GRH-sec-1."""
    house = Clocked()
    one = house.opened(ANN)
    assert (one.caller, one.created_at, one.expires_at) == (ANN, 1000.0, 1000.0 + HOUR)
    assert house.owners == {one.handle: ("agent", "ann")}
    assert house.opened(ANN).id != one.id


def test_a_session_ends_after_its_time_whoever_asks() -> None:
    """GRH-sec-2 and GRH-cfg-7."""
    house = Clocked()
    one = house.opened(ANN, "session456")
    house.now += HOUR - 0.001
    assert house.all.alive(one)
    assert house.all.find(ANN, "session456") is one
    house.now += 0.001
    assert not house.all.alive(one)
    assert house.all.find(ANN, "session456") == ENDED
    assert ENDED.reason == "auth_expired"
    assert house.owners == {}
    assert house.ended == [one.handle]


def test_one_more_than_there_may_be_is_refused_until_one_ends() -> None:
    """GRH-cfg-8: the 101st."""
    house = Clocked()
    for _ in range(100):
        house.opened(ANN)
        house.now += 1
    refused = house.all.open(ANN)
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.details) == ("resource_exhausted", {"limit": 100})
    assert refused.retry_after_ms == int((HOUR - 100) * 1000)
    assert len(house.all) == 100
    house.now += HOUR - 100
    assert isinstance(house.all.open(ANN), Session)
    assert len(house.all) == 100


def test_whoever_has_all_sessions_gives_up_the_oldest_for_somebody_else() -> None:
    house = Clocked(most=3)
    first, *rest = [house.opened(ANN) for _ in range(3)]
    (mine,) = [house.opened(BOB)]
    assert [house.all.alive(one) for one in (first, *rest, mine)] == [False, True, True, True]
    assert house.ended == [first.handle]
    assert reason(house.all.open(BOB)) == "resource_exhausted", "both would have as many"
    assert reason(house.all.open(ANN)) == "resource_exhausted"
    assert isinstance(house.all.open(Caller("cid")), Session)
    assert reason(house.all.open(Caller("dot"))) == "resource_exhausted", "nobody has more than one"


def test_a_session_of_somebody_else_is_a_forgery() -> None:
    """GRH-err-10: open, ended or only remembered."""
    house = Clocked()
    house.opened(ANN, "session456")
    assert reason(house.all.find(BOB, "session456")) == "bad_security_context"
    assert reason(house.all.open(BOB, "session456")) == "bad_security_context"
    house.now += HOUR
    assert reason(house.all.find(BOB, "session456")) == "bad_security_context"
    assert reason(house.all.open(BOB, "session456")) == "bad_security_context"


def test_an_id_that_nobody_used_becomes_a_session_of_whoever_uses_it() -> None:
    """GRH-msg-3: the specification's request names a session and has no way to open one."""
    house = Clocked()
    one = house.all.find(ANN, "session456")
    assert isinstance(one, Session)
    assert house.all.find(ANN, "session456") is one
    assert one.handle != one.id


def test_who_owned_a_session_may_open_it_again() -> None:
    house = Clocked()
    first = house.opened(ANN, "mine")
    house.all.close(first)
    assert house.all.find(ANN, "mine") == ENDED
    again = house.opened(ANN, "mine")
    assert again.handle != first.handle
    assert house.all.find(ANN, "mine") is again


def test_closing_all_leaves_nobody_an_owner() -> None:
    house = Clocked()
    handles = [house.opened(one).handle for one in (ANN, BOB)]
    house.all.close_all()
    assert (house.owners, house.ended, len(house.all)) == ({}, handles, 0)


def test_what_is_remembered_of_ended_sessions_is_bounded() -> None:
    """GRH-test-6."""
    house = Clocked(most=10_000)
    for number in range(5000):
        house.all.close(house.opened(ANN, f"s{number}"))
    assert house.all.find(ANN, "s4999") == ENDED
    assert isinstance(house.all.find(BOB, "s0"), Session)


@pytest.mark.parametrize("gone", [True, False])
def test_a_session_that_was_closed_twice_takes_nothing_else_with_it(gone: bool) -> None:
    house = Clocked()
    first = house.opened(ANN, "mine")
    house.all.close(first)
    second = house.opened(ANN, "mine")
    house.all.close(first)
    assert house.all.alive(second)
    if gone:
        house.all.close(second)
    assert house.all.alive(second) is not gone


def test_a_caller_of_another_kind_is_another_caller() -> None:
    house = Clocked()
    one = house.opened(ANN, "session456")
    operator = Caller("ann", "operator")
    assert reason(house.all.find(operator, "session456")) == "bad_security_context"
    assert reason(house.all.open(operator, "session456")) == "bad_security_context"
    house.all.close(one)
    assert reason(house.all.find(operator, "session456")) == "bad_security_context"
    assert house.all.find(ANN, "session456") == ENDED
