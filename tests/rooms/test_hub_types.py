from __future__ import annotations

import msgspec

from gatewright.rooms.hub_types import Seated


def test_the_state_of_a_connection_is_spelled_as_in_the_text() -> None:
    """MCPX-8.1-1, MCPX-2.1-2."""
    state = Seated("ws-123", "agent-a", ("chat",), "2025-08-26T14:00:00Z", "t", "all", True)
    assert msgspec.to_builtins(state) == {
        "connectionId": "ws-123",
        "participantId": "agent-a",
        "capabilities": ("chat",),
        "connectedAt": "2025-08-26T14:00:00Z",
        "topic": "t",
        "mode": "all",
        "echo": True,
    }
