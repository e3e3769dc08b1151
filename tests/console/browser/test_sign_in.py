"""Signing in as a person does it, in chromium, and the pages that nobody is signed in to."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import WAYS, Opened, press
from tests.console.running import Console

Open = Callable[..., Opened]


@pytest.mark.parametrize("by", WAYS)
def test_somebody_signs_out_and_in_with_a_key(opened: Open, console: Console, by: str) -> None:
    """The field of the key has the focus, and Enter is enough."""
    made = console.command("key", "create", f"boss-{by}", "--operator", "--json").stdout
    page = opened("/inbox", apart=True).page
    press(page, page.get_by_role("button", name="Sign out"), by)
    field = page.get_by_label("Key of an operator")
    if by == "keys":
        expect(field).to_be_focused()
        page.keyboard.type(json.loads(made)["key"])
        page.keyboard.press("Enter")
    else:
        field.fill(json.loads(made)["key"])
        page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("nav.main .who")).to_contain_text(f"boss-{by} · operator")


def test_how_the_pages_in_front_of_it_look(opened: Open, console: Console) -> None:
    """The sign-in, one that failed, a one-time URL that is none, and a page that is not there."""
    found = opened("/nowhere", apart=True)
    found.allowed.append("error: Failed to load resource")
    page = found.page
    expect(page.get_by_role("link", name="To the console")).to_be_visible()
    found.check_looks()
    page.goto(f"{console.url}/open")
    expect(page.get_by_label("One-time token")).to_be_visible()
    found.check_looks()
    page.get_by_label("One-time token").fill("none")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found.check_looks()
    page.goto(f"{console.url}/sign-in")
    page.get_by_label("Key of an operator").fill("none")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    found.check_looks()
