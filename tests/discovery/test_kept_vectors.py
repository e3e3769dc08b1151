from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from gatewright.discovery.embedded_tools import digest_of_text
from gatewright.discovery.kept_vectors import FILE, KeptVectors, load_vectors, store_vectors


def stored(folder: Path, count: int = 40, identity: str = "m") -> tuple[Path, np.ndarray]:
    codes = np.random.default_rng(1).integers(-127, 127, (count, 8)).astype(np.int8)
    keys = [digest_of_text(f"text {at}") for at in range(count)]
    scales = np.linspace(0.1, 1, count).astype(np.float32)
    store_vectors(folder / FILE, identity, keys, scales, codes)
    return folder / FILE, codes


def test_vectors_come_back_by_the_text_they_were_made_of(tmp_path: Path) -> None:
    file, codes = stored(tmp_path)
    held = load_vectors(file, "m")
    assert (len(held), held.dimensions) == (40, 8)
    for at in (0, 17, 39):
        found = held.of(digest_of_text(f"text {at}"))
        assert found is not None
        assert found[0].tolist() == codes[at].tolist()
        assert found[1] == pytest.approx(np.linspace(0.1, 1, 40)[at])
    assert held.of(digest_of_text("other")) is None
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == [FILE]


def test_texts_whose_digests_begin_alike_are_told_apart() -> None:
    keys = np.array([[7] * 15 + [last] for last in (1, 2)], dtype=np.uint8)
    held = KeptVectors(keys, np.ones(2, np.float32), np.array([[1], [2]], dtype=np.int8))
    found = held.of(bytes([7] * 15 + [2]))
    assert found is not None
    assert found[0].tolist() == [2]
    assert held.of(bytes([7] * 15 + [3])) is None


def test_those_of_another_embedder_are_none_and_of_no_file_neither(tmp_path: Path) -> None:
    file, _ = stored(tmp_path)
    assert len(load_vectors(file, "other")) == 0
    assert len(load_vectors(tmp_path / "none", "m")) == 0


@pytest.mark.parametrize("at", [0, 30, 70, 120, -1])
def test_a_damaged_file_is_not_believed(
    tmp_path: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    file, _ = stored(tmp_path)
    content = bytearray(file.read_bytes())
    content[at] ^= 255
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert len(load_vectors(file, "m")) == 0
    assert "embedded anew" in caplog.text


def test_a_file_that_ends_early_is_not_believed(tmp_path: Path) -> None:
    file, _ = stored(tmp_path)
    for size in (10, 60, 100, file.stat().st_size - 1):
        file.write_bytes(file.read_bytes()[:size])
        assert len(load_vectors(file, "m")) == 0
        stored(tmp_path)
