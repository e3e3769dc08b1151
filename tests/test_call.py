"""The vocabulary: values that do not change under the hands of those who pass them on."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Failure,
    Mgp,
    Question,
    Refusal,
    Security,
    Target,
    Tool,
)


def _call(params: dict[str, Any]) -> Call:
    return Call(
        "c1", "http", "tool", "tools/call", "x", params, ANONYMOUS, Client("2025-11-25"), "t1"
    )


VALUES = [
    _call({}),
    Caller("a"),
    Client("2025-11-25"),
    Mgp("0.2.0", ("audit",)),
    Security(),
    Target("srv", "x"),
    Tool(Target("srv", "x"), "srv__x", {}),
    Answer(b"{}"),
    Refusal("access_denied", "no"),
    Failure("timeout"),
    Event("notifications/progress", {}),
    Question("elicitation/create"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_of_the_vocabulary_cannot_be_changed(value: Any) -> None:
    first = value.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, first, None)


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({}, {}),
        ({"arguments": None}, {}),
        ({"arguments": {"a": 1}}, {"a": 1}),
        ({"arguments": [1]}, [1]),
        ({"arguments": 0}, 0),
    ],
)
def test_arguments_are_an_empty_object_where_there_are_none(
    params: dict[str, Any], arguments: Any
) -> None:
    assert _call(params).arguments == arguments


def test_what_one_call_finds_out_is_not_known_to_another() -> None:
    first, second = _call({}), _call({})
    first.facts["access"] = "tool_grant"
    assert second.facts == {}


def test_nothing_is_trusted_about_a_caller_that_nobody_named() -> None:
    assert (ANONYMOUS.kind, ANONYMOUS.key_id) == ("anonymous", None)
    assert Caller("x").kind == "agent"


def test_a_tool_of_which_nothing_is_known_is_neither_safe_nor_declared() -> None:
    security = Tool(Target("srv", "x"), "srv__x", {}).security
    assert (security.risk_level, security.declared) == ("moderate", False)


def test_who_cannot_be_asked_says_so_in_the_words_of_json_rpc() -> None:
    found = CannotAsk("no such capability", data={"need": "elicitation"})
    assert (found.message, found.code, found.data) == (
        "no such capability",
        -32601,
        {"need": "elicitation"},
    )
    assert str(found) == "no such capability"
