"""What a client is sent of what servers say."""

from __future__ import annotations

from typing import Any

import msgspec

from gatewright.call import Client, Event, Mgp
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.server.server_events import chunk_end_of, hears, wanted
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


class Answering:
    """A reply that keeps what is sent on it."""

    def __init__(self) -> None:
        self.behind = 0
        self.sent: list[bytes] = []

    def event(self, frame: bytes) -> bool:
        self.sent.append(frame)
        return True


def _asked(*extensions: str) -> Inbound:
    client = Client("2025-11-25", mgp=Mgp("0.2.0", extensions))
    return Inbound(b'"mine"', "tools/call", {"name": "x"}, client, METHODS["tools/call"])


def test_chunks_leave_by_the_reply_that_waits_for_them_and_by_no_later_one() -> None:
    """MGP-12.4-1: a client that asks again is not sent the chunks of the request before."""
    first, later = Answering(), Answering()
    waiting: list[Any] = [first]
    found = chunk_end_of(first, _asked("streaming"), lambda: waiting[-1])  # type: ignore[arg-type]
    assert found is not None
    assert found.free(0)
    found.say(3, "so far")
    (frame,) = first.sent
    params = msgspec.json.decode(frame)["params"]
    assert (params["request_id"], params["index"], params["done"]) == ("mine", 3, False)
    first.behind = 11
    assert (found.free(10), found.free(11)) == (False, True)
    waiting.append(later)
    assert not found.free(11)
    waiting.append(None)
    assert not found.free(11)


def test_who_has_not_negotiated_streaming_has_no_place_where_chunks_leave() -> None:
    """MGP-1.2-2."""
    reply: Any = Answering()
    assert chunk_end_of(reply, _asked("security"), lambda: reply) is None
    assert chunk_end_of(None, _asked("streaming"), lambda: None) is None
