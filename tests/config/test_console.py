"""`[console]`: what a file may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import SettingsError, load


def read(folder: Path, text: str) -> object:
    (folder / "mgp.toml").write_text(text, encoding="utf-8")
    return load(folder / "mgp.toml", environ={"HOME": str(folder)}).console


def test_what_a_file_says_is_what_holds(tmp_path: Path) -> None:
    said = '[console]\nport = 9\n[console.oidc]\nissuer = "https://id.example"\nclient_id = "c"\nroles = { ops = "operator" }\n'
    found = read(tmp_path, said)
    assert (found.port, found.host, found.oidc.roles) == (9, "127.0.0.1", {"ops": "operator"})  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "port = 70000",
        "session_hours = 0",
        '[console.oidc]\nissuer = "https://id.example"\nclient_id = "c"\nroles = { ops = "root" }',
    ],
)
def test_what_cannot_be_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="console"):
        read(tmp_path, f"[console]\n{text}\n")
