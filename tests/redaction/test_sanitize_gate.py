"""The gate `sanitize`: what nobody sees goes out of the arguments, where the operator wants it, before they are judged."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.audit.call_records import request_of
from gatewright.call import Call, Refusal
from gatewright.redaction.sanitize_gate import Sanitize, Wanted
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call

EVERYWHERE = Sanitize(Wanted(True))


async def cleaned(arguments: Any) -> tuple[Call, Call]:
    call = a_tool_call(a_tool(), arguments=arguments, facts={})
    found = EVERYWHERE(call, Mute())
    assert isinstance(found, Call)
    return call, found


async def test_arguments_without_anything_hidden_are_the_very_call() -> None:
    call, found = await cleaned({"text": "plain", "n": [1, {"x": None}]})
    assert found is call
    assert call.facts == {}


async def test_control_characters_go_and_the_record_says_what_there_was() -> None:
    """GRH-val-3: the original is known by its digest, and the metadata says what was done."""
    call, found = await cleaned({"text": "a\x00b\u200b", "n": 1})
    assert found.arguments == {"text": "ab", "n": 1}
    was, now = request_of(call), request_of(found)
    assert was is not None
    assert now is not None
    assert found.facts["sanitized"] == {
        "removed": 2,
        "original_size": was.bytes,
        "sanitized_size": now.bytes,
        "original_digest": was.digest,
    }


async def test_arguments_that_nobody_could_walk_are_refused() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    found = EVERYWHERE(a_tool_call(a_tool(), arguments={"deep": deep}), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "invalid_args"
    while isinstance(deep, list):  # by hand: taking such a thing apart at once overflows as well
        deep = deep.pop()


@pytest.mark.parametrize(
    ("server", "tool", "wanted"),
    [
        ("srv", "echo", False),
        ("srv", "other", True),
        ("two", "x", False),
        ("two", "y", True),
        ("three", "x", True),
    ],
)
def test_the_nearest_word_holds(server: str, tool: str, wanted: bool) -> None:
    tools = {("srv", "echo"): False, ("two", "*"): False, ("two", "y"): True}
    assert Wanted(True, {"srv": True}, tools).of(server, tool) is wanted


def test_the_gate_is_idle_where_nobody_wants_it() -> None:
    assert Sanitize(Wanted()).idle
    assert Sanitize(Wanted(False, {"a": False})).idle
    assert not Sanitize(Wanted(False, {}, {("a", "b"): True})).idle


async def test_what_is_no_tool_is_left_alone() -> None:
    call = a_call("prompt", "hello", method="prompts/get", arguments={"a": "\x00"})
    assert EVERYWHERE(call, Mute()) is call
