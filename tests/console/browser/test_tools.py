"""The tools as a person uses them, in chromium."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.browser.looks import Opened

Open = Callable[..., Opened]


def test_a_tool_is_found_and_called_by_keys(opened: Open) -> None:
    """`/` searches; the form is that of the tool's schema; the answer is text."""
    page = opened("/tools").page
    page.keyboard.press("/")
    page.keyboard.type("say something again")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="of 3000 tokens")).to_be_visible()
    page.get_by_role("link", name="demo__echo").focus()
    page.keyboard.press("Enter")
    page.get_by_label("text needed").fill("<b>hello</b>\u202e")
    expect(page.get_by_label("Arguments")).to_have_value('{"text": "<b>hello</b>\u202e"}')
    page.keyboard.press("Enter")
    result = page.locator("#result")
    expect(result).to_contain_text("answered")
    expect(result.locator("pre").first).to_contain_text("<b>hello</b>U+202E")


def test_numbers_keep_the_digits_that_were_typed(opened: Open) -> None:
    page = opened("/tools/one?server=demo&tool=add").page
    page.get_by_label("a needed").fill("1.50")
    page.get_by_label("b needed").fill("2")
    expect(page.get_by_label("Arguments")).to_have_value('{"a": 1.50, "b": 2}')
    page.get_by_label("Arguments").fill('{"a": 1, "b": "x"}')
    page.get_by_role("button", name="Call it").click()
    expect(page.locator("#result")).to_contain_text("by the gate schema")


def test_how_tools_look(opened: Open, look: tuple[str, int]) -> None:
    """The catalogue, a search, one tool."""
    theme, width = look
    found = opened("/tools", theme=theme, width=width)
    expect(found.page.get_by_role("link", name="demo__add")).to_be_visible()
    found.check()
    for path in ("/tools?q=remove+all+notes", "/tools/one?server=demo&tool=write_note"):
        found.page.goto(found.console.url + path)
        found.check()
