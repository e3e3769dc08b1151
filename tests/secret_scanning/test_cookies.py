"""Which cookies may open something."""

from __future__ import annotations

from gatewright.secret_scanning.cookies import may_open


def test_what_sets_a_look_opens_nothing() -> None:
    """GRH-out-1"""
    assert not may_open("theme=dark; lang=de; Path=/; width=80")
    assert may_open("theme=dark; sid=abcdef; Path=/") == "abcdef"
    assert may_open("x=bcdef1") == "bcdef1"
