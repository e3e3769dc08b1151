"""Events that come before their subscription is known."""

from __future__ import annotations

from gatewright.events.early_events import EARLY_BYTES, EARLY_MOST, EarlyEvents


def test_each_subscription_has_its_own_in_order_and_once() -> None:
    early = EarlyEvents()
    for ident, raw in (("a", b"1"), (7, b"2"), ("a", b"3"), ("a", b"1")):
        early.put(ident, raw)
    assert [early.take("a") for _ in range(4)] == [b"1", b"3", b"1", None]
    assert early.take(None) is None
    assert early.take("7") is None
    assert early.take(7) == b"2"


def test_the_oldest_go_when_there_are_too_many() -> None:
    early = EarlyEvents()
    early.put("first", b"0")
    for number in range(EARLY_MOST):
        early.put("a", b"%d" % number)
    assert early.take("first") is None
    assert early.take("a") == b"0"


def test_no_more_bytes_are_kept_than_may_be_and_what_was_taken_makes_room() -> None:
    early, long = EarlyEvents(), b"x" * (EARLY_BYTES // 4)
    for number in range(6):
        early.put(f"s{number}", long)
    assert [early.take(f"s{number}") is None for number in range(6)] == [True] * 2 + [False] * 4
    early.put("again", long)
    assert early.take("again") == long
    assert (early._bytes, len(early._order), early._mine) == (0, 0, {})
