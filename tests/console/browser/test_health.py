"""Health as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import WAYS, Opened, press
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


@pytest.mark.parametrize("by", WAYS)
def test_what_is_to_be_done_leads_to_the_server_and_the_record_is_verified(
    opened: Open, by: str
) -> None:
    page = opened("/health").page
    press(page, page.get_by_role("button", name="Verify the record"), by)
    expect(page.get_by_text("one unbroken chain up to #")).to_be_visible()
    first = page.locator("details.thing").first
    for seen in (False, True):
        press(page, first.locator("summary"), by)
        expect(first.get_by_text("To do:")).to_be_visible(visible=seen)
    press(page, first.get_by_role("link", name="Look at the server"), by)
    page.wait_for_url("**/servers/broken")


def test_how_health_looks(opened: Open) -> None:
    """Also where what is well is unfolded."""
    found = opened("/health", theme="dark", width=390)
    expect(found.page.get_by_text("checks passed")).to_be_visible()
    found.page.get_by_text("checks passed").click()
    found.check_looks()
