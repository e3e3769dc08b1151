"""The access screen as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.browser.looks import Opened, press, settled, tab_to
from tests.console.mcp_session import of_operator
from tests.console.running import Console

Open = Callable[..., Opened]
_CELL = "/access?open_agent=*&open_server=demo&open_tool=read_note"


def test_a_change_is_shown_saved_and_undone_and_the_second_sees_the_conflict(
    opened: Open, console: Console
) -> None:
    """The diff names what goes, the replay which calls, and `u` takes it back."""
    of_operator(console).call("demo__read_note", name="x")
    mine, other = opened(_CELL), opened(_CELL)
    for page in (mine.page, other.page):
        page.locator("select[name=do]").select_option("deny")
        page.get_by_label("Why? The record keeps it.").fill("a try")
        page.get_by_role("button", name="Preview the change").click()
        expect(page.get_by_text("may not use demo/read_note")).to_be_visible()
        expect(page.get_by_text("calls in the last 7 days")).to_be_visible()
    mine.page.get_by_role("button", name="Deny it").click()
    expect(mine.page.get_by_text("Saved:")).to_be_visible()
    expect(mine.page.locator("a.cell[aria-current]")).to_contain_text("deny")
    other.allowed.append("error: Failed to load resource")
    save = other.page.get_by_role("button", name="Deny it")
    if save.is_visible():
        save.click()
        expect(other.page.get_by_text("somebody else has changed")).to_be_visible()
    settled(mine.page)
    mine.page.keyboard.press("u")
    expect(mine.page.get_by_text("Saved:")).to_have_count(0)
    expect(mine.page.locator("a.cell", has_text="allow, inherited: *, read_note")).to_have_count(1)


def test_the_grid_is_walked_by_keys(opened: Open) -> None:
    """From agent to agent and from tool to tool; with Tab alone there were as many stops as cells."""
    found = opened("/access")
    page = found.page
    rows = page.locator("table.grid tbody tr")
    cells = rows.nth(0).locator("a.cell")
    page.keyboard.press("j")
    expect(cells.nth(0)).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    expect(cells.nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    expect(rows.nth(1).locator("a.cell").nth(0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Change it")).to_be_visible()
    expect(page.locator("a.cell[aria-current]")).to_have_count(1)


def test_how_it_looks(opened: Open) -> None:
    """Opened narrow and dark, as everywhere: nearly all else is opened wide and light."""
    found = opened(_CELL, theme="dark", width=390)
    found.page.get_by_label("Why? The record keeps it.").fill("to see how it looks")
    found.page.get_by_role("button", name="Preview the change").click()
    expect(found.page.get_by_text("calls in the last 7 days")).to_be_visible()
    found.check_looks("access")


def test_the_column_of_agents_stays_with_its_head(opened: Open) -> None:
    """However far the tools are moved: else names of tools stand above those of agents."""
    page = opened("/access", width=390).page
    page.set_viewport_size({"width": 320, "height": 800})
    moved = page.locator(".scroll:has(table.grid)").evaluate(
        "one => (one.scrollLeft = 999, one.scrollLeft)"
    )
    assert moved > 0
    firsts = page.locator("table.grid tr > :first-child")
    lefts = firsts.evaluate_all(
        "all => all.map((one) => Math.round(one.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == 1, lefts


def test_a_change_is_made_and_undone_by_keys_alone(opened: Open) -> None:
    """From the grid to what is saved: a tool is denied to everybody, and allowed again."""
    page = opened("/access?find=read_note").page
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Change it")).to_be_visible()
    tab_to(page, page.locator("select[name=do]"))
    page.keyboard.type("deny")
    tab_to(page, page.get_by_label("Why? The record keeps it."))
    page.keyboard.type("a try")
    page.keyboard.press("Enter")
    expect(page.get_by_text("may not use demo/read_note")).to_be_visible()
    press(page, page.get_by_role("button", name="Deny it"), "keys")
    expect(page.get_by_text("Saved:")).to_be_visible()
    expect(page.locator("a.cell[aria-current]")).to_contain_text("deny")
    settled(page)
    page.keyboard.press("u")
    expect(page.get_by_text("Saved:")).to_have_count(0)
