from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatewright.stores.errors import StoreError
from gatewright.stores.registered import FILE, RegisteredRequests, read_requests


def test_requests_are_kept_for_the_next_gateway_and_every_change_is_counted(tmp_path: Path) -> None:
    store = RegisteredRequests(tmp_path)
    store.put([])
    assert not (tmp_path / FILE).exists()
    store.put([{"a": 1}])
    store.put([{"a": 1}, {"b": 2}])
    assert RegisteredRequests(tmp_path).all == [{"a": 1}, {"b": 2}]
    kept = read_requests(tmp_path / FILE)
    assert (kept.steps, kept.mark > 0) == (2, True)
    store.put([])
    assert read_requests(tmp_path / FILE).steps == 3
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_file_that_did_not_count_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps([{"a": 1}]))
    assert RegisteredRequests(tmp_path).all == [{"a": 1}]


def test_what_cannot_be_read_refuses_and_what_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    store = RegisteredRequests(tmp_path)
    (tmp_path / FILE).mkdir()
    with pytest.raises(OSError, match=FILE):
        store.put([{"a": 1}])
    assert store.all == []
    with pytest.raises(StoreError, match="cannot be read"):
        RegisteredRequests(tmp_path)
    (tmp_path / FILE).rmdir()
    (tmp_path / FILE).write_text("7")
    with pytest.raises(StoreError, match="damaged"):
        RegisteredRequests(tmp_path)
