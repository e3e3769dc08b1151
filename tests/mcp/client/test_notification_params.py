"""The params of what a server tells."""

from __future__ import annotations

import pytest

from gatewright.mcp.client.notification_params import params_of
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification


@pytest.mark.parametrize("params", [b"[1]", b"{", b"3", b'{"a":"' + b"a" * DECODED_BYTES + b'"}'])
def test_params_that_are_none_or_too_long_are_named(params: bytes) -> None:
    assert isinstance(params_of(Notification("a/b", params)), str)


def test_params_are_read() -> None:
    assert params_of(Notification("a/b", b'{"a":1}')) == {"a": 1}
    assert params_of(Notification("a/b", b"")) == {}
