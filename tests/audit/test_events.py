"""What is recorded besides calls, and what is not done where it cannot be recorded."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.audit.events import Events
from gatewright.call import ANONYMOUS, Caller, Unrecorded

BOT = Caller("bot", "agent", "key1")


class Audit:
    """A record that can be full."""

    def __init__(self) -> None:
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.full = False

    def event(self, event_type: str, **members: Any) -> int:
        if self.full:
            raise Unrecorded("full")
        self.found.append((event_type, members))
        return len(self.found)


@pytest.fixture
def audit() -> Audit:
    return Audit()


def test_what_a_door_refused_is_recorded_where_it_is_known_who_asked(audit: Audit) -> None:
    events = Events(audit)  # type: ignore[arg-type]
    events.refused(ANONYMOUS, "http", -32600, "no")
    events.refused(BOT, "http", -32600, "n" * 900)
    ((event, members),) = audit.found
    assert (event, members["actor"].id, members["outcome"]) == (
        "dev.gatewright.refused",
        "bot",
        "denied",
    )
    assert len(members["details"]["message"]) == 200


def test_what_happened_already_is_lost_without_a_record_and_what_is_to_be_done_is_not_done(
    audit: Audit,
) -> None:
    events = Events(audit)  # type: ignore[arg-type]
    audit.full = True
    events.server("SERVER_CONNECTED", "s", {})
    events.own("dev.gatewright.config.applied", "success", {})
    events.refused(BOT, "http", 1, "no")
    with pytest.raises(Unrecorded):
        events.acted(BOT, "dev.gatewright.server.stopped", "s")
    assert audit.found == []


def test_an_act_names_who_did_it_and_to_which_server(audit: Audit) -> None:
    Events(audit).acted(BOT, "dev.gatewright.server.stopped", "s")  # type: ignore[arg-type]
    ((event, members),) = audit.found
    assert event == "dev.gatewright.server.stopped"
    assert (members["actor"].key_id, members["target"].server_id) == ("key1", "s")
