"""`Opened`: a page of the console in a test: what it has to hold whatever is on it, and how a person works it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.console.running import Console

__all__ = ["AXE", "THEMES", "WIDTHS", "Opened", "listening", "settled"]

AXE = Path(__file__).parents[3] / "peers/node/node_modules/axe-core/axe.min.js"
THEMES, WIDTHS = ("light", "dark"), (1280, 390)
_SERIOUS = ("serious", "critical")


def settled(page: Page) -> None:
    """Wait until what has just come may be pressed."""
    page.wait_for_timeout(100)  # it says that something has come a moment after that stands there
    # The page says when. An expectation looks ever more rarely, which is a quarter of a second more each time.
    page.locator("body:not([data-fresh])").wait_for(state="attached")


def listening(page: Page) -> None:
    """Wait until a page hears of what changes."""
    page.locator("body[data-listens]").wait_for(state="attached")


class Opened:
    """A page that somebody is signed in to."""

    def __init__(self, page: Page, console: Console) -> None:
        self.page = page
        self.console = console
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

    def check(self) -> None:
        """Fails where the page breaks the policy of contents, is wider than the window, or hard to use for somebody who does not see it."""
        page = self.page
        self.ready()
        assert page.evaluate("window.violations") == []
        wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, f"the page is {wide} px wider than the window"
        # As a tool of the browser would: the page's own policy keeps foreign scripts out, also this one.
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        flaws = [
            f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in found["violations"]
            if one["impact"] in _SERIOUS
        ]
        assert flaws == []

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
        self.page.context.close()
        wrong = [
            one for one in self.wrong if not any(one.startswith(known) for known in self.allowed)
        ]
        assert (wrong, violations) == ([], []), (wrong, violations)
