"""The event stream of a page that is refused: it says so, tries again less and less often, and asks for no other page, in chromium."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Request, Route, expect

from tests.console.browser.looks import Opened, listening, settled
from tests.console.client import Visitor
from tests.console.running import Console, eventually

Open = Callable[..., Opened]


@contextmanager
def stream(visitor: Visitor) -> Iterator[None]:
    """One more page of theirs is open."""
    line = http.client.HTTPConnection(urlsplit(visitor.console.url).netloc, timeout=20)
    path = f"/events?topics=inbox&key={quote(visitor.csrf)}"
    line.request("GET", path, headers={"Cookie": visitor.cookie})
    answer = line.getresponse()
    try:
        assert (answer.status, answer.readline()) == (200, b"retry: 1000\n")
        yield
    finally:
        answer.close()
        line.close()


def test_a_page_too_many_says_so_and_waits(opened: Open, console: Console) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    listening(page)
    page.clock.install()
    found.allowed = ["error: Failed to load resource"]
    visitor = Visitor(console)
    visitor.open(console.new_url().partition("#")[2])
    page.goto("about:blank")
    with ExitStack() as streams:

        def all_taken() -> bool:  # that of the page goes when the gateway notices
            try:
                streams.enter_context(stream(visitor))
            except AssertionError:
                return True
            return False

        eventually(all_taken)
        asked: list[str] = []
        page.on("request", lambda one: asked.append(urlsplit(one.url).path))
        page.goto(f"{console.url}/audit")
        for _ in range(20):
            page.clock.run_for(3000)
            page.wait_for_timeout(20)
        expect(page.locator("#connection")).to_contain_text("Too many pages are open")
        assert asked.count("/audit") == 2  # the shell, and what it fetches with the page key
        assert 4 <= asked.count("/events") <= 12
    for _ in range(30):
        page.clock.run_for(3000)
        page.wait_for_timeout(50)
    listening(page)
    expect(page.locator("#connection")).to_be_hidden()


def test_a_page_whose_session_has_ended_is_led_to_the_sign_in(
    opened: Open, console: Console
) -> None:
    found = opened("/audit", apart=True)
    page = found.page
    found.allowed = ["error: Failed to load resource"]
    listening(page)
    other = opened("/sessions").page
    other.locator("#signed-in").get_by_role("button", name="Sign out").nth(1).click()
    expect(page.locator("#list")).to_have_count(0)


def test_more_pages_are_open_than_a_browser_has_connections(opened: Open, console: Console) -> None:
    """Six streams took all of them, and nothing was sent any more by any page. One page has the stream for all."""
    found = opened("/inbox", apart=True)
    first, context = found.page, found.page.context
    pages = [first]
    for _ in range(7):
        page = context.new_page()
        page.goto(f"{console.url}/inbox")
        pages.append(page)
    for page in pages:
        listening(page)
    with console.calling("demo__write_note", name="a", text="hello"):
        for page in pages:
            expect(page.locator("#sum")).to_contain_text("1 waiting")
        first.close()  # it had the stream
        found.page = pages[-1]
        page = pages[3]
        settled(page)
        page.get_by_role("button", name="Approve once").click()
        for page in pages[1:]:
            expect(page.locator("#sum")).to_have_text("0 waiting")


def test_a_page_that_comes_to_the_stream_of_another_hears_of_what_was_before(
    opened: Open, console: Console
) -> None:
    """Between the making of a page and the moment from which on it hears."""
    found = opened("/inbox", apart=True)
    first, context = found.page, found.page.context
    listening(first)
    second = context.new_page()
    late = context.new_page()
    late.goto(f"{console.url}/inbox")
    listening(late)
    text = late.content()
    late.close()
    with console.calling("demo__write_note", name="a", text="hello"):
        expect(first.locator("#sum")).to_contain_text("1 waiting")

        def before(route: Route) -> None:
            """The page as it was made before the call."""
            if "x-csrf-token" in route.request.headers:
                route.fulfill(content_type="text/html", body=text)
            else:
                route.continue_()

        second.route("**/inbox", before)
        second.goto(f"{console.url}/inbox")
        expect(second.locator("#sum")).to_contain_text("1 waiting")
    first.close()
    found.page = second


@pytest.mark.parametrize("locks", [True, False])
def test_pages_tell_each_other_where_one_has_the_stream_for_all(
    opened: Open, console: Console, locks: bool
) -> None:
    """Elsewhere each has its own, and would hear everything twice."""
    found = opened("/inbox", apart=True)
    first, context = found.page, found.page.context
    if not locks:
        context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    streams: list[Request] = []

    def ended(one: Request) -> None:
        if one in streams:  # the browser begins another one where a stream is lost
            streams.remove(one)

    context.on("request", lambda one: streams.append(one) if "/events?" in one.url else None)
    context.on("requestfinished", ended)
    context.on("requestfailed", ended)
    second = context.new_page()
    for page in (first, second):
        page.goto(f"{console.url}/inbox")
        listening(page)
    first.evaluate(
        """() => {
          window.heard = [];
          const channel = new BroadcastChannel(`console-stream ${document.body.dataset.csrf}`);
          channel.addEventListener("message", (event) => window.heard.push(event.data.kind));
        }"""
    )
    with console.calling("demo__write_note", name="a", text="hello"):
        for page in (first, second):
            expect(page.locator("#sum")).to_contain_text("1 waiting")
        settled(second)  # decided, so that it waits in no other test
        second.get_by_role("button", name="Approve once").click()
        expect(second.locator("#sum")).to_have_text("0 waiting")
    for _ in range(100):
        if len(streams) == (1 if locks else 2):
            break
        first.wait_for_timeout(50)
    # Both pages have shown the call, so that whoever has no stream was told.
    assert len(streams) == (1 if locks else 2)
    assert locks or first.evaluate("window.heard") == []
    second.close()


def test_a_page_that_sleeps_with_the_stream_keeps_nobody_from_hearing(
    opened: Open, console: Console
) -> None:
    """Browsers put pages to sleep that nobody looks at: the others showed for ever what they showed, and said nothing."""
    found = opened("/inbox", apart=True)
    first, context = found.page, found.page.context
    listening(first)
    second = context.new_page()
    second.goto(f"{console.url}/inbox")
    listening(second)
    browser = context.new_cdp_session(first)
    browser.send("Page.setWebLifecycleState", {"state": "frozen"})
    with console.calling("demo__write_note", name="asleep", text="hello"):
        expect(second.locator("#sum")).to_contain_text("1 waiting")
        browser.send("Page.setWebLifecycleState", {"state": "active"})
        expect(first.locator("#sum")).to_contain_text("1 waiting")
        settled(second)
        second.get_by_role("button", name="Approve once").click()
        for page in (first, second):
            expect(page.locator("#sum")).to_have_text("0 waiting")
    second.close()


def test_without_locks_a_page_that_nobody_sees_takes_no_connection(
    opened: Open, console: Console
) -> None:
    """There each has a stream of its own, and six of them are all that a browser opens to a host."""
    found = opened("/inbox", apart=True)
    page = found.page
    page.context.add_init_script(
        "Object.defineProperty(navigator, 'locks', { value: undefined });"
        "window.sees = (hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); };"
    )
    streams: list[Request] = []
    ended: list[Request] = []
    page.on("request", lambda one: streams.append(one) if "/events?" in one.url else None)
    page.on("requestfailed", lambda one: ended.append(one) if one in streams else None)
    page.goto(f"{console.url}/inbox")
    listening(page)
    page.evaluate("window.sees(true)")
    for _ in range(100):
        if not ended:
            page.wait_for_timeout(50)
    assert (len(streams), len(ended)) == (1, 1)
    with console.calling("demo__write_note", name="unseen", text="hello"):
        page.wait_for_timeout(500)
        page.evaluate("window.sees(false)")
        expect(page.locator("#sum")).to_contain_text("1 waiting")
        for _ in range(
            50
        ):  # a press between two refreshes, its own and that of its stream, does nothing
            if page.locator("#sum").inner_text() != "0 waiting":
                settled(page)
                page.keyboard.press("a")
                page.wait_for_timeout(100)
        expect(page.locator("#sum")).to_have_text("0 waiting")
    assert len(streams) == 2
