"""Every template of the console in chromium, each of its places with a hostile text: nothing runs, nothing is pushed out of the page or laid over the rest.

With `GATEWRIGHT_HOSTILE_LOOKS=65` each page is looked at with so many texts in each place; otherwise with one, another in each place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from jinja2 import Environment
from playwright.sync_api import Browser, Dialog, Page

from gatewright.console.guard import HEADERS
from gatewright.console.people import Person
from gatewright.console.rendering import environment
from gatewright.console.screen import Copies
from gatewright.console.static_files import StaticFiles
from tests.console.browser.layout import flaws
from tests.console.browser.looks import WIDTHS
from tests.console.filled import said_in
from tests.console.hostile import EVERY_SHAPE, hostile_texts
from tests.console.hostile_places import Places
from tests.console.made_views import made_views

STATIC = StaticFiles()
BASE = "http://console.localhost"
LOOKS = int(os.environ.get("GATEWRIGHT_HOSTILE_LOOKS", "1"))
_VALUE_CHARS = 400
"""Of what no filter goes over: what somebody typed into a form."""
_PART = """{%% extends "frame.html" %%}{%% block width %%}wide{%% endblock %%}
{%% block content %%}%s{%% include "%s" %%}%s{%% endblock %%}"""
_AROUND = {
    "inbox/batch.html": ('<dialog open class="wide">', "</dialog>"),
    "rooms/people.html": ('<div class="two room"><div></div><aside>', "</aside></div>"),
    "live/panel.html": ('<div class="split"><div id="list"></div><div id="panel">', "</div></div>"),
    "servers/pin.html": ('<section class="card"><div class="body">', "</div></section>"),
    "connect/change.html": ('<section class="card"><div class="change">', "</div></section>"),
    "connect/plan.html": ('<section class="card"><div class="change">', "</div></section>"),
}
"""What a part stands in, where that matters."""


class Shown:
    """One page of a browser that shows whatever it is given, by the console's policy and styles; none of its scripts run."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.html = ""
        self.ran: list[str] = []
        self._base = base
        page.on("dialog", self._asks)
        page.on("request", self._asked)
        page.add_init_script(
            "window.violations = []; document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective + ' ' + event.blockedURI))"
        )

    def show(self, html: str) -> None:
        """Fails nothing by itself."""
        self.html = html
        self.page.goto(f"{self._base}/made")

    def ran_something(self) -> list[str]:
        """What a text had done."""
        return [*self.ran, *self.page.evaluate("window.violations")]

    def _asks(self, dialog: Dialog) -> None:
        self.ran.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Any) -> None:
        path = urlsplit(request.url)
        if f"{path.scheme}://{path.netloc}" != self._base or not (
            path.path == "/made" or path.path.startswith("/static/")
        ):
            self.ran.append(f"asked for {request.url[:80]}")


