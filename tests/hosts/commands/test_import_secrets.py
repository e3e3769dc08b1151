"""Secrets that an import writes, and takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import load
from gatewright.hosts.commands.import_secrets import Store
from gatewright.storage.errors import StoreError


def _store(state: Path) -> Store:
    return Store(load(state / "mgp.toml", environ={"GATEWRIGHT_STATE": str(state)}))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mgp.toml").write_text('[secrets]\nstore = "file"\n', encoding="utf-8")
    monkeypatch.setenv("GATEWRIGHT_STATE", str(tmp_path))


def test_a_secret_is_kept_for_its_configuration_and_goes_again(tmp_path: Path) -> None:
    store, config = _store(tmp_path), tmp_path / "mgp.toml"
    undo = store.put("a.args.3", "hunter2", config)
    assert _store(tmp_path).get("a.args.3") == "hunter2"
    assert store.is_for("a.args.3", config)
    assert not store.is_for("a.args.3", tmp_path / "other.toml")
    undo()
    assert store.get("a.args.3") is None
    assert not store.is_for("a.args.3", config)


def test_a_value_that_was_there_before_is_put_back(tmp_path: Path) -> None:
    store, config = _store(tmp_path), tmp_path / "mgp.toml"
    store.put("a.args.3", "before", config)
    undo = store.put("a.args.3", "after", config)
    assert store.get("a.args.3") == "after"
    undo()
    assert store.get("a.args.3") == "before"


def test_what_could_not_be_written_is_allowed_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, config = _store(tmp_path), tmp_path / "mgp.toml"

    def fails(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(store.open(), "put", fails)
    with pytest.raises(StoreError, match="no room"):
        store.put("a.args.3", "hunter2", config)
    assert not store.is_for("a.args.3", config)
    assert store.get("a.args.3") is None
