"""Records to an audit server that is not always there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.sinks.follow import SinkFailed
from gatewright.audit.sinks.mgp import MgpSink
from tests.audit.parts import body
from tests.audit.sinks.parts import lines


class Peer:
    """Hears what a server is told, while it is there."""

    def __init__(self) -> None:
        self.there = True
        self.heard: list[dict[str, Any]] = []

    async def tell(self, server: str, params: Sequence[dict[str, Any]]) -> bool:
        """As the gateway does it."""
        assert server == "watch"
        if self.there:
            self.heard += params
        return self.there


async def test_each_record_is_one_event_in_the_shape_of_the_specification() -> None:
    """MGP-6.3-1: timestamp, trace_id, event_type, actor, target, result, details."""
    peer = Peer()
    await MgpSink("watch", peer.tell).deliver(lines(1, 45))
    assert [event["trace_id"] for event in peer.heard] == [f"trace-{n}" for n in range(1, 46)]
    assert peer.heard[0] == {
        "timestamp": "2026-09-21T12:00:00.000Z",
        "trace_id": "trace-1",
        "event_type": "TOOL_EXECUTED",
        "actor": {"type": "agent", "id": "ann"},
        "target": {"server_id": "files", "tool_name": "write_file"},
        "result": "SUCCESS",
        "details": {},
    }


async def test_an_intent_is_no_event() -> None:
    peer = Peer()
    intent = seal(1, [body(1, event_type="dev.gatewright.intent")], GENESIS)[0].rstrip()
    await MgpSink("watch", peer.tell).deliver([intent])
    assert peer.heard == []


async def test_a_server_that_is_away_is_a_failure() -> None:
    peer = Peer()
    peer.there = False
    with pytest.raises(SinkFailed, match="watch is not connected"):
        await MgpSink("watch", peer.tell).deliver(lines(1, 1))
