"""Rooms of a configured gateway: what it was told, and what its record keeps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gatewright.call import Caller, Refusal
from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.model import Settings
from gatewright.config.rooms import Rooms
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Member, No
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.policy import Identity, Topic
from gatewright.rooms.setup import RoomJournal, Seated, hub_of, policy_of, rooms_of, stamp
from gatewright.rooms.trust_store import ParticipantChanges, Word
from tests.storage.parts import nowhere, state_in

TEXT = """
[rooms]
default_profile = "response-only"
anonymous_profile = "read-only"
message_bytes = 1000
recorded = "all"
[rooms.jwt]
key = "a-shared-secret-of-32-bytes-or-more"
[rooms.topics.own]
access = "private"
members = ["ann"]
[[rooms.participants]]
id = "ann"
token = "a-token-of-sixteen-or-more"
profile = "full"
mode = "directed"
"""


def loaded(text: str) -> Settings:
    return build([parse(text, Path("mgp.toml"))], {}, Path("/state"))


class Log:
    """An audit that keeps events in memory."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.fault = None

    def event(self, event_type: str, **more: Any) -> int:
        self.events.append((event_type, more))
        return 1


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


def test_the_settings_become_the_policy() -> None:
    """MCPX-5.1-1, MCPX-5.1-3."""
    rooms = loaded(TEXT).rooms
    assert rooms is not None
    found = policy_of(rooms)
    assert found.default == ("mcp/response:*", "chat")
    assert found.anonymous is not None
    assert found.bounds.message_bytes == 1000
    assert found.topics == {"own": Topic("private", ("ann",))}
    (ann,) = found.tokens.values()
    assert (ann.id, ann.capabilities, ann.mode) == ("ann", ("mcp/*", "chat"), "directed")


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [
        ("violation_notice", "true", True),
        ("strict_proposals", "true", True),
        ("presence_to_joiner", "true", True),
        ("token_in_query", "true", True),
        ("refusal", '"close"', "close"),
        ("mode", '"directed"', "directed"),
        ("echo", "false", False),
        ("max_participants", "7", 7),
        ("messages_per_s", "7.5", 7.5),
        ("burst", "7", 7.0),
        ("bytes_per_s", "7777", 7777),
        ("burst_bytes", "7777777", 7777777.0),
        ("max_topics", "7", 7),
        ("recorded", '"all"', "all"),
        ("topic_access", '"private"', "private"),
    ],
)
def test_each_switch_of_the_file_is_one_of_the_policy(key: str, value: str, other: Any) -> None:
    """MCPX-6.4-2, MCPX-3.2.1-1, MCPX-6.2-2, MCPX-2.2-2: and none is on that was not written; what they do is in tests/behaviour."""
    plain, switched = loaded("[rooms]\n").rooms, loaded(f"[rooms]\n{key} = {value}\n").rooms
    assert plain is not None
    assert switched is not None
    renamed = {"max_participants": "participants"}.get(key, key)

    def said(rooms: Rooms) -> dict[str, Any]:
        found = msgspec.structs.asdict(policy_of(rooms))
        bounds = msgspec.structs.asdict(found.pop("bounds"))
        return {**found, **bounds}

    before, after = said(plain), said(switched)
    assert before[renamed] != other
    assert after == {**before, renamed: other}


def test_a_topic_that_says_only_how_many_it_has_is_as_closed_as_all_others() -> None:
    """MCPX-5.1-3."""
    rooms = loaded(
        """
[rooms]
topic_access = "private"
[rooms.topics.ops]
max_participants = 5
members = ["ann"]
[rooms.topics.lobby]
access = "public"
"""
    ).rooms
    assert rooms is not None
    found = policy_of(rooms)
    assert found.topic("ops") == Topic("private", ("ann",), 5)
    assert (found.topic("lobby").access, found.topic("other").access) == ("public", "private")


def test_a_profile_of_nothing_is_one_and_no_other_takes_its_place() -> None:
    """MCPX-5.1-2: `full` as the file has it counts before MCPx's."""
    text = """
[rooms]
profiles = {mute = [], full = []}
participants = [{id = "ann", profile = "mute"}, {id = "bob", profile = "full"}]
"""
    rooms = loaded(text).rooms
    assert rooms is not None
    known = policy_of(rooms).known
    assert [known[one].capabilities for one in ("ann", "bob")] == [(), ()]


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


def test_the_record_has_envelopes_and_never_what_they_say() -> None:
    """MCPX-7.1-2, MCPX-3.2.1-6, decision C-37: the trace of an answer is what it answers."""
    log: Any = Log()
    journal = RoomJournal(log, lambda: 0.0)
    member = Member("ann", ("chat",), seat=None, connection="c", since="now")
    journal.joined("t", member, "key")
    journal.passed(
        "t",
        Envelope("2", "ann", "mcp/request:x", ("b",), "1", None, b'{"a":"secret"}', b"secret"),
    )
    journal.left("t", member, "closed")
    types = [one for one, _ in log.events]
    assert types == [f"dev.gatewright.room.{one}" for one in ("joined", "message", "left")]
    _, told = log.events[1]
    assert told["details"] == {
        "id": "2",
        "kind": "mcp/request:x",
        "to": ["b"],
        "correlation_id": "1",
    }
    assert (told["trace_id"], told["actor"].id, told["target"].name) == ("1", "ann", "t")
    assert "secret" not in json.dumps(log.events, default=str)


def test_a_flood_of_refusals_is_counted_in_the_record() -> None:
    now = 0.0
    log: Any = Log()
    journal = RoomJournal(log, lambda: now)
    member = Member("ann", ("chat",), seat=None, connection="c", since="now")
    for _ in range(100):
        journal.refused("t", member, No("capability_violation", "no", "1", "mcp/x"))
    now = 2.0
    journal.refused("t", member, No("capability_violation", "no", "2", "mcp/x"))
    assert [one["details"].get("more_before") for _, one in log.events] == [None, 99]
    assert {one["outcome"] for _, one in log.events} == {"denied"}
    for _ in range(7):
        journal.refused("t", member, No("capability_violation", "no", "3", "mcp/x"))
    journal.left("t", member, "closed")
    journal.left("t", member, "closed")
    assert [one["details"].get("more_refused") for _, one in log.events[2:]] == [7, None]


def test_a_stamp_is_a_uuid_and_a_time() -> None:
    """MCPX-3-3, MCPX-3-4."""
    id, now = stamp()
    assert re.fullmatch(r"[0-9a-f-]{14}4[0-9a-f-]{21}", id)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", now)
