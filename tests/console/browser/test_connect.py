"""Hosts as a person connects them, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import WAYS, Opened, press
from tests.console.running import Console, running

Open = Callable[..., Opened]
FILE = '{"mcpServers": {"notes<b>": {"command": "true"}, "web": {"url": "https://x.example/mcp"}}}'


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With one host in its home."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "home/.cursor").mkdir(parents=True)
    (folder / "home/.cursor/mcp.json").write_text(FILE)
    with running(folder) as found:
        yield found


@pytest.mark.parametrize("by", WAYS)
def test_a_host_is_connected_with_the_change_shown_and_back(
    opened: Open, console: Console, by: str
) -> None:
    file = console.config.parent / "home/.cursor/mcp.json"
    page = opened("/connect").page
    expect(page.get_by_text("notes<b>")).to_be_visible()
    press(page, page.get_by_role("button", name="Connect… Cursor"), by)
    expect(page.locator("ins").first).to_be_visible()
    assert file.read_text() == FILE
    press(page, page.get_by_role("button", name="Write these lines"), by)
    expect(page.get_by_role("status")).to_contain_text("changed")
    assert "bridge" in file.read_text()
    press(page, page.get_by_role("button", name="Disconnect… Cursor"), by)
    press(page, page.get_by_role("button", name="Remove it again"), by)
    # Exactly: "Disconnect… Cursor" has the words in it.
    expect(page.get_by_role("button", name="Connect… Cursor", exact=True)).to_be_visible()
    assert file.read_text() == FILE


def test_how_connecting_looks(opened: Open) -> None:
    """The hosts, and what an import would do."""
    found = opened("/connect", theme="dark", width=390)
    found.check_looks()
    found.page.get_by_role("button", name="Import… the servers of Cursor").click()
    expect(found.page.get_by_role("button", name="Import")).not_to_have_count(0)
    expect(found.page.get_by_text("into", exact=False).first).to_be_visible()
    found.check_looks()


def test_the_servers_of_a_host_are_taken_over_and_given_back(
    opened: Open, console: Console
) -> None:
    """What happens is shown first: what goes into our file, and the difference of theirs."""
    file = console.config.parent / "home/.cursor/mcp.json"
    before = file.read_text()
    found = opened("/connect")
    page = found.page
    page.get_by_role("button", name="Take over… the servers of Cursor").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("behind the gateway").last).to_be_visible()
    expect(page.locator("del").first).to_be_visible()
    found.check()
    assert file.read_text() == before
    page.get_by_role("button", name="and connect").click()
    expect(page.get_by_role("status")).to_contain_text("of its servers went into")
    assert "x.example" not in file.read_text()
    assert "x.example" in console.config.read_text()
    page.get_by_role("button", name="Disconnect… Cursor").click()
    page.get_by_role("button", name="Remove it again").click()
    expect(page.get_by_role("button", name="Connect… Cursor", exact=True)).to_be_visible()
    assert file.read_text() == before


def test_servers_are_imported_from_a_text_and_from_a_path(opened: Open, console: Console) -> None:
    """The plan first; what cannot be read is said in the page."""
    text = '{"mcpServers": {"pasted": {"command": "true"}, "other": {"command": "true"}}}'
    found = opened("/connect")
    page = found.page
    page.get_by_text("Import servers from elsewhere").click()
    page.get_by_label("Or what is in such a file").fill(text)
    page.get_by_role("button", name="Preview the import").click()
    plan = page.locator("#change-from")
    expect(plan.locator("tbody tr")).to_have_count(2)
    found.check()
    plan.locator("tr", has_text="pasted").get_by_role("button", name="this one alone").click()
    expect(plan.locator("tbody tr")).to_have_count(1)
    plan.get_by_role("button", name="Import it").click()
    expect(page.get_by_role("status")).to_contain_text("1 from the text that was pasted")
    assert 'id = "pasted"' in console.config.read_text()
    assert 'id = "other"' not in console.config.read_text()
    page.get_by_label("Or what is in such a file").fill("")
    page.get_by_label("A file on this machine").fill("/nowhere/mcp.json")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("no such file")
    found.allowed.append("error: Failed to load resource")
