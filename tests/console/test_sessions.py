"""Sessions and one-time tokens: each opens once, ends in time, and ends with the person."""

from __future__ import annotations

import pytest

from gatewright.console.people import Person
from gatewright.console.sessions import TOKEN_S, ConsoleSessions

ANN = Person("ann", "operator", "key", "gw_key")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def known() -> set[str]:
    return {"ann"}


@pytest.fixture
def sessions(clock: Clock, known: set[str]) -> ConsoleSessions:
    return ConsoleSessions(clock=clock, lasts_s=400.0, still=lambda person: person.id in known)


def test_a_token_opens_once_and_in_time(sessions: ConsoleSessions, clock: Clock) -> None:
    first, second = sessions.token_for(ANN), sessions.token_for(ANN)
    assert sessions.redeem(first) == ANN
    assert sessions.redeem(first) is None
    clock.now += TOKEN_S
    assert sessions.redeem(second) is None
    assert sessions.redeem("made up") is None


def test_the_oldest_token_goes_where_there_are_too_many(sessions: ConsoleSessions) -> None:
    tokens = [sessions.token_for(ANN) for _ in range(101)]
    assert sessions.redeem(tokens[0]) is None
    assert sessions.redeem(tokens[1]) == ANN


def test_a_session_is_found_by_its_cookie_alone(sessions: ConsoleSessions) -> None:
    cookie, session = sessions.open(ANN, address="127.0.0.1", user_agent="x" * 999)
    assert sessions.find(cookie) is session
    assert sessions.find(session.id) is None
    assert sessions.find(session.csrf) is None
    assert len(session.user_agent) == 200


@pytest.mark.parametrize("step_s", [99.0, 10.0])
def test_a_session_ends_at_its_longest_time_however_used(
    sessions: ConsoleSessions, clock: Clock, step_s: float
) -> None:
    cookie, _ = sessions.open(ANN, address="", user_agent="")
    began = clock.now
    while clock.now + step_s < began + 400:
        clock.now += step_s
        assert sessions.find(cookie) is not None
    clock.now = began + 400
    assert sessions.find(cookie) is None


def test_a_session_that_nobody_uses_ends_earlier(sessions: ConsoleSessions, clock: Clock) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    clock.now += 99
    assert sessions.holds(session)  # to ask that is no use of it
    clock.now += 1
    assert not sessions.holds(session)
    assert sessions.find(cookie) is None


def test_a_session_ends_with_the_right_of_its_person(
    sessions: ConsoleSessions, known: set[str]
) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    known.clear()
    assert not sessions.holds(session)
    assert sessions.all() == []
    assert sessions.find(cookie) is None
    known.add("ann")
    assert sessions.find(cookie) is None  # and does not come back


def test_an_ended_session_is_over_for_its_cookie_and_its_streams(sessions: ConsoleSessions) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    assert sessions.end(session.id) is session
    assert sessions.end(session.id) is None
    assert not sessions.holds(session)
    assert sessions.find(cookie) is None
