"""What connections of one server share: the application, and lines that are spelled once a second."""

from __future__ import annotations

from typing import Any

import pytest
from uvicorn.config import Config

from gatewright.transport import http_server_state
from gatewright.transport.base import Limits
from gatewright.transport.http_server_state import Serving


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Nobody calls it here."""


def _serving() -> Serving:
    config = Config(echo, interface="asgi3", proxy_headers=False, log_config=None)
    config.load()
    return Serving(config, Limits(), lambda: None)


async def test_what_connections_have_together_tells_the_time_in_two_ways() -> None:
    serving = _serving()
    (name, now) = serving.default_headers[0]
    assert serving.date == name + b": " + now + b"\r\n"
    assert serving.app is echo
    assert serving.turns is not serving.farewells


async def test_the_time_is_told_anew_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    serving = _serving()
    monkeypatch.setattr(
        http_server_state, "formatdate", lambda **_: "Sun, 06 Nov 1994 08:49:37 GMT"
    )
    serving.every_second()
    assert serving.date == b"date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    assert serving.date in serving.json_head
    assert serving.json_head.endswith(b"content-length: ")
