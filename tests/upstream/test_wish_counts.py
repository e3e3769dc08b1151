"""How many resources of a server one caller may wait to hear of."""

from __future__ import annotations

import pytest

from gatewright.upstream import wish_counts
from gatewright.upstream.wish_counts import WishCounts

ANN, BOB = ("agent", "ann"), ("agent", "bob")


def full(counts: WishCounts, who: tuple[str, str], holder: str = "s", uri: str = "x:new") -> bool:
    return counts.refusal(who, holder, (uri, uri)) is not None


def test_a_caller_has_so_many_over_all_its_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_counts, "WISHES_EACH", 3)
    counts = WishCounts()
    for holder, uri in (("s", "x:1"), ("s", "x:1"), ("s", "x:2"), ("listen 1", "x:1")):
        assert not full(counts, ANN)
        counts.set(ANN, holder, (uri, uri), wanted=True)
    assert full(counts, ANN)
    refused = counts.refusal(ANN, "s", ("x:new", "x:new"))
    assert refused is not None
    assert refused.reason == "resource_exhausted"
    assert not full(counts, ANN, "s", "x:1"), "what it has is no wish more"
    assert not full(counts, BOB)
    successor = WishCounts()
    successor.follow(counts)
    assert full(successor, ANN)


def test_what_is_not_wanted_any_more_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_counts, "WISHES_EACH", 2)
    counts = WishCounts()
    for uri in ("x:1", "x:2"):
        counts.set(ANN, "s", (uri, uri), wanted=True)
    for _ in range(2):
        counts.set(ANN, "s", ("x:1", "x:1"), wanted=False)
    assert not full(counts, ANN)
    counts.set(ANN, "s", ("x:1", "x:1"), wanted=True)
    assert full(counts, ANN)
    for _ in range(2):
        counts.forget("s")
    counts.set(ANN, "s", ("x:1", "x:1"), wanted=False)
    assert (counts._of, counts._whose, dict(counts._counts)) == ({}, {}, {})
