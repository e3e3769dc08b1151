"""The table of doors, and what follows from it; that every door is in it is held by `tests/behaviour/test_messages_answered`."""

from __future__ import annotations

from gatewright.mcp.server.endpoints import DOORS, SPEAKING_MCP
from gatewright.mcp.wire.methods import WORDS


def test_a_door_stands_there_once_and_hosts_speak_mcp_at_four() -> None:
    names = [one.name for one in DOORS]
    assert sorted(set(names)) == sorted(names)
    assert {"http", "stdio", "websocket", "sse"} == SPEAKING_MCP


def test_what_a_dialect_takes_of_mcp_is_asked_and_never_told() -> None:
    known = {one.method: one for one in WORDS}
    taken = [known[name] for one in DOORS for name in one.takes if name in known]
    assert [one.method for one in taken if one.notification or "client" not in one.by] == []
    assert all(one.takes for one in DOORS if one.dialect in {"ggen", "REST", "Groundhog"})
    assert not any(one.takes for one in DOORS if one.dialect in {"MCP", "MCPx"})
