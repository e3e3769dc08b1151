"""The params of what a server tells."""

from __future__ import annotations

import pytest

from gatewright.mcp.client.notification_params import EVENT_BYTES, params_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification
from gatewright.mcp.wire.methods import EVENT


@pytest.mark.parametrize("params", [b"[1]", b"{", b"3", b'{"a":"' + b"a" * DECODED_BYTES + b'"}'])
def test_params_that_are_none_or_too_long_are_named(params: bytes) -> None:
    assert isinstance(params_of(Notification("a/b", params)), str)


def test_params_are_read() -> None:
    assert params_of(Notification("a/b", b'{"a":1}')) == {"a": 1}
    assert params_of(Notification("a/b", b"")) == {}


def _event(*, data: bytes, method: str = EVENT) -> Notification:
    return Notification(method, b'{"subscription_id":"a","channel":"tool.x","data":%b}' % data)


@pytest.mark.parametrize("element", [b"1e1", b"[]", b"1.50", b"0"])
@pytest.mark.parametrize("size", [60_000, 1_000_000])
@pytest.mark.parametrize(
    "method",
    [EVENT, "notifications/tools/list_changed", "notifications/cancelled", "notifications/mgp.lifecycle"],
)  # fmt: skip
def test_what_names_things_and_is_long_or_dear_is_refused_before_it_is_decoded(
    element: bytes, size: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MGP-13.3-1: a server sends a hundred events a second, and as much as it likes of all else."""
    data = b"[%b]" % b",".join([element] * (size // (len(element) + 1)))
    note = _event(data=data, method=method)
    decode, decoded = jsonrpc.decode, list[int]()

    def watched(data: bytes) -> object:
        decoded.append(len(data))
        return decode(data)

    monkeypatch.setattr(jsonrpc, "decode", watched)
    found = params_of(note)
    fits = size < EVENT_BYTES and element == b"0"
    assert isinstance(found, dict if fits else str)
    assert bool(decoded) is fits


def test_an_event_of_rows_as_long_as_may_be_is_read() -> None:
    rows = b",".join([b'{"name":"abc","size":12}'] * 2500)
    assert 60_000 < len(rows) < EVENT_BYTES
    assert isinstance(params_of(_event(data=b"[%b]" % rows)), dict)


def test_what_is_no_event_may_be_as_long_as_a_notification() -> None:
    note = Notification("notifications/message", b'{"data":"%b"}' % (b"x" * 2 * EVENT_BYTES))
    assert isinstance(params_of(note), dict)


def test_an_acknowledgement_repeats_as_many_resources_as_callers_listen_for() -> None:
    uris = b",".join(b'"file:///srv/%060d"' % number for number in range(4000))
    note = Notification(
        "notifications/subscriptions/acknowledged",
        b'{"notifications":{"resourceSubscriptions":[%b]}}' % uris,
    )
    assert len(note.params) > 2 * EVENT_BYTES
    found = params_of(note)
    assert isinstance(found, dict)
    assert len(found["notifications"]["resourceSubscriptions"]) == 4000
