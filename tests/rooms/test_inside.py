"""Parts of this process in a room."""

from __future__ import annotations

import pytest

from gatewright.rooms.hub import NoPlace
from gatewright.rooms.inside import Inside
from gatewright.rooms.policy import Identity
from gatewright.wire import jsonrpc
from gatewright.wire.mcpx import Envelope
from tests.rooms.hall import FULL, Hall


async def _hello(frame: bytes, envelope: Envelope) -> bytes | None:
    message = jsonrpc.parse(frame)
    assert isinstance(message, jsonrpc.Request)
    return jsonrpc.response(message.id, jsonrpc.encode({"hello": envelope.sender}))


async def test_a_part_of_this_process_answers_in_the_room_and_its_name_is_its_own() -> None:
    """MCPX-2.1-3; and nobody else gets its place."""
    ended: list[str] = []
    async with Hall({"ada": FULL}) as hall:
        inside = Inside(
            hall.hub,
            topic="lobby",
            name="house",
            responder=_hello,
            closed=lambda: ended.append("x"),
        )
        inside.sit()
        ada = await hall.guest("ada")
        assert ada.participants["house"] == ["mcp/*", "chat"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        await ada.post("mcp/request:ping", body, to=["house"])
        answer = await ada.next("mcp/response:ping")
        assert answer["payload"]["result"] == {"hello": "ada"}
        with pytest.raises(NoPlace, match="the gateway itself is called so"):
            hall.hub.join(Identity("house", FULL), "lobby", inside)
        assert ended == []
    assert ended == ["x"]
    assert inside.participant.id == "house"
