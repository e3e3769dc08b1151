"""Live calls as a person follows them, in chromium."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.console.browser.looks import Opened
from tests.console.mcp_session import McpSession
from tests.console.running import Console

Open = Callable[..., Opened]


def test_calls_appear_are_paused_and_opened_by_keys(opened: Open, console: Console) -> None:
    found = opened("/live")
    page = found.page
    expect(page.get_by_text("No call yet")).to_be_visible()
    host = McpSession(console, "claude\u202e")
    host.call("demo__echo", text="x")
    rows = page.locator("tr[data-item]")
    expect(rows).to_have_count(1)
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    host.call("demo__nothing")
    expect(page.get_by_text("1 call since")).to_be_visible()
    expect(rows).to_have_count(1)
    page.keyboard.press("p")
    expect(rows).to_have_count(2)
    page.keyboard.press("j")
    panel = page.get_by_role("complementary", name="One call")
    expect(panel.locator(".panel-top .chip")).to_have_text("refused")
    expect(panel.locator(".gates .refused")).to_contain_text("resolve")
    expect(panel).to_contain_text("claude\\u202e")  # as the record spells it
    assert "/live/" in page.url
    page.reload()
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.url.endswith("/live")


def test_whoever_closes_a_call_by_a_key_is_where_they_were(opened: Open, console: Console) -> None:
    """`j` and `k` go on from there; a second Esc lets the list go on."""
    host = McpSession(console)
    host.call("demo__echo", text="x")
    host.call("demo__nothing")
    page = opened("/live").page
    rows = page.locator("tr[data-item]")
    panel = page.get_by_role("complementary", name="One call")
    for at in range(2):
        page.keyboard.press("j")
        expect(panel).to_be_visible()
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        expect(rows.nth(at).locator("[data-opens-item]")).to_be_focused()
    expect(page.locator("#paused")).to_have_text("paused")
    expect(page.locator("#pause")).to_have_text("Keep paused")
    page.keyboard.press("Escape")
    expect(page.locator("#paused")).to_have_text("")


def test_nothing_moves_while_the_pointer_is_on_it_and_filters_are_in_the_url(
    opened: Open, console: Console
) -> None:
    host = McpSession(console)
    host.call("demo__echo", text="x")
    page = opened("/live?tool=echo").page
    rows = page.locator("tr[data-item]")
    expect(rows.first).to_be_visible()
    before = rows.count()
    rows.first.hover()
    expect(page.locator("#paused")).to_have_text("paused")
    host.call("demo__echo", text="y")
    host.call("demo__add", a=1, b=2)
    expect(page.get_by_text("2 calls since")).to_be_visible()
    assert rows.count() == before
    page.mouse.move(5, 5)
    expect(rows).to_have_count(before + 1)
    page.get_by_label("Decision").select_option("refused")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No call fits")).to_be_visible()
    assert "decision=refused" in page.url
    assert "tool=echo" in page.url


def test_how_it_looks(opened: Open, console: Console) -> None:
    """In both themes, wide and narrow, with a call open."""
    host = McpSession(console)
    host.call("demo__echo", text="x")
    host.call("demo__read_note", name="none of this name")
    host.call("demo__" + "n" * 200)
    found = opened("/live", theme="dark", width=390)
    page = found.page
    expect(page.get_by_text("Last minute:")).to_be_visible()
    found.shot("live")
    page.locator("tr[data-item] a[data-opens-item]").first.click()
    expect(page.get_by_role("complementary", name="One call")).to_be_visible()
    found.check_looks("live-open")


def test_the_chart_asks_for_one_answer_at_a_time(opened: Open, console: Console) -> None:
    """Two that were on their way at once brought the same seconds twice."""
    page = opened("/inbox", apart=True).page
    page.clock.install()
    page.goto(f"{console.url}/live")
    expect(page.get_by_text("Last minute:")).to_be_visible()
    held: list[Route] = []
    page.route("**/api/v1/traffic?*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks it
    with page.expect_request("**/api/v1/traffic?*"):
        page.clock.run_for(3_000)
    page.clock.run_for(10_000)
    page.clock.run_for(10_000)
    assert len(held) == 1
    with page.expect_response("**/api/v1/traffic?*"):
        held[0].continue_()
    with page.expect_request("**/api/v1/traffic?*"):
        page.clock.run_for(3_000)
    page.unroute_all(behavior="ignoreErrors")


def test_a_call_that_runs_is_seen_and_stopped_by_keys_and_by_mouse(
    opened: Open, console: Console
) -> None:
    """Who, what, where and since when; its caller is told why it ended."""
    page = opened("/live").page
    running = page.locator("#running tbody tr")
    for by_mouse in (False, True):
        with console.calling("demo__write_note", name=f"n{by_mouse}", text="x") as call:
            expect(running).to_have_count(1)
            expect(running).to_contain_text("write_note")
            expect(running).to_contain_text("waits for a person")
            stop = running.get_by_role("button", name="Stop…")
            if by_mouse:
                stop.click()
                page.get_by_label("Why?").fill("nobody asked for it")
                page.get_by_role("button", name="Stop the call").click()
            else:
                stop.focus()
                page.keyboard.press("Enter")
                page.keyboard.type("nobody asked for it")
                page.keyboard.press("Enter")
            expect(running).to_have_count(0)
            assert "nobody asked for it" in call.communicate(timeout=20)[0]
    ended = page.locator("tr[data-item]", has_text="write_note")
    expect(ended.first).to_contain_text("refused")


def test_those_that_run_have_a_page_that_is_sorted_and_linked_to(
    opened: Open, console: Console
) -> None:
    found = opened("/live/running")
    page = found.page
    expect(page.get_by_text("No call runs now")).to_be_visible()
    with console.calling("demo__delete_all_notes"):
        expect(page.get_by_role("link", name="waits for a person")).to_be_visible()
        expect(page.locator("th[aria-sort=descending]")).to_have_text("How long ↓")
        page.get_by_role("link", name="Call", exact=True).click()
        expect(page.locator("th[aria-sort=ascending]")).to_have_text("Call ↑")
        assert "sort=tool" in page.url
        found.check_looks()
        page.goto(f"{console.url}/live/running?server=none")
        expect(page.get_by_text("No such call runs now")).to_be_visible()


def test_calls_are_sorted_by_what_they_took(opened: Open, console: Console) -> None:
    host = McpSession(console)
    host.call("demo__count", to=3)
    host.call("demo__echo", text="x")
    page = opened("/live").page
    page.get_by_role("link", name="Took", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Took ↓")
    took = [one.inner_text() for one in page.locator("tr[data-item] td:nth-child(5)").all()]
    found = [float(one.removesuffix(" ms") or -1) for one in took if not one.endswith(" s")]
    assert (len(found) > 1, found) == (True, sorted(found, reverse=True))
    assert "sort=ms" in page.url
