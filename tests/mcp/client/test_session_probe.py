"""What a ping says of the session in which it is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.session_probe import is_gone, refuses_alike
from gatewright.transport.http_client import ConnectionBroken, Posted

ERROR = {"code": -32000, "message": "No such session"}


class Wire:
    """Answers the ping with a status and a body, or breaks."""

    def __init__(
        self, status: int, said: dict[str, Any] | None, broken: Exception | None = None
    ) -> None:
        self.sent: list[tuple[Any, Any]] = []
        self._status, self._said, self._broken = status, said, broken

    async def post(self, body: bytes, headers: Any, on_message: Any) -> Posted:
        self.sent.append((json.loads(body), dict(headers)))
        if self._broken is not None:
            raise self._broken
        text = b"" if self._said is None else json.dumps({"jsonrpc": "2.0", **self._said}).encode()
        return Posted(self._status, {}, text)


@pytest.mark.parametrize(
    ("status", "said", "alike", "gone"),
    [
        (404, None, True, True),
        (404, {"id": 7, "error": ERROR}, True, True),
        (404, {"id": None, "error": ERROR}, True, True),
        (400, {"id": None, "error": ERROR}, True, True),
        (404, {"id": 7, "error": {"code": -32000, "message": "not found"}}, False, True),
        (404, {"id": 7, "error": {"code": -32601, "message": "no such method"}}, False, False),
        (404, {"id": 7, "result": {}}, False, False),
        (200, {"id": 7, "result": {}}, False, False),
        (500, None, False, False),
    ],
)
async def test_a_ping_that_is_refused_tells_of_the_session(
    status: int, said: dict[str, Any] | None, alike: bool, gone: bool
) -> None:
    wire: Any = Wire(status, said)
    assert await refuses_alike(wire, "s-1", 7) is alike
    assert await is_gone(wire, "s-1", 7) is gone
    ping = {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {}}
    assert wire.sent == [(ping, {"Mcp-Session-Id": "s-1"})] * 2


@pytest.mark.parametrize(
    "broken", [ConnectionBroken("broken"), NotAuthorized("no token"), TimeoutError()]
)
async def test_nobody_can_say_where_a_ping_cannot_be_had(broken: Exception) -> None:
    wire: Any = Wire(0, None, broken)
    assert not await refuses_alike(wire, "s-1", 7)
    assert not await is_gone(wire, "s-1", 7)
