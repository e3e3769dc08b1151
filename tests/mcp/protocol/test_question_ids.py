"""Ids of questions to clients."""

from __future__ import annotations

import os

from gatewright.mcp.protocol.question_ids import question_id
from gatewright.mcp.wire import jsonrpc


def test_no_two_questions_have_one_id_whatever_conversation_they_are_of() -> None:
    assert len({question_id(os.urandom) for _ in range(1000)}) == 1000


def test_an_id_is_a_short_text() -> None:
    assert jsonrpc.decode(question_id(lambda size: bytes(range(size)))) == "gw-0001020304050607"
