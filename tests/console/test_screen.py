"""A screen by itself has nothing."""

from __future__ import annotations

from gatewright.console.people import Person
from gatewright.console.screen import Screen


def test_a_screen_of_which_nothing_is_said_shows_no_badge() -> None:
    screen = Screen()
    assert (screen.pages, screen.operations) == ((), ())
    assert screen.badge(Person("v", "viewer", "key")) is None
