"""Who is here, as the gateway tells it."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcpx.envelope import GATEWAY, Envelope
from gatewright.mcpx.payload import Said
from gatewright.rooms.participants.roster import Roster


def _told(roster: Roster, what: str, payload: dict[str, Any], to: tuple[str, ...] = ()) -> bool:
    envelope = Envelope("e", GATEWAY, f"system/{what}", to, None, None, b"{}", b"")
    return roster.take(envelope, Said(what, payload))


def test_a_welcome_names_its_reader_and_the_others() -> None:
    """MCPX-8.2-5."""
    roster = Roster()
    others = [{"id": "bob", "capabilities": ["chat", 7]}, {"id": "ada"}, {"id": 3}, "x"]
    you = {"id": "ada", "capabilities": ["mcp/*"]}
    assert _told(roster, "welcome", {"you": you, "participants": others}, ("ada",))
    assert (roster.id, roster.capabilities.patterns) == ("ada", ("mcp/*",))
    assert roster.others == {"bob": ("chat",)}


@pytest.mark.parametrize("payload", [{}, {"you": "ada"}, {"you": {"id": 1}}, {"you": {}}])
def test_a_welcome_that_names_nobody_changes_nothing(payload: dict[str, Any]) -> None:
    roster = Roster()
    assert not _told(roster, "welcome", payload)
    assert not roster.capabilities.allows("chat")


def test_the_welcome_of_somebody_else_is_not_ones_own() -> None:
    """MCPX-8.2-6: also before one's own has come."""
    roster = Roster()
    assert not _told(roster, "welcome", {"you": {"id": "bob"}}, ("eve",))
    assert _told(roster, "welcome", {"you": {"id": "ada", "capabilities": []}}, ("ada",))
    assert not _told(roster, "welcome", {"you": {"id": "bob", "capabilities": ["mcp/*"]}}, ("bob",))
    assert (roster.id, roster.capabilities.patterns) == ("ada", ())


def test_presence_adds_and_takes_away_others() -> None:
    roster = Roster()
    _told(roster, "presence", {"event": "join", "participant": {"id": "bob", "capabilities": []}})
    _told(roster, "presence", {"event": "join", "participant": None})
    assert roster.others == {"bob": ()}
    _told(roster, "presence", {"event": "leave", "participant": {"id": "bob"}})
    assert roster.others == {}


def test_what_somebody_may_send_is_what_the_gateway_said_last() -> None:
    roster = Roster()
    you, bob = {"id": "ada", "capabilities": ["chat"]}, {"id": "bob", "capabilities": ["mcp/*"]}
    _told(roster, "welcome", {"you": you, "participants": [bob]})
    assert [roster.has(name) for name in ("ada", "bob", "eve")] == [True, True, False]
    kind = "mcp/request:tools/call:dig"
    assert [roster.may(name, kind) for name in ("ada", "bob", "eve")] == [False, True, False]
    _told(roster, "presence", {"event": "join", "participant": {**bob, "capabilities": ["chat"]}})
    assert not roster.may("bob", kind)


def test_who_leaves_is_told_on_and_nobody_else() -> None:
    told: list[str] = []
    roster = Roster(told.append)
    _told(roster, "welcome", {"you": {"id": "ada"}, "participants": [{"id": "bob"}]})
    for event, name in (("join", "eve"), ("leave", "bob"), ("leave", "ada")):
        _told(roster, "presence", {"event": event, "participant": {"id": name}})
    assert told == ["bob"]
