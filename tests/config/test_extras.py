"""What of the settings needs more than is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Settings, SettingsError, extras, load


def said(folder: Path, text: str) -> Settings:
    file = folder / "mgp.toml"
    file.write_text(f"[discovery.embedder]\n{text}\n")
    return load(file)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('type = "endpoint"\nmodel = "m"', "needs url"),
        ('type = "endpoint"\nurl = "http://x"', "needs model"),
        ('type = "model"', "needs path"),
        ('type = "endpoint"\nurl = "file:///x"\nmodel = "m"', "url"),
        ('type = "other"', "type"),
        ("batch = 0", "batch"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        said(tmp_path, text)


def test_a_model_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(tmp_path, 'type = "model"\npath = "m"').discovery.embedder.path == "m"
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match="extra"):
        said(tmp_path, 'type = "model"\npath = "m"')
