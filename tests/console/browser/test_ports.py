"""Another web server of this machine, which a browser sends the console's cookie: what it gets by that, and what a page says at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened, listening
from tests.console.raw import Raw
from tests.console.running import Console, running


@contextmanager
def _listening(host: str, more: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server at a port of its own, and the cookies that it is sent."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("Cookie", ""))
            said = f"<!doctype html><title>elsewhere</title><h1>Elsewhere</h1>{more}"
            body = said.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = HTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_port_gets_the_cookie_and_nothing_by_it(
    opened: Callable[..., Opened], console: Console
) -> None:
    page = opened("/inbox").page
    page.get_by_role("heading", name="Inbox").wait_for()
    with _listening("127.0.0.1") as (url, heard):
        page.goto(url)
        cookie = heard[0]
        kept = page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
    # Browsers do send it, whatever it says of itself; so it must not be enough.
    assert "gatewright_console_" in cookie
    assert kept == "{}"
    thief = Raw(console.url, cookie)
    for path in ("/", "/inbox", "/live", "/audit", "/sessions", "/inbox/list", "/screens"):
        said = thief.get(path)
        assert "data-csrf" not in said.text
        assert "Sign out" not in said.text
    for path in ("/approvals", "/calls", "/audit", "/sign-ins", "/servers"):
        assert thief.api("GET", path).status == 401
    assert thief.get("/events?topics=inbox").status == 401
    assert thief.form("/sign-out", {}).status == 403
    page.goto(f"{console.url}/live")
    expect(page.get_by_role("heading", name="Live")).to_be_visible()


def test_a_reference_from_another_site_leads_to_the_page(
    opened: Callable[..., Opened], console: Console
) -> None:
    """The cookie does not go along with it."""
    found = opened("/inbox")
    with _listening("localhost", f'<a href="{console.url}/live">go</a>') as (url, _):
        found.page.goto(url)
        found.page.get_by_role("link", name="go").click()
        expect(found.page.get_by_role("heading", name="Live")).to_be_visible()


def test_a_new_window_and_a_reload_show_the_page_again(
    opened: Callable[..., Opened], console: Console
) -> None:
    first = opened("/audit?tool=echo", apart=True)
    expect(first.page.get_by_role("heading", name="Audit")).to_be_visible()
    first.page.reload()
    expect(first.page.get_by_text("with tool")).to_be_visible()
    other = first.page.context.new_page()
    other.goto(f"{console.url}/servers")
    expect(other.get_by_role("heading", name="Servers")).to_be_visible()
    other.locator("[data-go=t]").click()
    expect(other.get_by_role("heading", name="Tools")).to_be_visible()
    other.go_back()
    expect(other.get_by_role("heading", name="Servers")).to_be_visible()
    other.evaluate("localStorage.clear()")
    other.goto(f"{console.url}/servers")
    expect(other.get_by_label("Key of an operator")).to_be_visible()


def test_a_page_says_that_its_session_was_ended_and_shows_nothing_any_more(
    opened: Callable[..., Opened], console: Console
) -> None:
    found = opened("/live", apart=True)
    page = found.page
    expect(page.get_by_role("heading", name="Live")).to_be_visible()
    listening(page)
    other = page.context.new_page()
    other.goto(f"{console.url}/inbox")
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Key of an operator")).to_be_visible()
    # The stream says it, or a part that was fetched just then, which leads to the sign-in with the same words.
    found.allowed = ["error: Failed to load resource"]
    expect(page.get_by_text("Your session has ended").first).to_be_visible()
    expect(page.get_by_text("No call yet")).to_have_count(0)
    again = page.get_by_role("link", name="Sign in again")
    if again.count():
        found.check()
        again.click()
    expect(page.get_by_label("Key of an operator")).to_be_visible()


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console whose sessions end when nobody does anything for some seconds."""
    folder: Path = tmp_path_factory.mktemp("short")
    with running(folder, console="port = 0\nsession_hours = 0.006") as found:
        yield found


def test_a_page_in_front_of_which_nobody_sits_ends(
    opened: Callable[..., Opened], short: Console
) -> None:
    found = opened("/inbox", apart=True)
    page = found.page
    page.goto(short.new_url())
    page.wait_for_url(lambda url: "/open" not in url)
    page.goto(f"{short.url}/live")
    expect(page.get_by_role("heading", name="Live")).to_be_visible()
    ended = page.get_by_text("Your session has ended")
    expect(ended).to_be_visible(timeout=40_000)
    found.allowed = ["error: Failed to load resource"]
