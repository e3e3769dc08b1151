"""What the record keeps of rooms."""

from __future__ import annotations

import json
from typing import Any

from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Member, No
from gatewright.rooms.journal import RoomJournal
from tests.rooms.settings import Log


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
