from __future__ import annotations

import json

from gatewright.mcpx.system_messages import (
    error_payload,
    member_text,
    notice_payload,
    presence_payload,
    welcome_payload,
)

ANN = member_text('a"', ["chat"])


def test_a_welcome_lists_who_is_here() -> None:
    """MCPX-3.5.1-1."""
    ann = {"id": 'a"', "capabilities": ["chat"]}
    assert json.loads(welcome_payload(ANN, [])) == {"you": ann, "participants": []}
    assert json.loads(welcome_payload(ANN, [ANN, ANN]))["participants"] == [ann, ann]


def test_presence_has_capabilities_for_a_join_alone() -> None:
    """MCPX-3.4-1."""
    joined = json.loads(presence_payload("join", 'a"', ANN))
    assert joined == {"event": "join", "participant": {"id": 'a"', "capabilities": ["chat"]}}
    left = json.loads(presence_payload("leave", 'a"', ANN))
    assert left == {"event": "leave", "participant": {"id": 'a"'}}


def test_an_error_says_what_was_tried_where_that_is_known() -> None:
    """MCPX-3.5.2-1."""
    assert json.loads(error_payload("e", "m", None, None)) == {"error": "e", "message": "m"}
    assert json.loads(error_payload("e", "m", "k", [])) == {
        "error": "e",
        "message": "m",
        "attempted_kind": "k",
        "your_capabilities": [],
    }
    assert json.loads(notice_payload("a", "k"))["participant"] == "a"
