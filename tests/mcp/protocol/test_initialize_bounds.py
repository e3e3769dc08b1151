"""What is kept of a handshake, and how much of it may be said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.protocol.client_params import Rejected
from gatewright.mcp.protocol.initialize_bounds import kept_of, too_much_kept
from gatewright.mcp.protocol.mcp_server import Conversation, Hello
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire import jsonrpc


def params(capabilities: Any, info: Any = None) -> bytes:
    said = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
    return json.dumps(said, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "capabilities",
    [
        {"x": "a" * 70_000},
        {"x": [[]] * 3000},
        {str(one): 1 for one in range(1500)},
        {"experimental": {"mgp": {"extensions": ["a"] * 5000}}},
    ],
)
def test_capabilities_beyond_any_that_a_client_has_are_refused(capabilities: Any) -> None:
    text = params(capabilities)
    assert "declare what the client can do, and nothing else" in too_much_kept(text)
    found = Conversation(Face()).receive(jsonrpc.Request(b"1", "initialize", text))
    assert isinstance(found, Rejected)
    assert found.code == jsonrpc.INVALID_PARAMS


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        None,
        [],
        {
            "sampling": {"tools": {}},
            "elicitation": {"form": {}, "url": {}},
            "roots": {"listChanged": True},
        },
        {"experimental": {str(one): {"a": "x" * 50} for one in range(300)}},
    ],
)
def test_what_clients_declare_is_taken(capabilities: Any) -> None:
    text = params(capabilities, {"name": "a", "version": "1", "icons": [{"src": "x" * 300_000}]})
    assert too_much_kept(text) == ""
    talk = Conversation(Face())
    assert isinstance(talk.receive(jsonrpc.Request(b"1", "initialize", text)), Hello)
    assert talk.client is not None
    assert talk.client.info == {"name": "a", "version": "1"}


def test_a_short_introduction_is_kept_as_it_is() -> None:
    info = {"name": "a", "websiteUrl": "https://a.example", "x": [1]}
    assert kept_of(info, 200) is info
    assert kept_of("a", 10_000) == "a"
    assert kept_of({"name": 1, "version": "v" * 9000}, 10_000) == {"version": "v" * 4096}
