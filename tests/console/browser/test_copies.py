"""Copying a command, and times, in a browser that gives a page little: no clipboard, another clock; in chromium."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.browser.looks import Opened
from tests.console.running import Console

Open = Callable[..., Opened]


def test_a_command_is_copied_also_where_browsers_give_no_clipboard(
    opened: Open, console: Console
) -> None:
    """At an address that is neither of TLS nor of this machine; and a second press leaves the button what it was."""
    found = opened("/audit")
    page = found.page
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto(f"{console.url}/audit")
    found.ready()
    button = page.locator("[data-copy]").first
    command = button.get_attribute("data-copy")
    assert command is not None
    assert "audit query" in command
    for _ in range(2):
        page.keyboard.press(".")
        expect(button).to_have_text("copied")
        expect(page.locator("#told")).to_have_text("copied")
    expect(button).to_have_text("copy as command")
    page.keyboard.press("/")
    page.keyboard.press("Control+V")
    expect(page.locator("[name=add]")).to_have_value(command)


def test_a_command_that_cannot_be_copied_is_shown(opened: Open, console: Console) -> None:
    page = opened("/audit").page
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false;"
    )
    page.goto(f"{console.url}/audit")
    page.get_by_role("button", name="copy as command").click()
    expect(page.get_by_role("alert")).to_contain_text("audit query")


def test_the_key_copies_how_the_page_is_done_from_a_terminal(opened: Open) -> None:
    """And not the first command that stands on it."""
    page = opened("/health").page
    wanted = page.locator("footer.page [data-copy]").first
    expect(wanted).to_be_visible()
    page.keyboard.press(".")
    expect(wanted).to_have_text("copied")


def test_times_are_told_by_the_clock_of_the_gateway(opened: Open, console: Console) -> None:
    """Of a machine whose clock is an hour ahead all that waits seemed to be over."""
    found = opened("/inbox", apart=True)
    page = found.page
    page.clock.set_system_time(time.time() + 3600)
    with console.calling("demo__write_note", name="a", text="hello"):
        page.goto(f"{console.url}/inbox")
        found.ready()
        ends = page.locator("#list .warn-text time")
        asked = page.locator("#list .right > time")
        expect(asked).not_to_have_text(asked.inner_text())  # it is told anew every second
        expect(ends).to_have_text(re.compile("^in "))
        expect(asked).to_have_text(re.compile(r"^\d s ago"))
        page.get_by_role("button", name="Approve once").click()
        expect(page.locator("#sum")).to_have_text("0 waiting")
