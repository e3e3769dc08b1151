"""Stopping an agent, and the rules of a room."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gatewright.console.operations import ApiError
from gatewright.console.room_acts import rules_of, stop
from gatewright.console.room_shapes import RoomStop
from gatewright.identity.keys import KeyStore
from gatewright.rooms.orchestrator_seat import RULES
from gatewright.rooms.participants.rules import Rule, RuleBook
from tests.storage.parts import state_in


def test_every_key_of_an_agent_ends_and_no_other(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    callers = KeyStore(state, clock=time.time, random=os.urandom)
    keys = [callers.create("bot", by="test")[1] for _ in range(2)]
    other = callers.create("ann", by="test")[1]
    operator = callers.create("boss", kind="operator", by="test")[1]
    found = stop(callers, None, RoomStop(agent="bot", reason="it lies"), "me")
    assert (found.keys, found.places) == (2, 0)
    assert [callers.verify(one) for one in keys] == ["revoked", "revoked"]
    assert stop(callers, None, RoomStop(agent="boss", reason="no"), "me").keys == 0
    assert not isinstance(callers.verify(other), str)
    assert not isinstance(callers.verify(operator), str)
    with pytest.raises(ApiError):
        stop(callers, None, RoomStop(agent="ann", reason=""), "me")
    callers.close()
    state.close()


def test_rules_are_read_as_the_orchestrator_keeps_them(tmp_path: Path) -> None:
    assert rules_of(tmp_path, "deploys").rules == ()
    book = RuleBook()
    rule = book.add(Rule("", "approve", "mcp/request:tools/call", "ann", evidence={"decisions": 5}))
    folder = tmp_path / RULES
    folder.mkdir()
    (folder / "a%2Fb.json").write_bytes(book.text)
    assert rules_of(tmp_path, "a/b").rules == (rule,)
    (folder / "bad.json").write_text("[")
    with pytest.raises(ApiError) as caught:
        rules_of(tmp_path, "bad")
    assert caught.value.status == 503
