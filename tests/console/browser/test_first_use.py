"""Somebody who has never seen the console: from the URL that a fresh `serve` prints to an approved dangerous call, by what pages say alone."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.running import Console, running


class Steps:
    """What a person did, and how long each step took."""

    def __init__(self) -> None:
        self.done: list[tuple[str, float]] = []
        self._since = time.monotonic()

    def add(self, what: str) -> None:
        """A step is over."""
        now = time.monotonic()
        self.done.append((what, now - self._since))
        self._since = now

    def told(self) -> str:
        """All of them, with their times."""
        return "\n".join(f"{took:6.2f} s  {what}" for what, took in self.done)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def _command_on(page: Page) -> str:
    """What the empty inbox says: what waits here, and how to have something wait."""
    said = page.locator(".empty")
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    expect(said).to_contain_text("dangerous tools wait here for a person")
    return said.locator("code").inner_text()


def _dangerous_tool(page: Page) -> str:
    """Found where the empty page leads to."""
    page.get_by_role("link", name="of these").click()
    page.wait_for_url("**/tools?**risk=dangerous**")
    return page.locator("tr[data-item] a.tool").first.inner_text()


def _approve(page: Page, tool: str, steps: Steps) -> None:
    """The navigation leads there, from whatever page one is on."""
    page.get_by_role("link", name="Inbox").click()
    expect(page.locator("#list [data-item]")).to_have_count(1)
    expect(page.locator("#list")).to_contain_text(tool)
    steps.add("open the inbox, which has the call")
    page.get_by_role("button", name="Approve once").click()
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    expect(page.locator("#notices")).to_contain_text(f"Approved: demo / {tool}.")
    steps.add("approve it, and be told so")


def test_a_first_dangerous_call_is_approved_by_what_the_pages_say(
    page: Page, console: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is typed as it stands there, in whatever folder somebody is in."""
    steps = Steps()
    page.goto(console.sign_in_url)
    page.wait_for_url(lambda url: "/open" not in url)
    steps.add("open the URL that `serve` printed")
    command = _command_on(page)
    steps.add("read what the page says")
    tool = _dangerous_tool(page)
    steps.add("find a dangerous tool where the page leads to")
    words = shlex.split(command.replace("SERVER__TOOL", tool))
    calling = subprocess.Popen(
        ["env", *words],  # what stands before the program is said to the shell
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        steps.add("type the command")
        _approve(page, tool.partition("__")[2], steps)
        told = calling.communicate(timeout=30)[0]
    finally:
        calling.kill()
        calling.wait()
    assert (calling.returncode, len(steps.done)) == (0, 6), told
    with capsys.disabled():
        sys.stdout.write(f"\n{steps.told()}\n")
