"""What hosts say without waiting: read, or dropped with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Client
from gatewright.mcp.protocol.client_params import (
    Dropped,
    Notice,
    no_request,
    params_of,
    read_notice,
)
from gatewright.mcp.wire import jsonrpc

CLIENT = Client("2025-11-25")


def read(method: str, params: Any = None) -> Notice | Dropped | None:
    text = b"" if params is None else jsonrpc.encode(params)
    return read_notice(jsonrpc.Notification(method, text), CLIENT)


def test_a_notification_keeps_what_it_says() -> None:
    assert read("notifications/acme.x", {"n": 2**70}) == Notice(
        "notifications/acme.x", {"n": 2**70}, CLIENT
    )
    assert read("notifications/acme.x") == Notice("notifications/acme.x", {}, CLIENT)


@pytest.mark.parametrize("params", [[1], {"_meta": 1}])
def test_one_that_cannot_be_read_says_nothing(params: Any) -> None:
    assert read("notifications/acme.x", params) is None
    with pytest.raises(ValueError, match="must be an object"):
        params_of(jsonrpc.Notification("x", jsonrpc.encode(params)))


@pytest.mark.parametrize(
    ("method", "code", "says"),
    [
        ("tools/call", -32600, "is a request, and has no id; nothing was done"),
        ("initialize", -32600, "is a request"),
        ("shutdown", -32600, "is a request"),
        ("acme/x", -32600, "is a request"),
        ("Tools/Call", -32600, "tools/call is, and is spelled so; nothing was done"),
        ("Notifications/Initialized", -32600, "notifications/initialized is"),
        ("notifications//initialized", -32601, "notifications/initialized is"),
        ("notifications/x y", -32601, "U+0020"),
    ],
)
def test_what_is_no_notification_is_dropped_by_name(method: str, code: int, says: str) -> None:
    found = read(method, {"name": "wipe"})
    assert isinstance(found, Dropped)
    assert found.code == code
    assert says in found.message


def test_a_request_is_no_notification_and_no_spelling_of_another() -> None:
    assert no_request("acme/report") == ""
    assert "goes without an id" in no_request("notifications/cancelled")
    assert "tools/call is" in no_request("TOOLS/CALL")
