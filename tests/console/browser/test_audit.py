"""The audit screen as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.browser.looks import Opened, press, settled
from tests.console.mcp_session import of_operator
from tests.console.running import Console

Open = Callable[..., Opened]


def _fill(console: Console) -> None:
    session = of_operator(console)
    for tool in ("demo__read_note",) * 3 + ("demo__no_such_tool",):
        session.call(tool, name="nothing")


def test_a_refusal_is_found_opened_and_proven_by_key(opened: Open, console: Console) -> None:
    """Search, narrow, open, verify, without the mouse."""
    _fill(console)
    found = opened("/audit")
    page = found.page
    expect(page.locator("svg.histogram")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("agent:local")
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit?agent=local")
    found.ready()
    page.keyboard.press("/")
    page.keyboard.type("denied")
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit?agent=local&outcome=denied")
    expect(page.get_by_text("tool_not_found").first).to_be_visible()
    found.ready()
    settled(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_text("hash holds")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Verify the record").press("Enter")
    expect(page.get_by_text("chain intact")).to_be_visible()
    bars = page.locator("svg.histogram a")
    bars.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**since=**")
    expect(page.locator("tbody tr").first).to_be_visible()


def test_the_record_is_exported(opened: Open, console: Console) -> None:
    """As a file, of what was searched."""
    _fill(console)
    page = opened("/audit?tool=read_note").page
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("seq,")
    assert "read_note" in text


def test_nothing_is_ahead_by_less_than_a_second(opened: Open) -> None:
    """What was recorded while the page was made is not `in 0 s`."""
    page = opened("/audit").page
    page.evaluate(
        """() => {
          const now = Date.now();
          Date.now = () => now;
          for (let more = -8000; more < 8000; more += 400) {
            const one = document.createElement("time");
            one.dateTime = new Date(now + more).toISOString();
            one.className = "made";
            document.querySelector("footer.page").append(one);
          }
        }"""
    )
    expect(page.locator("time.made").first).to_contain_text("ago")
    said = page.locator("time.made").all_inner_texts()
    assert said.count("0 s ago") > 3  # a second on each side
    assert not [one for one in said if one == "in 0 s"]
    assert "in 1 s" in said


def test_how_it_looks(opened: Open, console: Console) -> None:
    """In both themes, wide and narrow."""
    _fill(console)
    found = opened("/audit?agent=local", theme="dark", width=390)
    expect(found.page.locator("tbody tr").first).to_be_visible()
    found.check_looks("audit")
    found.page.locator("[data-opens-item]").first.click()
    expect(found.page.get_by_text("hash holds")).to_be_visible()
    found.check_looks("audit-record")


def test_a_refusal_is_found_opened_and_proven_by_mouse(opened: Open, console: Console) -> None:
    """By what stands there: an agent's name narrows, a bar is its interval, a chip is taken away."""
    _fill(console)
    page = opened("/audit").page
    press(page, page.get_by_role("link", name="local", exact=True).first, "mouse")
    page.wait_for_url("**/audit?agent=local")
    page.locator("svg.histogram a").last.click()
    page.wait_for_url("**since=**")
    for left in (2, 1):  # of the interval's two, and the agent's
        press(page, page.locator(".chip.part a").last, "mouse")
        expect(page.locator(".chip.part")).to_have_count(left)
    expect(page.get_by_text("tool_not_found").first).to_be_visible()
    row = page.locator("tr[data-item]", has_text="tool_not_found").first
    press(page, row.locator("[data-opens-item]"), "mouse")
    expect(page.get_by_text("hash holds")).to_be_visible()
    press(page, page.get_by_role("link", name="All records"), "mouse")
    press(page, page.get_by_role("button", name="Verify the record"), "mouse")
    expect(page.get_by_text("chain intact")).to_be_visible()
