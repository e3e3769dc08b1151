"""Registrations outlive the gateway; each change is a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.dialects.groundhog.registrations import RegisteredRequests
from gatewright.storage.errors import StoreError
from tests.storage.parts import state_in


def test_requests_are_kept_for_the_next_gateway_and_every_change_is_counted(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    store = RegisteredRequests(state)
    store.put([])
    assert state.heads()["registrations"].steps == 0
    store.put([{"a": 1}])
    store.put([{"a": 1}, {"b": 2}])
    assert RegisteredRequests(state_in(tmp_path)).all == [{"a": 1}, {"b": 2}]
    assert state.heads()["registrations"].steps == 2
    store.put([])
    assert state.heads()["registrations"].steps == 3
    assert RegisteredRequests(state_in(tmp_path)).all == []


def test_what_cannot_be_written_is_not_kept_and_what_cannot_be_read_refuses(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    store = RegisteredRequests(state)
    store.put([{"a": 1}])
    state.engine.execute("UPDATE documents SET body = '7'")
    with pytest.raises(StoreError, match="registered tool cannot be read"):
        RegisteredRequests(state)
    state.close()
    with pytest.raises(StoreError, match="the registered tools in"):
        store.put([{"a": 2}])
    assert store.all == [{"a": 1}]
