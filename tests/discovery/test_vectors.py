from __future__ import annotations

import numpy as np
import pytest

from gatewright.discovery.vectors import Table, VectorStore, table


def small() -> Table:
    codes = np.array([[127, 0, 0], [0, 127, 0], [64, 64, 0]], dtype=np.int8)
    return Table(
        ["a", "b", "c"], codes, np.full(3, 1 / 127, np.float32), np.array([1, 1, 0.5], np.float32)
    )


def test_a_text_is_the_weighted_sum_of_its_words_of_length_one() -> None:
    assert small().row("c") == (2, 0.5)
    assert small().row("z") == (-1, 0.0)
    pooled = small().pool([0, 1], [3.0, 4.0])
    assert pooled == pytest.approx([0.6, 0.8, 0])
    assert small().pool([], []) == pytest.approx([0, 0, 0])


def test_vectors_are_kept_nearly_as_they_are() -> None:
    rng = np.random.default_rng(1)
    store = VectorStore(192)
    store.grow(8)
    vectors = rng.normal(size=(8, 192)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for slot, one in enumerate(vectors):
        store.put(slot, one)
    store.grow(100)
    assert store.exactly(vectors[3], np.arange(8)) == pytest.approx(vectors @ vectors[3], abs=0.01)
    assert store.of(3) == pytest.approx(vectors[3], abs=0.01)
    assert store.roughly(vectors[3]).argmax() == 3
    assert not store.of(50).any()


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("rain", "weather", "invoice"),
        ("dentist", "doctor", "spreadsheet"),
        ("purchase", "buy", "diagram"),
    ],
)
def test_the_table_of_the_package_knows_what_is_near(one: str, near: str, far: str) -> None:
    held = table()
    first, second, third = (held.pool([held.row(word)[0]], [1.0]) for word in (one, near, far))
    assert first @ second > first @ third + 0.1
