"""Sessions and one-time tokens: each opens once, ends in time, and ends with the person."""

from __future__ import annotations

import pytest

from gatewright.console.people import Person
from gatewright.console.sessions import (
    SESSIONS_EACH,
    TOKEN_S,
    TOKENS_EACH,
    ConsoleSessions,
    is_key,
)

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
def looks() -> list[str]:
    """How often streams were told to look."""
    return []


@pytest.fixture
def sessions(clock: Clock, known: set[str], looks: list[str]) -> ConsoleSessions:
    return ConsoleSessions(
        clock=clock,
        lasts_s=400.0,
        still=lambda person: person.id in known,
        confirm_s=50.0,
        told=lambda: looks.append(""),
    )


def test_a_token_opens_once_and_in_time(sessions: ConsoleSessions, clock: Clock) -> None:
    first, second = sessions.token_for(ANN), sessions.token_for(ANN)
    assert sessions.redeem(first) == ANN
    assert sessions.redeem(first) is None
    clock.now += TOKEN_S
    assert sessions.redeem(second) is None
    assert sessions.redeem("made up") is None


def test_who_asks_for_too_many_tokens_ends_their_own_alone(
    sessions: ConsoleSessions, known: set[str]
) -> None:
    known.add("bob")
    other = sessions.token_for(Person("bob", "operator", "key"))
    tokens = [sessions.token_for(ANN) for _ in range(TOKENS_EACH + 2)]
    assert [sessions.redeem(one) == ANN for one in tokens] == [False] * 2 + [True] * TOKENS_EACH
    assert sessions.redeem(other) is not None


def test_tokens_are_bounded_in_all_and_those_that_are_over_make_room_first(
    sessions: ConsoleSessions, known: set[str], clock: Clock
) -> None:
    people = [Person(f"p{number}", "operator", "key") for number in range(150)]
    known.update(one.id for one in people)
    kept = sessions.token_for(ANN)
    for one in people:
        for _ in range(2):
            sessions.token_for(one)
    assert len(vars(sessions)["_tokens"]) <= 200
    assert sessions.redeem(kept) == ANN  # whoever has most gives
    clock.now += TOKEN_S
    sessions.token_for(ANN)
    assert len(vars(sessions)["_tokens"]) == 1


def test_tokens_end_with_the_sign_out_and_with_the_right_of_their_person(
    sessions: ConsoleSessions, known: set[str]
) -> None:
    known.add("bob")
    bob = Person("bob", "operator", "key")
    mine, theirs = sessions.token_for(ANN), sessions.token_for(bob)
    sessions.end_tokens("ann")
    assert (sessions.redeem(mine), sessions.redeem(theirs)) == (None, bob)
    mine = sessions.token_for(ANN)
    known.discard("ann")
    assert sessions.redeem(mine) is None


def test_whose_sessions_are_too_many_end_their_own_alone(
    sessions: ConsoleSessions, known: set[str]
) -> None:
    people = [Person(f"p{number}", "viewer", "oidc") for number in range(30)]
    known.update(one.id for one in people)
    mine, _ = sessions.open(ANN, address="", user_agent="")
    for one in people:
        for _ in range(SESSIONS_EACH + 1):
            sessions.open(one, address="", user_agent="")
    assert sessions.find(mine) is not None
    assert len(sessions.all()) <= 1000


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
        found = sessions.find(cookie)
        assert found is not None
        sessions.use(found)
    clock.now = began + 400
    assert sessions.find(cookie) is None


def test_a_session_that_nobody_uses_ends_earlier(sessions: ConsoleSessions, clock: Clock) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    clock.now += 99
    assert sessions.holds(session)  # to ask that is no use of it
    assert sessions.find(cookie) is session  # nor is what a page asks by itself
    sessions.use(session, 99)
    clock.now += 1
    assert (sessions.over(session), sessions.find(cookie)) == ("idle", None)


def test_a_session_is_used_when_a_person_last_did_something(
    sessions: ConsoleSessions, clock: Clock
) -> None:
    _, session = sessions.open(ANN, address="", user_agent="")
    clock.now += 90
    sessions.use(session, 30)
    clock.now += 69
    sessions.use(session, -1e9)  # nobody does anything in the future
    assert session.used == clock.now
    clock.now += 99
    assert sessions.holds(session)


def test_what_an_issuer_says_is_believed_for_a_time_and_then_said_again(
    sessions: ConsoleSessions, known: set[str], clock: Clock
) -> None:
    eve = Person("oidc:eve", "operator", "oidc")
    known.add(eve.id)
    cookie, session = sessions.open(eve, address="", user_agent="")
    clock.now += 49
    assert sessions.holds(session)
    clock.now += 1
    assert (sessions.over(session), sessions.holds(session)) == ("confirm", False)
    assert sessions.find(cookie) is session
    sessions.confirm(session, Person(eve.id, "viewer", "oidc"))
    assert (sessions.over(session), session.person.role) == ("", "viewer")
    clock.now += 50
    assert sessions.over(session) == "idle"  # a browser confirms by itself


def test_the_page_key_is_another_secret_than_the_cookie(sessions: ConsoleSessions) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    assert is_key(session, session.csrf)
    for wrong in ("", cookie, session.id, session.csrf[:-1], session.csrf + "x", "\u00e9\ud800"):
        assert not is_key(session, wrong)


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


def test_an_ended_session_is_over_for_its_cookie_and_its_streams(
    sessions: ConsoleSessions, looks: list[str]
) -> None:
    cookie, session = sessions.open(ANN, address="", user_agent="")
    assert sessions.end(session.id) is session
    assert looks == [""]
    assert sessions.end(session.id) is None
    assert not sessions.holds(session)
    assert sessions.find(cookie) is None
