"""Of what a `subscriptions/listen` asks for what can be told is acknowledged, and notifications carry its id."""

from __future__ import annotations

import pytest

from gatewright.call import Mgp
from gatewright.mcp.protocol import listen_messages
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION


def test_a_notification_is_marked_beside_what_it_carries() -> None:
    assert listen_messages.tag({"uri": "u", "_meta": {"x": 1}}, 7) == {
        "uri": "u",
        "_meta": {"x": 1, META_SUBSCRIPTION: 7},
    }
    for odd in (None, {}, {"_meta": None}, {"_meta": 5}):
        assert listen_messages.tag(odd, "s") == {"_meta": {META_SUBSCRIPTION: "s"}}
    assert jsonrpc.decode(listen_messages.listened(0)) == {
        "resultType": "complete",
        "_meta": {META_SUBSCRIPTION: 0},
    }


def test_only_what_we_can_tell_is_acknowledged() -> None:
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": 1,
        "x": True,
        "resourceSubscriptions": [],
    }
    assert listen_messages.acknowledgement(wanted, 2) == {"toolsListChanged": True}
    uris = {"resourceSubscriptions": ["a", "b"]}
    assert listen_messages.acknowledgement(uris, 2) == uris
    with pytest.raises(ValueError, match="at most 1"):
        listen_messages.acknowledgement(uris, 1)


@pytest.mark.parametrize("wanted", [True, False, "yes", 1])
def test_what_an_extension_brings_is_for_those_who_negotiated_it(wanted: object) -> None:
    """MGP-6.3-1: `audit` in a filter, by the name that it has among MCP's own members."""
    asked = {"dev.cloto/audit": wanted}
    having, lacking = (Mgp("0.2.0", (name,), "mgp") for name in ("audit", "security"))
    assert listen_messages.acknowledgement(asked, 2, having) == (asked if wanted is True else {})
    for mgp in (None, lacking):
        assert listen_messages.acknowledgement(asked, 2, mgp) == {}
