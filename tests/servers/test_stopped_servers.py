from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.servers.spec import ServerSpec
from gatewright.servers.stopped_servers import StoppedServers, word_of
from gatewright.storage.errors import StoreError
from tests.storage.parts import state_in


def test_what_was_stopped_is_known_to_the_next_gateway(tmp_path: Path) -> None:
    found = StoppedServers(state_in(tmp_path))
    for server in ("a", "b", "a", "c"):
        found.add(server)
    found.discard("b")
    found.discard("never")
    assert list(found) == ["a", "c"]
    again = StoppedServers(state_in(tmp_path))
    assert (list(again), len(again), "a" in again, "b" in again) == (["a", "c"], 2, True, False)


def test_what_cannot_be_kept_holds_until_the_gateway_ends(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    found = StoppedServers(state)
    found.add("a")
    state.engine.execute("ALTER TABLE documents RENAME TO away")
    for _ in range(2):  # it is tried each time
        with pytest.raises(StoreError):
            found.add("b")
        with pytest.raises(StoreError):
            found.discard("a")
        assert list(found) == ["b"]
    state.engine.execute("ALTER TABLE away RENAME TO documents")
    assert list(StoppedServers(state)) == ["a"]
    found.add("b")
    found.discard("a")
    assert list(StoppedServers(state)) == ["b"]


def test_only_what_was_stopped_is_another_server_than_configured() -> None:
    spec = ServerSpec(id="a")
    assert word_of(spec, {"b"}) is spec
    told = word_of(spec, {"a"})
    assert told.stopped
    assert "server start a" in told.problem
