"""One chromium for all browser tests, and pages that fail a test for what a person would call broken: errors, CSP violations, bad markup."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.console.browser.looks import WIDTHS, Opened, new_browser, sign_in
from tests.console.running import Console, running

__all__: list[str] = []

expect.set_options(timeout=20_000)  # what a busy machine takes says nothing


_OWN_OF_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LensOverlay,"
    "MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints,"
    "NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch"
)
"""What playwright has chromium do without: a second switch of the name replaces its own."""
_UNSEEN = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess"
"""The list below the address bar, which is a page with a process, and a process for the page after this one: made for each browser that a
test opens, these two were more than half of what it cost, and no test sees them."""


class _Chromium:
    """Of the distribution; one for all tests of this folder that a process has in a row."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        """Begun where it does not run yet."""
        if self._browser is None:
            playwright = self._open.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium",
                args=[
                    "--no-sandbox",
                    f"--disable-features={_OWN_OF_PLAYWRIGHT},{_UNSEEN}",
                    "--process-per-site",
                    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                ],
            )
            self._open.callback(self._browser.close)
        return self._browser

    def end(self) -> None:
        """While it is open its loop is the thread's, and no test with a loop could run."""
        self._open.close()
        self._browser = None


_CHROMIUM = _Chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """After the last test of this folder chromium ends."""
    try:
        return (yield)
    finally:
        if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
            _CHROMIUM.end()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """Every browser of a test is a context of it."""
    return _CHROMIUM.browser()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A gateway for the tests of one screen; a module that needs another configuration has a fixture of this name."""
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def signed_in(browser: Browser, console: Console) -> Iterator[BrowserContext]:
    """The browser of somebody who signs in once for all tests of a module. Its first page stays open: to close the last window of a
    browser, and to open the next one, costs more than a page."""
    context = new_browser(browser)
    first = context.new_page()
    sign_in(first, console)
    first.goto(f"{console.url}/static/icon.svg")
    yield context
    context.close()


@pytest.fixture
def opened(
    browser: Browser, console: Console, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Opened]]:
    """Opens a page of somebody who is signed in: `opened("/inbox", theme="dark", width=390)`. What went wrong in it fails the test at its end.

    The first of a test is one of the browser that all tests of the module have; further ones are of others, each with a browser of
    their own. So is one that is opened `apart`: where the test does to the whole browser what later tests would feel (its routes, its
    clock, its storage), or ends its session."""
    made: list[Opened] = []

    def open_page(
        path: str = "/",
        *,
        theme: Any = "light",
        width: int = WIDTHS[0],
        touch: bool = False,
        apart: bool = False,
    ) -> Opened:
        own = apart or touch or bool(made)
        context = new_browser(browser, touch) if own else request.getfixturevalue("signed_in")
        page: Page = context.new_page()
        found = Opened(page, console, own=own)
        made.append(found)
        found.looks(theme, width)
        if own:
            sign_in(page, console)
        page.goto(console.url + path)
        found.ready()
        return found

    yield open_page
    for one in made:
        one.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests below need chromium."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
