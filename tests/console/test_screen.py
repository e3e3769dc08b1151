"""A screen by itself has nothing."""

from __future__ import annotations

from typing import Literal

import pytest

from gatewright.console.operations import Asking
from gatewright.console.people import Person
from gatewright.console.screen import Page, Screen, View


def test_a_screen_of_which_nothing_is_said_shows_no_badge() -> None:
    screen = Screen()
    assert (screen.pages, screen.operations) == ((), ())
    assert screen.badge(Person("v", "viewer", "key")) is None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_names_its_power(method: Literal["GET", "POST"]) -> None:
    async def run(asking: Asking) -> View:
        return View("")

    with pytest.raises(TypeError, match="power"):
        Page(path="/x", run=run, method=method)  # type: ignore[call-arg]
