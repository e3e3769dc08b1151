"""Counting what others do wrong."""

from __future__ import annotations

from gatewright.rooms.participants.conduct import Conduct


def test_the_first_the_tenth_and_the_hundredth_are_told() -> None:
    """MCPX-4.3-4."""
    conduct, told = Conduct(), list[tuple[str, int]]()
    for _ in range(150):
        conduct.count("eve", lambda who, count: told.append((who, count)))
    assert told == [("eve", 1), ("eve", 10), ("eve", 100)]
    assert not conduct.is_ignored("eve")


def test_each_sender_has_a_score_of_its_own() -> None:
    """MCPX-4.3-4."""
    conduct, told = Conduct(ignored_at=3), list[tuple[str, int]]()
    for who in ("eve", "mallory", "eve", "mallory", "eve"):
        conduct.count(who, lambda who, count: told.append((who, count)))
    assert conduct.counts == {"eve": 3, "mallory": 2}
    assert told == [("eve", 1), ("mallory", 1)]
    assert [conduct.is_ignored(who) for who in ("eve", "mallory", "ana")] == [True, False, False]


def test_names_that_a_stranger_makes_up_do_not_fill_the_memory() -> None:
    conduct = Conduct(ignored_at=1)
    for number in range(20_000):
        conduct.count(f"eve-{number}", lambda who, count: None)
    assert len(conduct.counts) == 10_000
    assert conduct.is_ignored("eve-1")
