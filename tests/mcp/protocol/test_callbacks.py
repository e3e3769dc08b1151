from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.protocol.callbacks import (
    CALLBACK_TYPES,
    LONGEST_S,
    USUAL_S,
    Callback,
    flaw_of_response,
    form_of,
    read_callback,
    response_of_form,
)

SEED: dict[str, Any] = {
    "callback_id": "cb-001",
    "request_id": 20,
    "type": "confirmation",
    "message": "This operation will delete 15 files. Continue?",
    "options": ["confirm", "cancel"],
    "timeout_ms": 60000,
}


def test_the_callback_of_the_specification_is_read() -> None:
    """MGP-13.4-1."""
    found = read_callback(SEED)
    assert found == Callback("cb-001", "confirmation", SEED["message"], ("confirm", "cancel"), 60.0)
    assert found.params == {
        name: SEED[name] for name in ("type", "message", "options", "timeout_ms")
    }


def test_there_are_the_four_types_of_the_specification() -> None:
    """MGP-13.4-3."""
    assert CALLBACK_TYPES == ("confirmation", "input", "selection", "notification")


@pytest.mark.parametrize(
    "wrong",
    [
        {"callback_id": None},
        {"callback_id": ""},
        {"callback_id": True},
        {"callback_id": "x" * 257},
        {"type": "poll"},
        {"message": None},
        {"message": "x" * 8193},
        {"options": "confirm"},
        {"options": [1]},
        {"options": [""]},
        {"options": ["a", "a"]},
        {"options": [str(one) for one in range(101)]},
        {"type": "selection", "options": []},
        {"timeout_ms": 0},
        {"timeout_ms": True},
        {"timeout_ms": "60000"},
    ],
)
def test_what_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_callback({**SEED, **wrong})


def test_what_is_left_out_has_a_default_and_no_wait_is_endless() -> None:
    asked = read_callback({"callback_id": 7, "type": "confirmation", "message": "?"})
    assert (asked.options, asked.timeout_s) == (("confirm", "cancel"), USUAL_S)
    for most in (10**12, 10**400):  # as text, either may stand in a message
        assert read_callback({**SEED, "timeout_ms": most}).timeout_s == LONGEST_S
    assert read_callback({**SEED, "type": "input"}).options == ()
    assert "extra" not in read_callback({**SEED, "extra": "unseen"}).params


def test_a_response_is_one_of_the_options_where_there_are_any() -> None:
    asked = read_callback(SEED)
    assert flaw_of_response(asked, "confirm") == ""
    free = read_callback({**SEED, "type": "input"})
    assert flaw_of_response(free, "anything") == ""
    for wrong in ("maybe", "", None, 1, ["confirm"], "x" * 65_537):
        assert flaw_of_response(asked, wrong)
    assert flaw_of_response(free, "x" * 65_537)


def test_the_same_as_a_form_and_back() -> None:
    asked = read_callback(SEED)
    form = form_of(asked)
    assert form["properties"]["response"]["enum"] == ["confirm", "cancel"]
    assert form["required"] == ["response"]
    accepted = {"action": "accept", "content": {"response": "confirm"}}
    assert response_of_form(asked, accepted) == "confirm"
    assert response_of_form(asked, {"action": "accept", "content": {"response": "x"}}) is None
    assert response_of_form(asked, {"action": "decline"}) == "cancel"
    assert "enum" not in form_of(read_callback({**SEED, "type": "input"}))["properties"]["response"]


def test_nobody_is_made_to_say_what_was_not_offered() -> None:
    """MGP-13.4-2: a form that is declined is no yes to anything."""
    for kind in ("input", "selection"):
        asked = read_callback({**SEED, "type": kind})
        assert response_of_form(asked, {"action": "decline"}) is None
    no = read_callback({**SEED, "options": ["go", "NO"]})
    assert response_of_form(no, {"action": "cancel"}) == "NO"
    without = read_callback({**SEED, "options": ["go", "go faster"]})
    assert response_of_form(without, {"action": "decline"}) is None
