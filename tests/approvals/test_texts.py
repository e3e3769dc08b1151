"""What people are asked and callers are told, where text comes from elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.approvals import texts
from gatewright.call import Tool
from tests.gate_parts import a_tool, a_tool_call

DANGEROUS = a_tool("wipe", risk_level="dangerous")
YES = {"action": "accept", "content": {"confirm": True}}


def message_of(tool: Tool, **call: Any) -> str:
    """What the user of the calling host reads."""
    params = texts.question(a_tool_call(tool, facts={}, **call), tool).params
    assert params is not None
    message: str = params["message"]
    return message


def test_a_person_who_is_asked_reads_who_wants_that() -> None:
    """The inbox makes a sentence of it: `Because …`."""
    tool = a_tool("send", confirmation_required=True)
    assert texts.reason(a_tool_call(tool, facts={}), tool) == "this tool always asks"


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
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    assert "\\u202e" in lines[0]
    assert len(message) < 4000
    assert lines[2].endswith(", 10037 bytes, shortened:")
    assert "characters" in lines[3]


def test_a_long_argument_pushes_no_other_out_of_sight() -> None:
    """Whoever calls chooses the order of the arguments, and what else stands among them."""
    given = {"note": "x" * 5000, "command": "list; " + "#" * 5000 + "; remove", "path": "/home"}
    message = message_of(DANGEROUS, arguments=given)
    assert '- "path": "/home"' in message.split("\n")
    assert '- "command": "list; ###' in message
    assert message.rstrip().endswith('- "path": "/home"')
    assert '; remove"' in message


def test_no_argument_makes_a_line_that_looks_like_one_of_ours() -> None:
    given = {"note": "x" * 5000, "Risk": "safe", **{f"m{number}": 1 for number in range(100)}}
    lines = message_of(DANGEROUS, arguments=given).split("\n")
    assert [line for line in lines if line.startswith("Risk")] == ["Risk: dangerous."]
    assert lines[-1] == "and 78 more"
    assert len(lines) == 28


@pytest.mark.parametrize("arguments", [{"path": "/x" * 250}, {"path": "\u202e" * 90}])
def test_what_is_short_is_shown_whole(arguments: dict[str, str]) -> None:
    last = message_of(DANGEROUS, arguments=arguments).split("\n")[-1]
    assert last.endswith('"}')
    assert "characters" not in last


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
    assert texts.agreed(answer) is yes


def test_an_operator_is_told_for_how_long_a_yes_to_what_reaches_out_holds() -> None:
    tool = a_tool("search", hints=("open_world",))
    said = texts.reason(a_tool_call(tool), tool, 28_800.0)
    assert said.endswith("; a yes holds for all its calls by agent.one for 8 h")
    both = a_tool("post", hints=("destructive", "open_world"))
    assert "a yes holds" not in texts.reason(a_tool_call(both), both, 28_800.0)
    assert "a yes holds" not in texts.reason(a_tool_call(tool), tool, 0.0)
