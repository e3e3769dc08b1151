"""What is kept of calls that wait: who asks whom by what, which rule wants a person, and no more than so many."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gatewright.approvals import asked_calls
from gatewright.approvals.asked_calls import AskedCalls
from gatewright.call import ANONYMOUS, Caller, Client, UserContext
from tests.gate_parts import AGENT, a_call, a_tool, a_tool_call

WIPE = a_tool("wipe", risk_level="dangerous")


def test_a_call_that_waits_is_found_by_its_request() -> None:
    """With what the gates before knew by then, and nothing that they write later."""
    kept, call = AskedCalls(), a_tool_call(WIPE)
    call = replace(
        call,
        caller=replace(AGENT, user=(UserContext(role="deployer"), UserContext())),
        client=Client("2025-11-25", info={"name": "host", "version": "1.2"}),
        session="s1",
        facts={"access": "grant"},
    )
    kept.note("ap_1", call, WIPE)
    call.facts["confirmed_by"] = "olga"
    found = kept.of("ap_1")
    assert found is not None
    assert (found.session, found.program, found.roles) == ("s1", "host 1.2", ("deployer",))
    assert found.facts == {"access": "grant"}
    assert found.rule.startswith("dangerous tools ask a person")
    assert kept.of("ap_2") is None


def test_a_call_that_leaves_gives_up_the_request_that_nobody_else_waits_for() -> None:
    kept = AskedCalls()
    first, second, other = (replace(a_tool_call(WIPE), id=one) for one in ("c1", "c2", "c3"))
    with kept.waiting("ap_1", first, WIPE), kept.waiting("ap_2", other, WIPE):
        with kept.waiting("ap_1", second, WIPE):
            assert kept.left("c2") == ""  # the first goes on waiting
        assert (kept.left("c2"), kept.left("c1"), kept.left("c1")) == ("", "ap_1", "")
    assert kept.left("c3") == ""
    assert kept.of("ap_1") is not None


def test_of_too_many_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks again counts as new."""
    monkeypatch.setattr(asked_calls, "KEPT", 2)
    kept, call = AskedCalls(), a_tool_call(WIPE)
    for id in ("ap_1", "ap_2", "ap_1", "ap_3"):
        kept.note(id, call, WIPE)
    assert [id for id in ("ap_1", "ap_2", "ap_3") if kept.of(id)] == ["ap_1", "ap_3"]


def test_a_name_of_a_program_that_is_no_text_is_left_out() -> None:
    """`clientInfo` is whatever a client sends, of any length."""
    kept = AskedCalls()
    call = replace(
        a_tool_call(WIPE), client=Client("2025-11-25", info={"name": 7, "version": "v" * 999})
    )
    kept.note("ap_1", call, WIPE)
    found = kept.of("ap_1")
    assert found is not None
    assert found.program == "v" * 200


def test_who_asks_alone_is_one_caller_with_the_same_limits_and_without_a_name_one_session() -> None:
    asked, tool = AskedCalls(), WIPE
    ann, less = Caller("ann"), Caller("ann", user=(UserContext(resources=("/srv/**",)),))
    every = [
        (ann, "s", True),
        (replace(ann, key_id="k2"), "t", True),
        (less, "s", False),
        (ANONYMOUS, "s", True),
        (ANONYMOUS, "t", False),
        (ANONYMOUS, None, False),
    ]
    for number, (caller, session, alone) in enumerate(every):
        first = ann if caller.id == "ann" else caller
        approval = f"{number}"
        before = replace(
            a_call(), caller=first, session=session if caller is not ANONYMOUS else "s"
        )
        call = replace(before, caller=caller, session=session)
        asked.began(approval, before)
        asked.note(approval, before, tool)
        assert asked.alone(approval, call) is alone
        asked.note(approval, call, tool)
        assert asked.alone(approval, call) is asked.alone(approval, before) is alone
    assert not asked.alone("unknown", replace(a_call(), caller=ann))


def test_of_a_request_that_was_there_before_nobody_is_the_only_one_who_asked() -> None:
    """An earlier process made it, for somebody whom nobody knows here."""
    asked, call = AskedCalls(), a_tool_call(WIPE)
    asked.note("ap_1", call, WIPE)
    asked.note("ap_1", call, WIPE)
    assert not asked.alone("ap_1", call)


def test_of_too_many_who_asked_alone_the_oldest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asked_calls, "KEPT", 1)
    asked, call = AskedCalls(), a_tool_call(WIPE)
    asked.began("ap_1", call)
    asked.began("ap_2", call)
    assert [asked.alone(one, call) for one in ("ap_1", "ap_2")] == [False, True]
