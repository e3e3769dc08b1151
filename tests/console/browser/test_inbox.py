"""The inbox as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.browser.looks import Opened
from tests.console.running import Console

Open = Callable[..., Opened]


def test_a_call_is_approved_by_key(opened: Open, console: Console) -> None:
    """It appears by itself, and `a` lets it run."""
    page = opened("/inbox").page
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    with console.calling("demo__write_note", name="a\u202eb", text="hello") as call:
        expect(page.get_by_text("U+202E")).to_be_visible()
        page.keyboard.press("a")
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        assert "written" in call.communicate(timeout=20)[0]


def test_a_call_is_denied_with_a_reason(opened: Open, console: Console) -> None:
    """The caller is told why."""
    page = opened("/inbox").page
    with console.calling("demo__write_note", name="x", text="y") as call:
        expect(page.get_by_role("button", name="Deny…")).to_be_visible()
        page.keyboard.press("d")
        page.keyboard.type("not on a Friday")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        assert "not on a Friday" in call.communicate(timeout=20)[0]


def test_how_it_looks(opened: Open, console: Console, look: tuple[str, int]) -> None:
    """In both themes, wide and narrow."""
    theme, width = look
    with console.calling("demo__write_note", name=f"{theme}{width}", text="y" * 2000):
        found = opened("/inbox", theme=theme, width=width)
        expect(found.page.get_by_role("button", name="Approve once")).to_be_visible()
        found.check()
        found.page.get_by_role("button", name="Deny…").click()
        found.page.get_by_label("Why not?").fill("enough")
        found.page.get_by_role("dialog").get_by_role("button", name="Deny", exact=True).click()
        expect(found.page.get_by_text("Nothing waits")).to_be_visible()
