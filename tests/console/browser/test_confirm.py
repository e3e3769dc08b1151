"""Pages of a session that the issuer has to confirm, of one that was replaced, and of a browser without storage, in chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.console.browser.looks import Opened, listening, settled
from tests.console.running import Console

Open = Callable[..., Opened]
_LOAD = "error: Failed to load resource"
_AWAY = {"status": 503, "json": {"code": "issuer", "message": "<b>it is away", "hint": ""}}
_OVER = 'retry: 1000\nevent: over\ndata: {"why": "confirm"}\n\n'


class Doubted:
    """Stands for the gateway and the issuer where a session has to be confirmed: streams are over, until the issuer was asked.
    `asked` has the answers of `/oidc/again`, one after the other; the last one again and again."""

    def __init__(self, context: BrowserContext, url: str, *asked: dict[str, Any]) -> None:
        self.due = True
        self.requests = 0
        self._url = url
        self._answers = asked or ({"json": {"url": f"{url}/at-the-issuer"}},)
        self.holds = False
        self.held: list[Route] = []
        """Pages that are at the issuer, while it `holds` them."""
        context.route("**/events?*", self._events)
        context.route("**/screens?*", self._part)
        context.route("**/oidc/again?*", self._again)
        context.route("**/at-the-issuer", self._back)

    def _events(self, route: Route) -> None:
        if self.due:
            route.fulfill(content_type="text/event-stream", body=_OVER)
        else:
            route.continue_()

    def _part(self, route: Route) -> None:
        if self.due:
            route.fulfill(status=401, headers={"X-Console": "confirm", "HX-Reswap": "none"})
        else:
            route.continue_()

    def _again(self, route: Route) -> None:
        assert route.request.method == "POST"
        assert route.request.headers["x-csrf-token"]
        answer = self._answers[min(self.requests, len(self._answers) - 1)]
        self.requests += 1
        route.fulfill(**answer)

    def _back(self, route: Route) -> None:
        if self.holds:
            self.held.append(route)
            return
        self.due = False
        script = '<script type="module" src="/static/signed_in.js"></script>'
        body = f'<body data-csrf="" data-way="/audit"><h1></h1><p id="said"></p>{script}</body>'
        route.fulfill(content_type="text/html", body=body)


def _told(page: Page) -> None:
    """A part of it is fetched, as when something has changed."""
    page.evaluate("document.body.dispatchEvent(new CustomEvent('changed-inbox'))")


def test_one_page_goes_to_the_issuer_for_all(opened: Open, console: Console) -> None:
    found = opened("/audit", apart=True)
    found.allowed = [_LOAD]
    first, context = found.page, found.page.context
    others = [context.new_page(), context.new_page()]
    doubted = Doubted(context, console.url)
    doubted.due = False
    for page in others:
        page.goto(f"{console.url}/audit")
    for page in (first, *others):
        listening(page)
    doubted.due = doubted.holds = True
    _told(first)
    for _ in range(100):
        if not doubted.held:
            others[0].wait_for_timeout(50)
    for page in others:
        _told(page)
    for page in others:
        expect(page.locator("#connection")).to_contain_text("The issuer is asked who you are")
    assert (doubted.requests, len(doubted.held)) == (1, 1)
    doubted.holds = False
    doubted._back(doubted.held[0])
    for page in (first, *others):
        expect(page.locator("#connection")).to_be_hidden()
        listening(page)
        assert urlsplit(page.url).path == "/audit"
    assert doubted.requests == 1


def test_a_page_that_is_not_confirmed_stays_and_says_why(opened: Open, console: Console) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    found.allowed = [_LOAD]
    page.goto(
        "about:blank"
    )  # it would hear as well that it has to be confirmed, and be the one that asks
    doubted = Doubted(page.context, console.url, _AWAY)
    page.goto(f"{console.url}/audit")
    expect(page.locator("#connection")).to_contain_text("<b>it is away")
    assert (urlsplit(page.url).path, doubted.requests) == ("/audit", 1)
    anew = page.get_by_role("link", name="Sign in in another tab")
    with page.context.expect_page() as other:
        anew.click()
    expect(other.value.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_page_that_leaves_while_it_asks_leaves_the_turn_to_the_next(
    opened: Open, console: Console
) -> None:
    """Nobody else asked for twenty seconds, for an answer that nobody was there for any more."""
    found = opened("/audit", apart=True)
    page, context = found.page, found.page.context
    found.allowed = [_LOAD]
    doubted = Doubted(context, console.url, _AWAY)
    doubted.due = False
    held: list[Route] = []
    hold = lambda route: held.append(route)  # noqa: E731, PLW0108 - playwright marks it
    context.route("**/oidc/again?*", hold)
    listening(page)
    doubted.due = True
    for _ in range(20):
        if not held:
            _told(page)  # again: what is told while a part is fetched already is heard by nobody
            page.wait_for_timeout(500)
    assert len(held) == 1
    page.goto("about:blank")
    context.unroute("**/oidc/again?*", hold)
    page.goto(f"{console.url}/audit")
    expect(page.locator("#connection")).to_contain_text("<b>it is away", timeout=10_000)
    assert doubted.requests == 1


def test_whoever_writes_is_not_led_away_and_loses_nothing(opened: Open, console: Console) -> None:
    found = opened("/servers", apart=True)
    page = found.page
    found.allowed = [_LOAD]
    doubted = Doubted(page.context, console.url)
    doubted.due = False
    page.route(
        "**/servers/**",
        lambda route: (
            route.fulfill(status=401, headers={"X-Console": "confirm", "HX-Reswap": "none"})
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    page.goto(f"{console.url}/servers/demo")
    found.ready()
    listening(page)
    settled(page)
    page.keyboard.press("r")
    doubted.due = True
    reason = page.locator("dialog[open] [name=reason]")
    reason.fill("because of the weather")
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open] [data-says]")).to_contain_text("Not sent")
    expect(reason).to_have_value("because of the weather")
    expect(page.locator("#connection")).to_contain_text("finished writing")
    assert doubted.requests == 0
    # Another page has been at the issuer.
    other = page.context.new_page()
    other.goto(f"{console.url}/audit")
    listening(other)
    expect(page.locator("#connection")).to_be_hidden()
    expect(reason).to_have_value("because of the weather")
    assert doubted.requests == 1


def test_a_second_sign_in_leads_the_other_pages_on(opened: Open, console: Console) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    found.allowed = [_LOAD]
    listening(page)
    before = page.locator("body").get_attribute("data-csrf")
    other = page.context.new_page()
    other.goto(console.new_url())
    other.wait_for_url(lambda url: "/open" not in url)
    expect(page.locator(f'body.framed:not([data-csrf="{before}"])')).to_have_count(1)
    listening(page)
    expect(page.get_by_text("Your session has ended")).to_have_count(0)


def test_a_browser_without_storage_is_told_so(opened: Open, console: Console) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    refused = 'Object.defineProperty(window, "localStorage", {get() { throw new DOMException("no", "SecurityError"); }});'
    page.context.add_init_script(refused)
    page.goto(f"{console.url}/audit")
    expect(page.locator("#said")).to_contain_text("needs the storage of this site")
    page.goto(console.new_url())
    expect(page.locator("#said")).to_contain_text("needs the storage of this site")


def test_a_field_that_has_the_focus_keeps_nothing_waiting_and_what_is_written_does(
    opened: Open, console: Console
) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    found.allowed = [_LOAD]
    doubted = Doubted(page.context, console.url)
    doubted.due = False
    listening(page)
    field = page.locator("main input:visible").first
    for written, asked in (("x", 0), ("", 1)):
        field.focus()
        page.keyboard.type(written)
        doubted.due = True
        _told(page)
        if written:
            expect(page.locator("#connection")).to_contain_text("finished writing")
            assert doubted.requests == asked
            page.goto("about:blank")
            doubted.due = False
            page.goto(f"{console.url}/audit")
            found.ready()
        else:
            page.wait_for_url("**/at-the-issuer")
        listening(page)
        assert doubted.requests == asked
