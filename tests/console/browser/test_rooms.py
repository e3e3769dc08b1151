"""The rooms screen as a person uses it, in chromium: sit down, decide on a proposal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import WAYS, Opened, press, settled
from tests.console.running import DEMO, Console, running

Open = Callable[..., Opened]
TOKEN = "a-token-of-sixteen-or-more"
ROOMS = f"""
[rooms]
default_profile = "full"
[rooms.kernel]
topics = ["deploys"]
[[rooms.participants]]
id = "bot"
token = "{TOKEN}"
profile = "full"
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a room, and somebody's key for it."""
    with running(tmp_path_factory.mktemp("console"), ROOMS + DEMO) as found:
        yield found


@contextlib.contextmanager
def _proposing(console: Console, text: str = "hello") -> Iterator[subprocess.Popen[str]]:
    """While inside, an agent waits for its proposal to be fulfilled."""
    words = ["room", "propose", "deploys", "gatewright", "demo__echo", f"text={text}"]
    running = subprocess.Popen(
        [sys.executable, "-m", "gatewright", *words, "--config", str(console.config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "GATEWRIGHT_KEY": TOKEN},
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def test_a_proposal_is_decided_and_it_looks_well(opened: Open, console: Console) -> None:
    """A card with what the gates say; a rejection reaches who proposed."""
    found = opened("/rooms?topic=deploys", theme="dark", width=390)
    page = found.page
    page.get_by_role("button", name="Join the room").click()
    expect(
        page.get_by_text("No message since you joined").or_(page.locator(".talk li").first)
    ).to_be_visible()
    with _proposing(console) as bot:
        expect(page.get_by_text("dry run of tools/call").first).to_be_visible(timeout=20_000)
        found.check_looks("rooms")
        page.get_by_label("or why not").fill("not on a Friday")
        page.get_by_role("button", name="Reject").click()
        assert "not on a Friday" in bot.communicate(timeout=30)[0]
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("button", name="Join the room")).to_be_visible()


def test_a_reason_stays_with_the_proposal_it_was_written_for(
    opened: Open, console: Console
) -> None:
    """The next one stood in its place at once, with the reason that was written for the other."""
    page = opened("/rooms?topic=deploys").page
    page.get_by_role("button", name="Join the room").click()
    cards = page.locator("section.proposal")
    with _proposing(console):
        expect(cards).to_have_count(1)
        page.get_by_label("or why not").fill("not on a Friday")
        with _proposing(console):
            expect(cards).to_have_count(2)
            expect(cards.nth(1).get_by_label("or why not")).to_have_value("")
            expect(cards.nth(0).get_by_label("or why not")).to_have_value("not on a Friday")
    page.get_by_role("button", name="Leave").click()


def test_the_key_that_ends_a_reason_rejects(opened: Open, console: Console) -> None:
    """It pressed the first button of the form, which approved."""
    page = opened("/rooms?topic=deploys").page
    page.get_by_role("button", name="Join the room").click()
    with _proposing(console) as bot:
        field = page.get_by_label("or why not")
        field.fill("not on a Friday")
        settled(page)
        field.press("Enter")
        assert "not on a Friday" in bot.communicate(timeout=30)[0]
    page.get_by_role("button", name="Leave").click()


def test_who_comes_and_goes_is_seen_while_the_page_is_open(opened: Open, console: Console) -> None:
    """They stood there as they were when the page was made; what is written about one of them stays."""
    page = opened("/rooms?topic=deploys").page
    page.get_by_role("button", name="Join the room").click()
    people = page.locator("#people li")
    expect(people.filter(has_text="local")).to_have_count(1)
    before = people.count()
    with _proposing(console):
        expect(people).to_have_count(before + 1)
        expect(page.locator("#here")).to_have_text(f"{before + 1} here")
        bot = people.filter(has_text="bot")
        settled(page)
        bot.get_by_role("button", name="Stop…").click()
        page.get_by_label("Why? The record keeps it.").fill("it lies")
        with page.expect_response("**/rooms/people?*"):
            page.evaluate("document.body.dispatchEvent(new CustomEvent('changed-rooms'))")
        expect(page.get_by_label("Why? The record keeps it.")).to_have_value("it lies")
        page.get_by_role("button", name="Leave it").click()
    expect(people).to_have_count(before)
    page.get_by_role("button", name="Leave", exact=True).click()


def test_on_a_narrow_screen_the_row_of_screens_shows_where_one_is(opened: Open) -> None:
    """Also behind a form that was answered with another page."""
    page = opened("/rooms?topic=deploys", width=390).page
    here = page.locator("nav.main [aria-current]")
    expect(here).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Join the room").click()
    expect(page.get_by_role("button", name="Leave", exact=True)).to_be_visible()
    expect(here).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Leave", exact=True).click()


@pytest.mark.parametrize("by", WAYS)
def test_somebody_sits_down_speaks_and_approves(opened: Open, console: Console, by: str) -> None:
    """From the list of rooms to what the tool answered whoever proposed it."""
    page = opened("/rooms").page
    if by == "keys":
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Join the room")).to_be_visible()
        page.keyboard.press("Enter")
    else:
        page.get_by_role("link", name="deploys").click()
        page.get_by_role("button", name="Join the room").click()
    expect(page.get_by_role("button", name="Leave", exact=True)).to_be_visible()
    settled(page)
    if by == "keys":
        page.keyboard.press("/")
    else:
        page.get_by_label("Message to the room").click()
    page.keyboard.type(f"hello by {by}")
    page.keyboard.press("Enter")
    expect(page.locator(".talk")).to_contain_text(f"hello by {by}")
    with _proposing(console, f"said by {by}") as bot:
        press(page, page.get_by_role("button", name="Approve"), by)
        assert f"said by {by}" in bot.communicate(timeout=30)[0]
    press(page, page.get_by_role("button", name="Leave", exact=True), by)


def test_a_long_proposal_is_approved_on_its_last_page(opened: Open, console: Console) -> None:
    """By keys; and how the list of rooms and such a page look."""
    found = opened("/rooms")
    page = found.page
    expect(page.get_by_role("link", name="deploys")).to_be_visible()
    found.check_looks()
    page.goto(f"{console.url}/rooms?topic=deploys")
    page.get_by_role("button", name="Join the room").click()
    with _proposing(console, "x" * 20_000) as bot:
        press(page, page.get_by_role("link", name="Read it page by page"), "keys")
        expect(page.get_by_text("Page 1 of 2")).to_be_visible()
        assert page.get_by_role("button", name="Approve").count() == 0
        press(page, page.get_by_role("link", name="Next page"), "keys")
        expect(page.get_by_text("Page 2 of 2")).to_be_visible()
        found.check_looks()
        press(page, page.get_by_role("button", name="Approve"), "keys")
        assert "x" * 100 in bot.communicate(timeout=30)[0]
    press(page, page.get_by_role("button", name="Leave", exact=True), "mouse")
