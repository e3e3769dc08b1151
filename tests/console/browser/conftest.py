"""One chromium for all browser tests, and pages that fail a test for what a person would call broken: errors, CSP violations, bad markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.browser.looks import THEMES, WIDTHS, Opened
from tests.console.running import Console, running

__all__: list[str] = []

expect.set_options(timeout=20_000)  # what a busy machine takes says nothing

_WATCH = """
window.violations = [];
const watch = () =>
  document.addEventListener("securitypolicyviolation", (event) =>
    window.violations.push(event.violatedDirective + " " + event.blockedURI));
watch();
// The shell writes the page into its document, which forgets who listens.
const open = document.open;
document.open = function (...given) {
  const found = open.apply(document, given);
  watch();
  return found;
};
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of the distribution, for one module: while it is open its loop is the thread's, and no test with a loop could run."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A gateway for the tests of one screen; a module that needs another configuration has a fixture of this name."""
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, console: Console) -> Iterator[Callable[..., Opened]]:
    """Signs in and opens a page: `opened("/inbox", theme="dark", width=390)`. What went wrong in it fails the test at its end."""
    made: list[Opened] = []

    def open_page(
        path: str = "/", *, theme: Any = "light", width: int = 1280, touch: bool = False
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
            has_touch=touch,
        )
        context.add_init_script(_WATCH)
        page: Page = context.new_page()
        found = Opened(page, console)
        made.append(found)
        # Signed in once the next page begins: it is not the one that is wanted.
        page.goto(console.new_url(), wait_until="commit")
        page.wait_for_url(lambda url: "/open" not in url, wait_until="commit")
        page.goto(console.url + path)
        found.ready()
        return found

    yield open_page
    for one in made:
        one.close()


@pytest.fixture(
    params=[(theme, width) for theme in THEMES for width in WIDTHS],
    ids=lambda one: f"{one[0]}-{one[1]}",
)
def look(request: pytest.FixtureRequest) -> tuple[str, int]:
    """Each theme with each width."""
    return request.param  # type: ignore[no-any-return]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests below need chromium."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
