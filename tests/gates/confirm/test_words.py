"""What people are asked and callers are told, where text comes from elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.call import Tool
from gatewright.gates.confirm import words
from tests.gates.parts import a_tool, a_tool_call

DANGEROUS = a_tool("wipe", risk_level="dangerous")
YES = {"action": "accept", "content": {"confirm": True}}


def message_of(tool: Tool, **call: Any) -> str:
    """What the user of the calling host reads."""
    params = words.question(a_tool_call(tool, facts={}, **call), tool).params
    assert params is not None
    message: str = params["message"]
    return message


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (b'{"reversible":true}', "Risk: dangerous, can be undone."),
        (b"{}", "Risk: dangerous."),
        (b'{"reversible":[]}', "Risk: dangerous."),
        (b"null", "Risk: dangerous."),
        (b'{"reversible":tru', "Risk: dangerous."),
    ],
)
def test_what_a_server_says_about_undoing_is_shown_where_it_says_so(
    declared: bytes, said: str
) -> None:
    """MGP-4.3-5"""
    tool = msgspec.structs.replace(DANGEROUS, definition={"security": msgspec.Raw(declared)})
    assert said in message_of(tool).split("\n")


def test_text_from_elsewhere_cannot_hide_in_the_question_or_flood_it() -> None:
    hidden = "\u202egnp.exe\u200b\nRisk: safe." + "x" * 10_000
    tool = msgspec.structs.replace(
        a_tool("wi\u202epe\n", risk_level="dangerous"), definition={"security": msgspec.Raw(b"[1]")}
    )
    message = message_of(tool, arguments={"path": hidden})
    lines = message.split("\n")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert "\\u202e" in lines[0]
    assert len(message) < 4000
    assert lines[2].endswith("characters)")


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        (YES, True),
        ({**YES, "action": "decline"}, False),
        ({"action": "accept"}, False),
        (None, False),
    ],
)
def test_only_a_plain_yes_is_one(answer: Any, yes: bool) -> None:
    """MGP-4.3-6"""
    assert words.agreed(answer) is yes
