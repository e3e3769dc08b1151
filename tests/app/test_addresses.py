from __future__ import annotations

from gatewright.app.addresses import urls_of


def test_every_door_has_its_url_and_rooms_where_there_are_any() -> None:
    found = urls_of("https://h:1", ["small"], rooms=True)
    assert found["mcp/small"] == "https://h:1/mcp/small"
    assert found["websocket"] == "wss://h:1/mcp"
    assert found.pop("rooms") == "wss://h:1/ws"
    assert found == urls_of("https://h:1", ["small"], rooms=False)
