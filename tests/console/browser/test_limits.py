"""The limits screen as a person sees it, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import WAYS, Opened, press
from tests.console.mcp_session import of_operator
from tests.console.running import DEMO, Console, running

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With limits for every caller and tool."""
    text = "[limits.calls.caller]\nper_minute = 600\nper_day = 5000\n[limits.calls.tool]\nper_hour = 2\n"
    with running(tmp_path_factory.mktemp("console"), text + DEMO) as found:
        session = of_operator(found)
        for _ in range(3):
            session.call("demo__now")
        yield found


def test_how_it_looks_and_leads_to_the_record(opened: Open) -> None:
    """What is used up is named, and who used it is a way into the record."""
    found = opened("/limits", theme="dark", width=390)
    expect(found.page.get_by_text("none left")).to_be_visible()
    expect(found.page.get_by_text("demo/now")).to_be_visible()
    found.check_looks("limits")
    found.page.get_by_role("link", name="local").first.click()
    found.page.wait_for_url("**/audit?agent=local&since=1h")


@pytest.mark.parametrize("by", WAYS)
def test_what_is_used_up_is_found_and_led_to_who_used_it(opened: Open, by: str) -> None:
    """A search, an order, and the way to the calls."""
    page = opened("/limits").page
    if by == "keys":
        page.keyboard.press("/")
        page.keyboard.type("now")
        page.keyboard.press("Enter")
    else:
        page.locator("select[name=scope]").select_option("tool")
        page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("none left")
    press(page, page.get_by_role("link", name="all", exact=True), by)
    expect(page.locator("tbody tr")).not_to_have_count(1)
    press(page, page.get_by_role("link", name="Left"), by)
    expect(page.locator("th[aria-sort]")).to_contain_text("Left")
    press(page, page.locator("#consumers").get_by_role("link", name="local").first, by)
    page.wait_for_url("**/audit?agent=local&since=1h")
