"""What the settings of an embedder come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import load
from gatewright.config.substitute import Undefined
from gatewright.discovery.embedders.embedder_settings import key_of, place_of
from gatewright.secret_scanning import HELD


def test_the_key_is_looked_up_and_held_as_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(
        '[discovery.embedder]\ntype = "endpoint"\nurl = "http://x/v1"\nmodel = "m"\nkey = "${EMBED_KEY}"\npath = "models/m"\n'
    )
    settings = load(file)
    monkeypatch.setenv("EMBED_KEY", "k-0123456789abcdef")
    assert key_of(settings) == "k-0123456789abcdef"
    assert "k-0123456789abcdef" in HELD.values
    assert place_of(settings) == tmp_path / "models" / "m"
    monkeypatch.delenv("EMBED_KEY")
    with pytest.raises(Undefined):
        key_of(settings)
