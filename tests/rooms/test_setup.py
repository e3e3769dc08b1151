"""Rooms of a configured gateway: who comes in, and who sits there from the start."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from gatewright.call import Caller, Refusal
from gatewright.config.rooms import Rooms
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.policy import Identity
from gatewright.rooms.setup import Seated, hub_of, rooms_of, stamp
from gatewright.rooms.trust_store import ParticipantChanges, Word
from tests.rooms.settings import TEXT, Log, loaded
from tests.storage.parts import nowhere, state_in


class Front:
    """What rooms ask of the front."""

    def identify(self, door: str, token: str | None) -> Caller | Refusal:
        assert door == "websocket"
        return Caller("key-holder") if token == "key" else Refusal("auth_failed", "no")


class NoKeys:
    """Nobody has a key."""

    def verify(self, credential: str) -> Caller | str:
        return "unknown"


def _house(rooms: Rooms, log: Any, trust: ParticipantChanges) -> Seated:
    async def rehearse(call: Any) -> Any:
        raise AssertionError(call)

    hub, front = hub_of(rooms, log, trust), cast("Any", Front())
    callers = RoomCallers(NoKeys(), "secret", hub)
    return Seated(front, log, callers, rehearse, hub, trust)


def test_rooms_are_there_where_they_are_configured() -> None:
    log: Any = Log()
    assert loaded("").rooms is None
    rooms = loaded(TEXT).rooms
    assert rooms is not None
    door = rooms_of(rooms, _house(rooms, log, ParticipantChanges(nowhere())), Path("state"))
    found = door.identities.of("key")
    assert isinstance(found, Identity)
    assert (found.id, found.capabilities) == ("key-holder", ("mcp/response:*", "chat"))
    assert isinstance(door.identities.of("a.b.c"), Refusal)


def test_a_part_of_the_gateway_that_is_kept_out_keeps_nobody_else_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The switch by which operators put somebody out is good for the gateway's own as well, also at the next start."""
    text = """
[rooms.orchestrator]
topics = ["ops"]
people = ["ana"]
"""
    ParticipantChanges(state_in(tmp_path)).put("orchestrator", Word(blocked=True))
    log: Any = Log()
    rooms = loaded(text).rooms
    assert rooms is not None
    house = _house(rooms, log, ParticipantChanges(state_in(tmp_path)))
    door = rooms_of(rooms, house, tmp_path)
    assert list(door.hub.places()) == []
    assert "orchestrator does not sit in ops: an operator keeps" in caplog.text


def test_a_stamp_is_a_uuid_and_a_time() -> None:
    """MCPX-3-3, MCPX-3-4."""
    id, now = stamp()
    assert re.fullmatch(r"[0-9a-f-]{14}4[0-9a-f-]{21}", id)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", now)
