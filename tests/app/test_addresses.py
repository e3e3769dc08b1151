from __future__ import annotations

from gatewright.app.addresses import urls_of


def test_every_endpoint_has_its_url_in_one_order() -> None:
    rooms, rpc = {"rooms": "wss://h:1/ws"}, {"rpc": "https://h:1/rpc"}
    found = urls_of("https://h:1", ["small"], [lambda _: rooms, lambda _: rpc])
    assert found["mcp/small"] == "https://h:1/mcp/small"
    assert found["websocket"] == "wss://h:1/mcp"
    assert list(found) == ["mcp", "sse", "websocket", "rpc", "rooms", "mcp/small"]
