from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Settings, Storage, load
from gatewright.config.setting_sources import folder_of, looked_up
from gatewright.config.substitute import Undefined


def test_texts_are_looked_up_from_where_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("k-1\n")
    (tmp_path / "mgp.toml").write_text("[discovery]\nmax_tokens = 1000\n")
    settings = load(tmp_path / "mgp.toml")
    monkeypatch.setenv("NAMED", "n-1")
    found = looked_up(settings, "discovery", "plain", "${file:key}", "a ${NAMED}")
    assert found == ["plain", "k-1", "a n-1"]
    assert folder_of(settings, "discovery") == tmp_path
    with pytest.raises(Undefined, match="secret none"):
        looked_up(settings, "discovery", "${secret:none}")


def test_without_a_file_it_is_the_state_folder(tmp_path: Path) -> None:
    assert folder_of(Settings(storage=Storage(path=tmp_path)), "discovery") == tmp_path