class _Answers(BaseHTTPRequestHandler):
    """The page that is shown; and the console's static files, which a browser asks for once. Nothing is in the scripts."""

    protocol_version = "HTTP/1.1"
    shown: ClassVar[list[Shown]] = []

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/made":
            html = self.shown[-1].html.encode("utf-8", "replace")
            self._send(200, html, {**HEADERS, "Content-Type": "text/html"})
            return
        file = STATIC.get(path.removeprefix("/static/"))
        if file is None:
            self._send(404, b"", {})
        else:
            body = b"" if file.type.startswith("text/javascript") else file.content
            kept = {"Cache-Control": "max-age=3600, immutable"}
            self._send(200, body, {**kept, "Content-Type": file.type})

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def shown(browser: Browser) -> Iterator[Shown]:
    """Of no gateway. What is not at its server is asked for in vain, and found by that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        found = Shown(context.new_page(), f"http://127.0.0.1:{server.server_port}")
        _Answers.shown.append(found)
        yield found
    finally:
        _Answers.shown.clear()
        context.close()
        server.shutdown()
        thread.join()
        server.server_close()


def _common() -> dict[str, Any]:
    boss = Person("boss", "operator", "url")
    page: dict[str, Any] = {"person": boss, "may": boss.may, "screen": SimpleNamespace(name="x")}
    page |= {"screens": (), "csrf": "c", "session": "s", "since": 0, "now": 1.0, "theme": ""}
    return page | {"copies": Copies(), "base": BASE, "version": "1", "topics": "", "title": "Made"}


def _rendered(made: Environment, name: str, values: dict[str, Any]) -> str:
    template = made.get_template(name)
    loader = made.loader
    source = "" if loader is None else loader.get_source(made, name)[0]
    if "{% extends" not in source:
        before, after = _AROUND.get(name, ("<div>", "</div>"))
        template = made.from_string(_PART % (before, name, after))
    return template.render(values)


def _pages(texts: list[str]) -> Iterator[tuple[str, Callable[[int], str]]]:
    made = environment(lambda: 1.0, STATIC.url)
    places = Places(made, texts)
    for name, values in made_views():

        def render(round_: int, name: str = name, values: Any = values) -> str:
            for place in places.shown:
                places.shown[place] = round_ * 31 + sum(map(ord, place))  # another text in each
            text = texts[round_ % len(texts)][:_VALUE_CHARS]
            return _rendered(made, name, said_in({**_common(), **values}, text))

        yield name, render


def test_no_text_pushes_the_page_apart_or_lies_over_it(shown: Shown) -> None:
    """Long words, piles of marks, texts that run the other way: in each place of each template, wide and narrow."""
    texts = [one.encode("utf-8", "replace").decode() for one in hostile_texts()[:EVERY_SHAPE]]
    wrong: list[str] = []
    for name, render in _pages(texts):
        for look in range(LOOKS):
            shown.show(render(look * 11))
            for width in WIDTHS:
                shown.page.set_viewport_size({"width": width, "height": 900})
                wrong += [f"{name} at {width}: {one}" for one in flaws(shown.page)]
        wrong += [f"{name}: {one}" for one in shown.ran_something()]
        shown.ran.clear()
    assert sorted(set(wrong)) == []


def test_a_pile_of_marks_is_painted_over_nothing(shown: Shown) -> None:
    """What stands above and below is the same, to the pixel, as beside a letter that carries none."""
    made = environment(lambda: 1.0, STATIC.url)
    rows = made.from_string(
        "<!doctype html><link rel=stylesheet href=/static/console.css><pre id=above>Approve once, deny</pre>"
        "<pre id=said>{{ said | line }}</pre><pre id=below>Approve once, deny</pre>"
    )
    taken = []
    for said in ("H", "H" + "\u0307\u0323" * 60 + "\u20dd" * 5):
        shown.show(rows.render(said=said))
        # Each in its line, one right below the other, as in a list that is dense.
        shown.page.evaluate(
            "[...document.querySelectorAll('pre')].forEach((one, at) => Object.assign(one.style, {position: 'absolute', top: `${21 * (at + 1)}px`,"
            " height: '21px', padding: 0, border: 0, background: 'none', whiteSpace: 'nowrap'}))"
        )
        taken.append([shown.page.locator(one).screenshot() for one in ("#above", "#below")])
    assert taken[0] == taken[1]


def test_what_is_wrong_is_found(shown: Shown) -> None:
    """Else nothing that is looked at here could fail."""
    head = "<!doctype html><link rel=stylesheet href=/static/console.css>"
    for body, said in (
        ("<p><code>x</code><nobr>" + "W" * 400 + "</nobr></p>", "wider than the window"),
        ("<p>one text</p><p class=up>another text</p>", "upon each other"),
        ("<button>Deny</button><div class=lid></div>", "nobody can press"),
    ):
        shown.show(f"{head}<main>{body}</main>")
        shown.page.evaluate(
            "for (const one of document.querySelectorAll('.up')) one.style.marginTop = '-34px';"
            "for (const one of document.querySelectorAll('.lid')) Object.assign(one.style, {position: 'absolute', inset: 0})"
        )
        assert any(said in one for one in flaws(shown.page)), said
    shown.show(f"{head}<main><img src=x onerror=alert(1)></main>")
    assert any("script-src" in one for one in shown.ran_something())
