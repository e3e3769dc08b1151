"""The gate `session`: a session id is a handle, never a proof of identity."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gatewright.call import Caller, Refusal
from gatewright.identity.session_gate import Session
from tests.gate_parts import AGENT, Mute, a_call

OWNERS = {"mine": AGENT.who, "theirs": ("agent", "agent.two"), "kind": ("owner", AGENT.id)}


@pytest.mark.parametrize("session", [None, "mine"])
async def test_a_call_in_its_own_session_or_in_none_is_handed_on(session: str | None) -> None:
    call = a_call(session=session)
    assert Session(OWNERS.get)(call, Mute()) is call


async def test_a_foreign_session_is_answered_like_one_that_never_was() -> None:
    gate = Session(OWNERS.get)
    foreign = gate(a_call(session="theirs"), Mute())
    unknown = gate(a_call(session="never"), Mute())
    assert isinstance(foreign, Refusal)
    assert foreign.reason == "session_unknown"
    assert foreign == unknown


async def test_the_same_person_under_another_name_is_somebody_else() -> None:
    found = Session(OWNERS.get)(a_call(session="mine", caller=Caller("agent.One")), Mute())
    assert isinstance(found, Refusal)


async def test_somebody_of_another_kind_and_the_same_name_is_somebody_else() -> None:
    assert isinstance(Session(OWNERS.get)(a_call(session="kind"), Mute()), Refusal)


@pytest.mark.parametrize("session", [None, "mine"])
async def test_what_the_door_knows_against_a_call_is_the_answer(session: str | None) -> None:
    """GRH-err-10: even where the session itself is the caller's."""
    doubt = Refusal("bad_security_context", "that is not you")
    call = replace(a_call(session=session), doubt=doubt)
    assert Session(OWNERS.get)(call, Mute()) == doubt
