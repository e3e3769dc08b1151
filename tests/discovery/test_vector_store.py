"""Vectors of tools: kept in eight bits a component, and found by the signs of their projections."""

from __future__ import annotations

import numpy as np
import pytest

from gatewright.discovery.vector_store import VectorStore


def test_vectors_are_kept_nearly_as_they_are() -> None:
    rng = np.random.default_rng(1)
    store = VectorStore(192)
    store.grow(8)
    vectors = rng.normal(size=(8, 192)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for slot, one in enumerate(vectors):
        store.put(slot, one)
    store.grow(100)
    near = store.exactly(vectors[3:5], np.arange(8))
    assert near == pytest.approx(vectors @ vectors[3:5].T, abs=0.01)
    assert store.of(3) == pytest.approx(vectors[3], abs=0.01)
    assert store.nearest(vectors[3], np.ones(100, np.bool_), 1).tolist() == [3]
    hidden = np.arange(100) != 3
    assert 3 not in store.nearest(vectors[3], hidden, 50)
    assert not len(store.nearest(np.zeros(192, np.float32), hidden, 5))
    assert not store.of(50).any()


def test_a_first_look_has_most_of_what_is_nearest() -> None:
    rng = np.random.default_rng(2)
    store = VectorStore(192)
    store.grow(4000)
    vectors = rng.normal(size=(4000, 192)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for slot, one in enumerate(vectors):
        store.put(slot, one)
    asked = vectors[:40].sum(axis=0)
    asked /= np.linalg.norm(asked)
    best = set(np.argsort(-(vectors @ asked))[:20].tolist())
    found = store.nearest(asked, np.ones(4000, np.bool_), 400)
    assert 400 <= len(found) <= 800
    assert len(best.intersection(found.tolist())) >= 18


def test_a_first_look_is_bounded_however_many_say_the_same() -> None:
    rng = np.random.default_rng(3)
    store = VectorStore(192)
    store.grow(3000)
    same, near = rng.normal(size=(2, 192)).astype(np.float32)
    for slot in range(2000):
        store.put(slot, same)
    for slot in range(2000, 2005):
        store.put(slot, near)
    asked = near + 0.3 * same
    found = store.nearest(asked, np.ones(3000, np.bool_), 100)
    assert 100 <= len(found) <= 200
    assert {*range(2000, 2005)} <= set(found.tolist())
    assert len(store.nearest(asked, np.arange(3000) >= 2005, 100)) <= 200  # those of no words


def test_a_first_look_sees_the_last_of_many_as_it_sees_the_first() -> None:
    rng = np.random.default_rng(5)
    store = VectorStore(192)
    count = 20_001
    store.grow(count)
    vector = rng.normal(size=192).astype(np.float32)
    for slot in (0, 8191, 8192, 16_383, 16_384, count - 1):
        store.put(slot, vector)
    found = store.nearest(vector, np.ones(count, np.bool_), 6)
    assert found.tolist() == [0, 8191, 8192, 16_383, 16_384, count - 1]
    assert store.nearest(vector, np.ones(8193, np.bool_), 3).tolist() == [0, 8191, 8192]


def test_the_opposite_is_never_near() -> None:
    store = VectorStore(192)
    store.grow(2)
    vector = np.random.default_rng(4).normal(size=192).astype(np.float32)
    store.put(0, vector)
    store.put(1, -vector)
    assert store.nearest(vector, np.ones(2, np.bool_), 1).tolist() == [0]
