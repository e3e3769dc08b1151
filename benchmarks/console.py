"""How soon a call that waits stands in an open page, how soon a decision reaches it, how soon a first page can be worked with, and what five
open pages cost the gateway.

    python -m benchmarks.console [--json] [--rounds N]

A page in chromium says when the request stood in it, and when it was clicked on; the caller when it asked, and when it was answered. A first
page is one of a browser that has kept no file, from the navigation until its scripts listen. Five open pages are five times Live, and five
different ones: Live with a filter, Sessions, Audit, Limits, Servers. They ask as their scripts do: one event stream each, a part when its topic has
changed and as often as it is fetched at most. They run in this process, so that what a browser computes is not counted as the gateway's. What they
cost is calls a second with pages against without, in short rounds by turns; of each kind the best quarter counts, because others who use the
machine only take from it, and one best round alone is luck.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from benchmarks.commands import gatewright
from benchmarks.gateway import Upstream, config
from benchmarks.mcp_client import open_sessions
from benchmarks.measure import Loader, Sample, System
from benchmarks.processes import Process, Trouble, started
from benchmarks.rows import Options, Row, main

__all__ = [
    "ALIKE",
    "DIFFERENT",
    "LIVE",
    "Part",
    "Visitor",
    "Waits",
    "console_gateway",
    "first_pages",
    "open_pages",
    "run",
    "visitor",
    "waits",
    "with_pages",
]

CALLS = 20
FIRST = 7
PAIRS = 8
"""Rounds with pages and without, of one round that is asked for."""
PAGES = 5
CLIENTS = 16
_CHROMIUM = "/usr/bin/chromium"
_COUNTED_S = 2.0
_LOOK_S = 0.1
_CONFIRMED = "\n[servers.tools.echo]\nconfirmation_required = true\n"
_WATCH = """() => {
  window.seen = {};
  const look = () => {
    for (const one of document.querySelectorAll("#list [data-item]:not(.over)")) window.seen[one.id] ??= Date.now();
  };
  new MutationObserver(look).observe(document.getElementById("list"), { childList: true, subtree: true, attributes: true });
  document.addEventListener("click", () => (window.clicked = Date.now()), true);
}"""


class Waits(NamedTuple):
    """Of one approval each, in milliseconds."""

    seen: list[float]
    """From the call to the page."""
    decided: list[float]
    """From the click to the answer at the caller."""


@contextlib.contextmanager
def console_gateway(
    folder: Path, name: str, more: str = "", upstreams: Sequence[Upstream] = ()
) -> Iterator[tuple[Process, str]]:
    """A gateway with a console, and the URL that opens that once."""
    home = folder / name
    home.mkdir(exist_ok=True)
    path = home / "mgp.toml"
    text = config(upstreams or [Upstream.echo()], home / "data") + more + "\n[console]\nport = 0\n"
    path.write_text(text, encoding="utf-8")
    command = gatewright("serve", "--config", str(path), "--port", "0")
    with started(name, command, folder) as process:
        words = process.log.read_text(encoding="utf-8").split()
        yield process, next(one for one in words if one.startswith("console=")).partition("=")[2]


def waits(folder: Path, stack: ExitStack, count: int) -> Waits:
    """So many approvals, one after the other, by a person who clicks at once. Raises `Trouble`."""
    process, url = stack.enter_context(console_gateway(folder, "confirmed", _CONFIRMED))
    page = stack.enter_context(_page(url))
    (session,) = open_sessions(process.url, 1)
    tool = session.tool("echo")
    found = Waits([], [])
    base = url.partition("/open")[0]
    with ThreadPoolExecutor(1) as pool:

        def asked(number: int) -> tuple[float, float]:
            before = time.time()
            session.ask("tools/call", {"name": tool, "arguments": {"text": f"hello {number}"}})
            return before, time.time()

        for number in range(count):
            page.goto(f"{base}/inbox")
            page.get_by_text("Nothing waits").wait_for()
            page.locator("body[data-listens]").wait_for(state="attached")
            page.evaluate(_WATCH)
            answer = pool.submit(asked, number)
            button = page.get_by_role("button", name="Approve once")
            button.click()
            began, ended = answer.result(timeout=60)
            seen, clicked = page.evaluate(
                "[Math.min(...Object.values(window.seen)), window.clicked]"
            )
            found.seen.append(seen - began * 1000)
            found.decided.append(ended * 1000 - clicked)
    session.close()
    return found


def first_pages(folder: Path, stack: ExitStack, count: int) -> list[float]:
    """From the navigation to a page that listens, in milliseconds, each time without a file that the browser has kept. Raises `Trouble`."""
    _, url = stack.enter_context(console_gateway(folder, "first"))
    base = url.partition("/open")[0]
    found = []
    with _page(url) as page:
        line = page.context.new_cdp_session(page)
        for _ in range(count + 1):
            line.send("Network.clearBrowserCache")
            page.goto(f"{base}/inbox", wait_until="commit")
            page.locator("body[data-listens]").wait_for(state="attached")
            found.append(
                float(page.evaluate("performance.getEntriesByName('interactive')[0].startTime"))
            )
    return found[1:]  # the first one has the gateway make its screens


@contextlib.contextmanager
def _page(url: str) -> Iterator[Any]:
    try:
        from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 - only this needs it
    except ImportError as problem:
        raise Trouble("playwright is not installed; run `make setup`") from problem
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        except Error as problem:
            raise Trouble(f"there is no chromium at {_CHROMIUM}: {problem}") from problem
        page = chromium.new_page()
        page.goto(url)
        page.wait_for_url(lambda at: "/open" not in at)
        yield page
        chromium.close()


class Part(NamedTuple):
    """What a page fetches anew."""

    topic: str
    """When this has changed; empty: by itself."""
    path: str
    every_s: float
    """No more often."""


LIVE = (Part("live", "/live/list", 1.0), Part("", "/api/v1/traffic?since=", _COUNTED_S))
FILTERED = (
    Part("live", "/live/list?server=echo&sort=ms", 5.0),
    Part("", "/api/v1/traffic?since=", _COUNTED_S),
)
SESSIONS = (
    Part("sessions", "/sessions/list", 5.0),
    Part("sessions", "/sessions/signed-in/list", 5.0),
)
AUDIT = (
    Part("audit", "/audit/newer?shown=1", 1.0),
    Part("audit", "/audit/verification", 5.0),
)
LIMITS = (Part("limits", "/limits/list", 2.0), Part("limits", "/limits/consumers", 30.0))
SERVERS = (Part("live", "/servers/list", 5.0), Part("servers", "/servers/list", 0.0))
ALIKE = (LIVE,) * PAGES
DIFFERENT = (FILTERED, SESSIONS, AUDIT, LIMITS, SERVERS)
"""Five pages of each kind, with what `live.js` and the templates (`hx-trigger`) have them fetch."""


class _OpenPage:
    """What a page asks of the gateway."""

    def __init__(self, visitor: Visitor, parts: Sequence[Part]) -> None:
        self._where = visitor.host, visitor.port
        self._headers = {"Cookie": visitor.cookie, "X-CSRF-Token": visitor.key}
        self._parts = parts
        self._changed: set[str] = set()
        self._over = threading.Event()
        self.fetched = 0
        topics = {"inbox", "servers", "health", *(one.topic for one in parts if one.topic)}
        self._stream = self._line()
        self._stream.request(
            "GET", f"/events?topics={','.join(sorted(topics))}", headers=self._headers
        )
        self._answer = self._stream.getresponse()
        self._threads = [threading.Thread(target=one) for one in (self._hear, self._fetch)]

    def _line(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self._where, timeout=60)

    def start(self) -> None:
        """Listen, and ask."""
        for one in self._threads:
            one.start()

    def _hear(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            while line := self._answer.readline():
                if line.startswith(b"data:"):
                    self._changed |= {*json.loads(line[5:]).get("changed", ())}

    def _fetch(self) -> None:
        line, began = self._line(), time.time()
        asked = dict.fromkeys(self._parts, began)
        due: set[Part] = set()
        while not self._over.wait(_LOOK_S):
            changed, self._changed = self._changed, set()
            due |= {one for one in self._parts if not one.topic or one.topic in changed}
            for one in [one for one in due if time.time() - asked[one] >= one.every_s]:
                due.discard(one)
                since = str(int(asked[one])) if one.path.endswith("=") else ""
                asked[one] = time.time()
                line.request("GET", one.path + since, headers=self._headers)
                answer = line.getresponse()
                answer.read()
                if answer.status != http.client.OK:
                    raise Trouble(f"{one.path} was answered with {answer.status}")
                self.fetched += bool(one.topic)
        line.close()

    def close(self) -> None:
        """Close the page."""
        self._over.set()
        if self._stream.sock is not None:
            self._stream.sock.shutdown(2)
        for one in self._threads:
            one.join()
        self._stream.close()


class Visitor(NamedTuple):
    """Who is signed in to a console."""

    host: str
    port: int
    cookie: str
    key: str
    """The page key."""


def visitor(url: str) -> Visitor:
    """Whoever opens a one-time URL. Raises `Trouble`."""
    where = urlsplit(url)
    host, port = where.hostname or "", where.port or 80
    line = http.client.HTTPConnection(host, port, timeout=60)
    body = urlencode({"token": where.fragment})
    line.request("POST", "/open", body, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = line.getresponse()
    key = re.search(r'data-csrf="([^"]+)"', answer.read().decode())
    cookie = (answer.headers["set-cookie"] or "").partition(";")[0]
    line.close()
    if not cookie or key is None:
        raise Trouble(f"the console let nobody in: {answer.status}")
    return Visitor(host, port, cookie, key[1])


@contextlib.contextmanager
def open_pages(who: Visitor, pages_of: Sequence[Sequence[Part]]) -> Iterator[list[_OpenPage]]:
    """While inside, these pages of one person are open."""
    pages = [_OpenPage(who, parts) for parts in pages_of]
    for one in pages:
        one.start()
    try:
        yield pages
    finally:
        for one in pages:
            one.close()


def _fetch(who: Visitor, path: str) -> None:
    line = http.client.HTTPConnection(who.host, who.port, timeout=60)
    line.request("GET", path, headers={"Cookie": who.cookie, "X-CSRF-Token": who.key})
    answer = line.getresponse()
    answer.read()
    line.close()
    if answer.status != http.client.OK:
        raise Trouble(f"{path} was answered with {answer.status}")


def with_pages(
    folder: Path, stack: ExitStack, options: Options, name: str, pages: Sequence[Sequence[Part]]
) -> tuple[list[Sample], list[Sample], int]:
    """Rounds of load with these pages open and with none, by turns; how often parts were fetched."""
    process, url = stack.enter_context(console_gateway(folder, name))
    system, who = System("watched", process.url, process.pid), visitor(url)
    loader = Loader(folder, options.generator)
    watched: list[Sample] = []
    alone: list[Sample] = []
    fetched = 0
    for one in {part for parts in pages for part in parts}:  # the gateway makes its screens
        _fetch(who, one.path + ("0" if one.path.endswith("=") else ""))
    with open_pages(who, pages):
        loader.round(system, CLIENTS, options.seconds, 0.5)
    for number in range(options.rounds):
        for look in (True, False) if number % 2 else (False, True):
            if not look:
                alone.append(loader.round(system, CLIENTS, options.seconds, 0.2))
                continue
            with open_pages(who, pages) as opened:
                watched.append(loader.round(system, CLIENTS, options.seconds, 0.2))
            fetched += sum(one.fetched for one in opened)
    return watched, alone, fetched


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    with ExitStack() as waiting:  # its browser computes no longer than it is needed
        found = waits(options.folder, waiting, CALLS)
    for name, figures, target in (("seen", found.seen, 300), ("decided", found.decided, 100)):
        yield Row(
            f"console.approval.{name}",
            statistics.median(figures),
            "ms",
            target=target,
            test="ours <=",
            extras={"worst_ms": round(max(figures), 1), "of": len(figures)},
        )
    first = first_pages(options.folder, stack, FIRST)
    yield Row(
        "console.first_page",
        statistics.median(first),
        "ms",
        target=200.0,
        test="ours <=",
        extras={"worst_ms": round(max(first), 1), "of": len(first)},
    )
    longer = Options(
        options.folder, options.rounds * PAIRS, max(options.seconds, 2.0), options.generator
    )
    for name, pages in (("alike", ALIKE), ("different", DIFFERENT)):
        yield _cost(name, *with_pages(options.folder, stack, longer, name, pages))


def _best(samples: Sequence[Sample]) -> float:
    """The mean of the best quarter, in calls a second."""
    rates = sorted((one.rate for one in samples), reverse=True)
    return statistics.mean(rates[: max(1, len(rates) // 4)])


def _cost(name: str, watched: list[Sample], alone: list[Sample], fetched: int) -> Row:
    pairs = list(zip(watched, alone, strict=True))
    # What pages cost is nearly the same each second: on a machine that makes fewer calls than it could, it is a larger part of each.
    spent = [
        (one.cpu_us - other.cpu_us) * one.rate / 1000
        for one, other in pairs
        if one.cpu_us and other.cpu_us
    ]
    return Row(
        f"console.pages.{name}",
        _best(watched),
        "calls/s",
        _best(alone),
        "nobody looks",
        0.97,
        "ratio >=",
        {
            "pages": PAGES,
            "paired_ratio": round(
                statistics.median(one.rate / other.rate for one, other in pairs), 3
            ),
            "cpu_us": min(one.cpu_us or 0.0 for one in watched),
            "cpu_us_alone": min(one.cpu_us or 0.0 for one in alone),
            "pages_ms_a_second": round(statistics.median(spent), 1) if spent else None,
            "rounds": len(pairs),
            "parts_fetched": fetched,
        },
    )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
