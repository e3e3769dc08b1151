"""What is kept of an event is the text that all were told, and its members are that text still."""

from __future__ import annotations

from unittest.mock import patch

from gatewright.events.subscription import Kept, Said
from gatewright.mcp.server.kept_answers import of_server
from gatewright.mcp.wire import jsonrpc

PARAMS = {"channel": "model.x", "data": {"text": "x" * 1000, "n": [1.50]}}


def test_the_large_part_of_an_event_is_encoded_once_however_many_hear_of_it() -> None:
    said = Said(PARAMS)
    frames = [jsonrpc.encode({"subscription_id": one, **said.params}) for one in ("a", "b")]
    assert [jsonrpc.decode(one) for one in frames] == [
        {"subscription_id": one, **PARAMS} for one in ("a", "b")
    ]
    with patch("gatewright.events.subscription.jsonrpc.encode", side_effect=jsonrpc.encode) as made:
        assert said.raw is said.raw
    assert made.call_count == 1
    assert abs(said.size - len(said.raw)) < 16


def test_what_is_kept_is_told_again_without_being_decoded() -> None:
    kept = Kept(1, Said(PARAMS).raw, lambda *_: True)
    assert jsonrpc.decode(jsonrpc.encode(kept.members)) == PARAMS


def test_whose_an_event_is_is_known_when_it_is_told_again() -> None:
    """What waits on a session's own stream is judged again by the server that it is of."""
    kept = Kept(1, Said({**PARAMS, "server_id": "srv"}).raw, lambda *_: True)
    assert of_server("", kept.members) == of_server("srv")
