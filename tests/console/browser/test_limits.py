"""The limits screen as a person sees it, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened
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


def test_how_it_looks_and_leads_to_the_record(opened: Open, look: tuple[str, int]) -> None:
    """What is used up is named, and who used it is a way into the record."""
    theme, width = look
    found = opened("/limits", theme=theme, width=width)
    expect(found.page.get_by_text("none left")).to_be_visible()
    expect(found.page.get_by_text("demo/now")).to_be_visible()
    found.check()
    found.shot("limits")
    found.page.get_by_role("link", name="local").first.click()
    found.page.wait_for_url("**/audit?agent=local&since=1h")
