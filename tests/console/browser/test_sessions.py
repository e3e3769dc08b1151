"""Sessions as a person looks at them, in chromium: a run as a timeline, its end, and who is signed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened, press
from tests.console.mcp_session import McpSession
from tests.console.running import DEMO, Console, running

Open = Callable[..., Opened]

FLOW = DEMO.replace(
    "[servers.tools.write_note]",
    '[servers.tools.echo]\nflow = ["untrusted"]\n[servers.tools.read_note]\nflow = ["private"]\n'
    "[servers.tools.write_note]",
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console"), FLOW) as found:
        yield found


def test_a_run_is_followed_and_ended(opened: Open, console: Console) -> None:
    """It says what was read as it is read; after its end no call is taken."""
    host = McpSession(console)
    host.call("demo__echo", text="x")
    page = opened("/sessions").page
    row = page.locator("tr[data-item]", has_text=host.id[:12])
    expect(row).to_contain_text("open")
    row.get_by_role("link").click()
    expect(page.get_by_text("It has read untrusted content")).to_be_visible()
    host.call("demo__read_note", name="welcome")
    expect(page.get_by_text("calls that send data out now need approval")).to_be_visible()
    expect(page.locator(".timeline li[data-item]")).to_have_count(2)
    page.get_by_role("button", name="End the session…").click()
    page.get_by_role("button", name="End the session", exact=True).click()
    expect(page.locator("#run").get_by_text("ended", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="End the session…")).to_have_count(0)


def test_the_way_back_to_all_sessions_is_there_on_a_narrow_screen(
    opened: Open, console: Console
) -> None:
    """Keys are left out there, links are not."""
    McpSession(console, "host").call("demo__echo", text="x")
    page = opened("/sessions", width=390).page
    page.locator("tr[data-item] a").first.click()
    page.get_by_role("link", name="all sessions").click()
    expect(page.get_by_role("heading", name="Signed in to this console")).to_be_visible()
    page.goto(f"{console.url}/live/running")
    expect(page.get_by_role("link", name="calls that have ended").first).to_be_visible()


def test_somebody_else_is_signed_out(opened: Open, console: Console) -> None:
    """Their page asks them to sign in with the next thing that it does."""
    other = opened("/sessions", apart=True).page
    page = opened("/sessions").page
    rows = page.locator("#signed-in tbody tr")
    before = rows.count()
    # Whoever signed in last stands first.
    rows.nth(1).get_by_role("button", name="Sign out").click()
    expect(rows).to_have_count(before - 1)
    other.goto(console.url + "/sessions")
    expect(other.get_by_label("Key of an operator")).to_be_visible()


def test_how_it_looks(opened: Open, console: Console) -> None:
    """The list and a run, in both themes, wide and narrow."""
    host = McpSession(console, "n" * 100)
    host.call("demo__echo", text="x")
    host.call("demo__read_note", name="welcome")
    host.call("demo__" + "n" * 200)
    found = opened("/sessions", theme="dark", width=390)
    expect(found.page.locator("tr[data-item]").first).to_be_visible()
    found.check_looks("sessions")
    found.page.goto(f"{console.url}/sessions/run?agent=anonymous&session={host.id[:12]}")
    expect(found.page.locator(".timeline li[data-item]")).to_have_count(3)
    found.check_looks("sessions-run")


def test_a_run_is_found_and_ended_by_keys_alone(opened: Open, console: Console) -> None:
    """The dialog begins at the button that changes nothing; the other one stands before it."""
    host = McpSession(console)
    host.call("demo__echo", text="x")
    page = opened("/sessions").page
    page.keyboard.press("j")
    rows = page.locator("tr[data-item]")
    for _ in range(rows.count()):
        if host.id[:12] in page.locator("tr[data-item]:focus-within").inner_text():
            break
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".top .mono")).to_have_text(host.id[:12])
    press(page, page.get_by_role("button", name="End the session…"), "keys")
    expect(page.get_by_role("button", name="Leave it")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#run").get_by_text("ended", exact=True)).to_be_visible()


def test_how_those_who_are_signed_in_look(opened: Open) -> None:
    """On their page of their own, filtered."""
    found = opened("/sessions/signed-in?person=local")
    expect(found.page.get_by_text("you, here")).to_be_visible()
    found.check_looks()
