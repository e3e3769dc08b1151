"""What a client of HTTP+SSE posts is told apart by how it begins, as it is written here."""

from __future__ import annotations

import json

from gatewright.mcp.client.outgoing import question
from gatewright.mcp.protocol import mcp_client
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.posted_messages import (
    CALL,
    INITIALIZED,
    MEANS_NOTHING,
    NOTIFICATION,
    REQUEST,
    RESPONSE,
    error_to,
)


def test_requests_answers_and_notifications_are_told_apart_as_they_are_written() -> None:
    call, listing = question(17, "tools/call", {}), question(18, "tools/list", {})
    answer = jsonrpc.response(b'"a\\"b"', b"{}")
    told = jsonrpc.notification("notifications/cancelled", {"requestId": 0})
    assert [bool(CALL.match(one)) for one in (call, listing, answer, told)] == [True, *[False] * 3]
    assert [found[1] for one in (call, listing) if (found := REQUEST.match(one))] == [b"17", b"18"]
    assert REQUEST.match(answer) is REQUEST.match(told) is RESPONSE.match(call) is None
    assert (found := RESPONSE.match(answer)) is not None
    assert found[1] == b'"a\\"b"'
    assert told == MEANS_NOTHING
    assert [one.startswith(NOTIFICATION) for one in (told, call, answer)] == [True, False, False]
    assert mcp_client.INITIALIZED.startswith(INITIALIZED)


def test_the_error_in_the_place_of_an_answer_has_the_id_as_it_is_spelled() -> None:
    error = {"code": -32000, "message": 'so "it" is'}
    assert json.loads(error_to(b'"q"', error["message"])) == {  # type: ignore[arg-type]
        "jsonrpc": "2.0",
        "id": "q",
        "error": error,
    }
