"""What each gate said of a call, from what is written down about it."""

from __future__ import annotations

from typing import Any

from gatewright.console.gate_words import GateWord, gate_words

GATES = ("authenticate", "access", "sanitize", "validators", "permission", "flow", "confirm")


def states(words: list[GateWord]) -> dict[str, str]:
    return {one.gate: one.state for one in words}


def test_a_call_that_waits_was_asked_about_by_those_before() -> None:
    found = gate_words(
        (*GATES, "after"), {"access": "tool_grant"}, caller="key k1", waits="confirm"
    )
    assert [(one.state, one.word) for one in found[:2]] == [
        ("passed", "key k1"),
        ("passed", "tool grant"),
    ]
    assert (states(found)["confirm"], states(found)["after"]) == ("waits", "not_asked")


def test_a_refusal_names_its_gate_and_those_behind_were_not_asked() -> None:
    found = gate_words(GATES, {}, refused="validators", reason="sql_safety")
    assert found[3] == GateWord("validators", "refused", "sql_safety")
    assert [one.state for one in found] == ["passed"] * 3 + ["refused"] + ["not_asked"] * 3


def test_a_refusal_by_what_is_no_gate_of_the_policy_stands_at_the_end() -> None:
    assert gate_words(GATES, {}, refused="gone", reason="x")[-1] == GateWord("gone", "refused", "x")


def test_what_somebody_should_know_of_is_noted() -> None:
    facts: dict[str, Any] = {
        "sanitized": {"removed": 3},
        "flow": {"untrusted": "web__get", "private": "files__read"},
        "validator_applied": "sql",
        "permissions_used": ["a", "b"],
        "confirmed_by": "olga",
        "waited_ms": 1500,
        "edited_from": "d",
    }
    found = {one.gate: one for one in gate_words(GATES, facts)}
    assert found["sanitize"] == GateWord("sanitize", "noted", "3 hidden characters taken out")
    assert found["flow"].state == "noted"
    assert "web__get" in found["flow"].word
    assert found["validators"] == GateWord("validators", "passed", "sql")
    assert found["permission"].word == "a, b"
    assert found["confirm"].word == "olga agreed after 1.5 s, arguments edited"


def test_facts_that_are_not_as_expected_say_nothing() -> None:
    """Records of other versions are read, too."""
    facts = {"sanitized": 3, "flow": "x", "permissions_used": "y", "validator_applied": "none"}
    assert {one.word for one in gate_words(GATES, facts)} == {""}
