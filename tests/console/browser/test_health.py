"""Health as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened
from tests.console.running import DEMO, Console, running

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With something to be done."""
    broken = (
        '\n[[servers]]\nid = "broken"\ncommand = "false"\n[servers.mgp]\nrestart_policy = "never"\n'
    )
    with running(tmp_path_factory.mktemp("console"), DEMO + broken) as found:
        yield found


def test_the_first_thing_is_open_and_says_what_to_type(opened: Open) -> None:
    """The badge counts what there is to be done."""
    page = opened("/health").page
    first = page.locator("details.thing").first
    expect(first).to_contain_text("server start broken")
    expect(page.get_by_role("link", name="Health")).to_contain_text("problem")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(first.get_by_text("To do:")).to_be_hidden()


def test_the_record_is_verified_by_a_button(opened: Open) -> None:
    page = opened("/health").page
    page.get_by_role("button", name="Verify the record").click()
    expect(page.get_by_text("one unbroken chain up to #")).to_be_visible()


def test_how_health_looks(opened: Open, look: tuple[str, int]) -> None:
    """Also where what is well is unfolded."""
    theme, width = look
    found = opened("/health", theme=theme, width=width)
    expect(found.page.get_by_text("found nothing to do")).to_be_visible()
    found.page.get_by_text("found nothing to do").click()
    found.check()
