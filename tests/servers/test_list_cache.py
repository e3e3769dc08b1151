"""Texts of lists are kept, the latest, as long as they fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers import list_cache
from gatewright.servers.list_cache import TEXTS, ListCache


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_cache, "BYTES", 100)


def test_the_latest_texts_are_kept_as_long_as_they_fit() -> None:
    cache = ListCache()
    cache.put("a", b"x" * 60)
    cache.put("b", b"y" * 40)
    assert (cache.get("a"), cache.get("b")) == (b"x" * 60, b"y" * 40)
    cache.put("b", b"z" * 41)
    assert (cache.get("a"), cache.get("b")) == (None, b"z" * 41)
    cache.put("c", b"w" * 101)
    assert (cache.get("b"), cache.get("c")) == (b"z" * 41, None)
    other = cache.copy()
    cache.clear()
    assert (cache.get("b"), other.get("b")) == (None, b"z" * 41)
    cache.put("d", b"")
    assert cache.get("d") == b""


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 120)), max_size=200))
def test_number_and_bytes_have_a_bound(puts: list[tuple[int, int]]) -> None:
    cache = ListCache()
    for key, size in puts:
        cache.put(key, b"x" * size)
        assert cache._bytes == sum(map(len, cache._texts.values())) <= 100
        assert len(cache._texts) <= TEXTS
