"""Outcomes of calls as text for people: whatever a tool answers, nothing of it becomes part of the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Outcome, Refusal
from gatewright.console.tool_trial import Block, trial_of
from tests.servers.rig import make_call


def answered(result: Any, *, error: bool = False) -> Answer:
    return Answer(json.dumps(result).encode(), error)


@pytest.mark.parametrize(
    ("outcome", "ended", "code"),
    [
        (answered({"content": []}), "answered", ""),
        (answered({"content": []}, error=True), "tool error", ""),
        (Refusal("access_denied", "no", gate="access"), "refused", "access_denied"),
        (Failure("timeout"), "failed", "timeout"),
    ],
)
def test_each_end_has_its_word(outcome: Outcome, ended: str, code: str) -> None:
    found = trial_of(make_call("tool", "x"), outcome, 1.0)
    assert (found.ended, found.code) == (ended, code)
    assert bool(found.message) == bool(code)


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ([{"type": "text", "text": "a"}], [Block(kind="text", text="a")]),
        (
            [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            [
                Block(
                    kind="image", text='{\n  "data": "4 characters",\n  "mimeType": "image/png"\n}'
                )
            ],
        ),
        ([5, None], []),
        (None, []),
        ("text", []),
    ],
)
def test_content_is_text_and_pictures_are_counted(content: Any, blocks: list[Block]) -> None:
    found = trial_of(make_call("tool", "x"), answered({"content": content}), 1.0)
    assert found.blocks == blocks
