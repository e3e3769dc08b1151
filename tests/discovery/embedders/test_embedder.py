from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gatewright.config import load
from gatewright.config.substitute import Undefined
from gatewright.discovery.embedders.embedder import (
    MOST_DIMENSIONS,
    EmbeddingFailed,
    key_of,
    place_of,
    unit_rows,
)
from gatewright.secret_scanning import HELD


def test_rows_have_length_one_and_nothing_stays_nothing() -> None:
    found = unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32), 2)
    assert found == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


@pytest.mark.parametrize(
    "found",
    [
        np.zeros((1, 2)),
        np.zeros(2),
        np.zeros((2, 0)),
        np.zeros((2, MOST_DIMENSIONS + 1)),
        np.array([[1, np.nan], [1, 1]]),
        np.array([[1, np.inf], [1, 1]]),
    ],
)
def test_what_are_no_vectors_of_two_texts_is_refused(found: np.ndarray) -> None:
    with pytest.raises(EmbeddingFailed):
        unit_rows(found.astype(np.float32), 2)


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
