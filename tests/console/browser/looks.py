"""`Opened`: a page of the console in a test: what it has to hold whatever is on it, and how a person works it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.console.browser.layout import flaws
from tests.console.running import Console

__all__ = [
    "AXE",
    "THEMES",
    "WAYS",
    "WIDTHS",
    "Opened",
    "listening",
    "new_browser",
    "press",
    "settled",
    "sign_in",
    "tab_to",
]

AXE = Path(__file__).parents[3] / "peers/node/node_modules/axe-core/axe.min.js"
THEMES: tuple[Any, ...] = ("light", "dark")
WIDTHS = (1280, 390)
_HEIGHT = 900
WAYS = ("mouse", "keys")
"""How a person works a page."""
_STOPS = 120
"""Of the tab key, from any place to any other, at most."""
_SERIOUS = ("serious", "critical")
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


_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that ask what colour something has: all that a theme changes."""
_VIOLATIONS = """(rules) => axe.run(document, {
  resultTypes: ["violations"], ...(rules.length ? { runOnly: { type: "rule", values: rules } } : {}),
}).then((found) => found.violations)"""


@cache
def _axe() -> str:
    """The source of what looks for them."""
    return AXE.read_text(encoding="utf-8")


def new_browser(browser: Browser, touch: bool = False) -> BrowserContext:
    """Somebody's, who is not signed in; its pages keep in `window.violations` what broke their policy of contents."""
    context = browser.new_context(
        viewport={"width": WIDTHS[0], "height": _HEIGHT}, reduced_motion="reduce", has_touch=touch
    )
    context.add_init_script(_WATCH)
    return context


def sign_in(page: Page, console: Console) -> None:
    """By a one-time URL."""
    # Signed in once the next page begins: it is not the one that is wanted.
    page.goto(console.new_url(), wait_until="commit")
    page.wait_for_url(lambda url: "/open" not in url, wait_until="commit")


def settled(page: Page) -> None:
    """Wait until what has just come may be pressed."""
    page.wait_for_timeout(100)  # it says that something has come a moment after that stands there
    # The page says when. An expectation looks ever more rarely, which is a quarter of a second more each time.
    page.locator("body:not([data-fresh])").wait_for(state="attached")


def listening(page: Page) -> None:
    """Wait until a page hears of what changes."""
    page.locator("body[data-listens]").wait_for(state="attached")


def tab_to(page: Page, target: Locator) -> None:
    """Go there as somebody does who has no mouse."""
    expect(target).to_be_visible()
    for _ in range(_STOPS):
        if target.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tab key does not lead to {target}")


def press(page: Page, target: Locator, by: str) -> None:
    """Click it, or go there by the tab key and press Enter; once it may be pressed."""
    expect(target).to_be_visible()
    settled(page)
    if by == "mouse":
        target.click()
        return
    tab_to(page, target)
    page.keyboard.press("Enter")


class Opened:
    """A page that somebody is signed in to."""

    def __init__(self, page: Page, console: Console, *, own: bool = True) -> None:
        self.page = page
        self.console = console
        self._looks = (THEMES[0], WIDTHS[0])
        self._own = own  # whether its browser is its own, and ends with it
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on(
            "console",
            lambda said: (
                self.wrong.append(f"{said.type}: {said.text}") if said.type == "error" else None
            ),
        )
        self.allowed: list[str] = []
        """Beginnings of errors that a test means to cause."""

    def ready(self) -> None:
        """Wait until the page is there, and not the shell that fetches it, and takes keys."""
        there = "body.framed[data-ready], body:not(.framed):not([data-shell])"
        self.page.locator(there).wait_for(state="attached")

    def check(self, rules: Sequence[str] = ()) -> None:
        """Fails where the page breaks the policy of contents, is laid out badly, or is hard to use for somebody who does not see it (by all
        rules of axe, or by these)."""
        page = self.page
        self.ready()
        assert page.evaluate("window.violations") == []
        laid_out = flaws(page)
        assert laid_out == [], laid_out
        if not page.evaluate("'axe' in window"):
            # As a tool of the browser would: the page's own policy keeps foreign scripts out, also this one.
            session = page.context.new_cdp_session(page)
            session.send("Runtime.evaluate", {"expression": _axe()})
            session.detach()
        found: list[dict[str, Any]] = page.evaluate(_VIOLATIONS, rules)
        serious = [
            f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in found
            if one["impact"] in _SERIOUS
        ]
        assert serious == [], serious

    def looks(self, theme: Any, width: int) -> None:
        """From now on, in this theme and as wide as this."""
        if theme != self._looks[0]:
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        if width != self._looks[1]:
            self.page.set_viewport_size({"width": width, "height": _HEIGHT})
        self._looks = (theme, width)

    def check_looks(self, name: str = "") -> None:
        """`check`, of the page as it stands, in both themes, wide and narrow; and a `shot` of each. Then it looks as before.

        Every rule of axe looks at each theme and at each width, those of colours at each theme in each width."""
        before = theme, width = self._looks
        other = next(one for one in THEMES if one != theme)
        resized = next(one for one in WIDTHS if one != width)
        for looks, rules in (
            (before, ()),
            ((theme, resized), _COLOURS),
            ((other, resized), ()),
            ((other, width), _COLOURS),
        ):
            self.looks(*looks)
            self.check(rules)
            if name:
                self.shot(name)
        self.looks(*before)

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page where `CONSOLE_PICTURES` names a folder, for somebody who looks at it."""
        folder = os.environ.get("CONSOLE_PICTURES")
        if folder:
            size = self.page.viewport_size or {"width": 0}
            dark = self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            path = Path(folder) / f"{name}-{'dark' if dark else 'light'}-{size['width']}.png"
            # Hiding the caret would put a style into the page, which its policy forbids.
            self.page.screenshot(path=path, full_page=True, caret="initial")

    def close(self) -> None:
        """Fails where something went wrong in it."""
        violations = self.page.evaluate("window.violations")
        if self._own:
            self.page.context.close()
        else:
            self.page.close()
        wrong = [
            one for one in self.wrong if not any(one.startswith(known) for known in self.allowed)
        ]
        assert (wrong, violations) == ([], []), (wrong, violations)
