from __future__ import annotations

import pytest

from gatewright.call import Caller, Refusal
from gatewright.dialects.groundhog.identity import EARLY, EARLY_BYTES, EARLY_MOST, Standing
from gatewright.dialects.groundhog.sessions import Session
from gatewright.mcp.wire.groundhog import Claims
from tests.dialects.groundhog.rig import Rig
from tests.dialects.house import ANN, BOB


def standing(rig: Rig, caller: Caller | None, credential: str | None = None) -> Standing:
    return Standing(rig.parts, caller, door="groundhog", credential=credential)


def reason(found: Session | Refusal | None) -> str:
    assert isinstance(found, Refusal), found
    return found.reason


async def test_a_token_counts_from_then_on_and_another_one_replaces_it() -> None:
    """GRH-cfg-5."""
    async with Rig() as rig:
        who = standing(rig, None)
        assert reason(who.authenticate(None)) == "auth_required"
        assert reason(who.authenticate("nonsense")) == "auth_failed"
        with pytest.raises(RuntimeError):
            who.known()
        assert who.authenticate("key-ann") is None
        assert (who.known(), who.credential) == (ANN, "key-ann")
        assert who.authenticate(None) is None
        assert who.authenticate("key-bob") is None
        assert who.known() == BOB
        assert reason(who.authenticate("nonsense")) == "auth_failed"
        assert who.known() == BOB


@pytest.mark.parametrize("unanswered", range(EARLY))
async def test_who_says_nothing_of_itself_is_read_so_often_however_fast_it_is_answered(
    unanswered: int,
) -> None:
    """GRH-test-6."""
    async with Rig() as rig:
        who = standing(rig, None)
        said = [who.is_too_much(b"{}", unanswered) for _ in range(EARLY_MOST + 2)]
        assert said == [False] * EARLY_MOST + [True] * 2
        named = standing(rig, None)
        assert not named.is_too_much(b"{}", unanswered)
        named.authenticate("key-ann")
        assert not any(named.is_too_much(b"{}", 100) for _ in range(EARLY_MOST + 2))


@pytest.mark.parametrize(
    ("data", "unanswered"), [(b"{}", EARLY), (b"x" * (EARLY_BYTES + 1), 0)], ids=["many", "long"]
)
async def test_after_too_much_nothing_is_read(data: bytes, unanswered: int) -> None:
    """GRH-test-6: not even who it is, which comes too late."""
    async with Rig() as rig:
        who = standing(rig, None)
        assert who.is_too_much(data, unanswered)
        who.authenticate("key-ann")
        assert who.is_too_much(b"{}", 0)


async def test_a_new_caller_does_not_go_on_in_the_session_of_the_one_before() -> None:
    """GRH-test-3."""
    async with Rig() as rig:
        who = standing(rig, ANN, "key-ann")
        first = who.session(Claims())
        assert who.authenticate("key-bob") is None
        second = who.session(Claims())
        assert isinstance(first, Session)
        assert isinstance(second, Session)
        assert (first.caller, second.caller) == (ANN, BOB)
        assert not rig.parts.sessions.alive(first)


@pytest.mark.parametrize("user", ["bob", "ANN", "", "ann "])
async def test_a_user_id_that_is_not_the_callers_is_a_forgery(user: str) -> None:
    """GRH-err-10."""
    async with Rig() as rig:
        who = standing(rig, ANN, "key-ann")
        for found in (who.session(Claims(user=user)), who.create(Claims(user=user))):
            assert reason(found) == "bad_security_context"
        assert isinstance(who.session(Claims(user="ann")), Session)


async def test_a_credential_that_is_revoked_opens_and_shows_no_session() -> None:
    """GRH-test-2."""
    async with Rig() as rig:
        who = standing(rig, ANN, "key-ann")
        assert isinstance(who.asked(Claims()), Session)
        who.credential = "revoked by now"
        assert reason(who.asked(Claims())) == "auth_failed"
        assert reason(who.create(Claims())) == "auth_failed"


async def test_leaving_ends_a_session_only_if_nobody_asked_for_it() -> None:
    async with Rig() as rig:
        who = standing(rig, ANN, "key-ann")
        own = who.session(Claims())
        who.leave()
        asked = who.create(Claims(session="mine"))
        assert isinstance(own, Session)
        assert isinstance(asked, Session)
        assert who.session(Claims()) is asked
        who.leave()
        assert not rig.parts.sessions.alive(own)
        assert rig.parts.sessions.alive(asked)
        who.close(asked)
        assert not rig.parts.sessions.alive(asked)
