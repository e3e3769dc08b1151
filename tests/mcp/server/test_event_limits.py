"""Clients that cannot read large events."""

from __future__ import annotations

import json

import pytest

from gatewright.mcp.server.event_limits import SMALL_EVENT, fitting
from gatewright.mcp.wire import jsonrpc


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_an_answer_that_is_too_large_for_an_event_becomes_an_error_with_its_size(
    more: int, fits: bool
) -> None:
    empty = len(jsonrpc.response(b"7", b'""'))
    frame = jsonrpc.response(b"7", b'"' + b"x" * (SMALL_EVENT - empty + more) + b'"')
    sent = fitting(b"7", frame)
    assert (sent == frame) is fits
    if not fits:
        body = json.loads(sent)
        assert (body["id"], body["error"]["data"]["details"]["sent"]) == (7, True)
        assert str(len(frame)) in body["error"]["message"]
        assert "retry_after_ms" not in body["error"]["data"]
