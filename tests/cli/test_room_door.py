"""What a message looks like in a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.cli.room_door import cells
from gatewright.participants.participant import Heard
from gatewright.protocol.room_payload import examine
from gatewright.wire.mcpx import GATEWAY
from tests.protocol.test_room_payload import envelope, request


@pytest.mark.parametrize(
    ("kind", "payload", "more", "shown"),
    [
        ("chat", {"text": "hi"}, {}, ("says", "hi")),
        (
            "mcp/proposal:tools/call:dig",
            {"method": "tools/call", "params": {"name": "dig", "arguments": {"a": 1}}},
            {},
            ("proposes", 'dig {"a":1}'),
        ),
        ("mcp/request:tools/list", request("tools/list"), {}, ("asks", "tools/list {}")),
        (
            "mcp/request:tools/list",
            request("tools/list"),
            {"correlation_id": "p"},
            ("fulfils", "tools/list {}"),
        ),
        (
            "mcp/response:tools/list",
            {"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 500}},
            {"correlation_id": "p"},
            ("answers", '{"x":"' + "y" * 113 + "…"),
        ),
        (
            "system/presence",
            {"event": "join", "participant": {"id": "bob"}},
            {"sender": GATEWAY},
            ("presence", "join bob"),
        ),
        ("system/error", {"error": "x", "message": "no"}, {"sender": GATEWAY}, ("error", "no")),
        ("chat", {}, {}, ("unfit", 'chat has a text, and as format "plain" or "markdown"')),
        ("weather", {}, {}, ("weather", "")),
    ],
)
def test_every_message_is_one_row(
    kind: str, payload: Any, more: dict[str, Any], shown: tuple[str, str]
) -> None:
    found = envelope(kind, payload, **more)
    assert cells(Heard(found, examine(found))) == ("e1", f"{found.sender} → all", *shown)
