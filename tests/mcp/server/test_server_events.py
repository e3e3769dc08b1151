"""What a client is sent of what servers say."""

from __future__ import annotations

from gatewright.call import Client, Event, Mgp
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.server.server_events import hears, wanted
from gatewright.mcp.wire.versions import METHODS


def test_each_notification_of_mgp_belongs_to_an_extension() -> None:
    """MGP-1.2-2."""
    plain = Client("2025-11-25")
    names = {
        "notifications/mgp.stream.chunk": "streaming",
        "notifications/mgp.event": "bidirectional",
        "notifications/mgp.callback.request": "bidirectional",
        "notifications/mgp.lifecycle": "lifecycle",
        "notifications/mgp.audit": "audit",
    }
    for method, extension in names.items():
        with_it = Client("2025-11-25", mgp=Mgp("0.2.0", (extension,)))
        without = Client("2025-11-25", mgp=Mgp("0.2.0", ("security",)))
        heard = [hears(one, method) for one in (plain, without, with_it)]
        assert heard == [False, False, True]
    assert hears(plain, "notifications/progress")


def test_progress_is_told_in_the_token_of_the_request_and_where_there_is_none_not_at_all() -> None:
    said = Event("notifications/progress", {"progressToken": 5, "progress": 1})
    for meta, expected in (
        ({"progressToken": "mine"}, {"progressToken": "mine", "progress": 1}),
        ({}, None),
        (None, None),
        (7, None),
        (["progressToken"], None),
        ("progressToken", None),
    ):
        params = {"name": "x", "_meta": meta}
        inbound = Inbound(b"1", "tools/call", params, Client("2025-11-25"), METHODS["tools/call"])
        assert wanted(said, inbound, Conversation(Face())) == expected
