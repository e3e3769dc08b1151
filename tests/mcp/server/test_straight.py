"""Which messages go straight."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.straight import _read
from gatewright.mcp.wire.json_bounds import Limits

HEAD = ((b"content-type", b"application/json"), (b"mcp-session-id", b"s"))


class _Front:
    limits, face = Limits(), None


def _message(**more: Any) -> bytes:
    params = {"name": "x", "arguments": {"a": 1}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **more}).encode()  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        _message(method="tools/list"),
        _message(params={"name": 7}),
        _message(params={"name": ["x"]}),
        _message(params={"arguments": {}}),
        _message(params={"name": "x", "_meta": {}}),
        _message(params={"name": "x", "Name": "y"}),
        _message(params=["x"]),
        _message(trace_id="t"),
        _message(id=None),
        _message(id='"\\'),
        _message(more=1, method=2),
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"x"}}',
        b"[]",
        b"no",
    ],
)
def test_what_is_unusual_is_left_to_the_walk(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """And nobody's log is filled by it."""
    assert _read(body, HttpHeaders(HEAD), _Front()) is None  # type: ignore[arg-type]
    assert not caplog.records


def test_what_is_usual() -> None:
    for ident in (7, "a", -1):
        read = _read(_message(id=ident), HttpHeaders(HEAD), _Front())  # type: ignore[arg-type]
        assert read is not None
        assert read[1] == {"name": "x", "arguments": {"a": 1}}
