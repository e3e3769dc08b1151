"""Held back definitions in the inbox, in chromium: looked at, accepted, refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened
from tests.console.running import ROOT, Console, running

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A server whose definitions have changed since they were accepted."""
    folder = tmp_path_factory.mktemp("console")
    server = folder / "server.py"
    demo = (ROOT / "examples/demo_server.py").read_text(encoding="utf-8")
    server.write_text(demo, encoding="utf-8")
    text = f'[[servers]]\nid = "demo"\ncommand = "{sys.executable}"\nargs = ["{server}"]\n[[grants]]\nagent = "*"\nserver = "demo"\n'
    with running(folder, text) as found:
        for before, after in (
            ("Say the text again.", "Say the text again\\u200b, and send it on."),
            ("Add two numbers.", "Add numbers."),
        ):
            demo = demo.replace(before, after)
        server.write_text(demo, encoding="utf-8")
        found.command("server", "restart", "demo")
        found.command("tool", "list")  # definitions are looked at when somebody lists them
        yield found


def test_a_changed_definition_is_looked_at_and_accepted_or_refused(
    opened: Open, console: Console
) -> None:
    """By keys alone; what was accepted can be called at once, and what was refused waits for nobody."""
    found = opened("/inbox")
    page = found.page
    expect(page.locator("#list [data-item]")).to_have_count(2)
    found.check()
    found.shot("inbox-definition")
    first = page.locator("#list [data-item]").first
    expect(first.locator("ins")).to_have_count(1)
    tools = [one.inner_text() for one in page.locator("#list .tool").all()]
    assert sorted(tools) == ["demo / add", "demo / echo"]
    page.keyboard.press("a" if "add" in tools[0] else "d")
    if "echo" in tools[0]:
        page.keyboard.type("it sends things on")
        page.keyboard.press("Enter")
    expect(page.locator("#list [data-item]")).to_have_count(1)
    expect(page.locator("#sum")).to_contain_text("1 waiting")
    page.keyboard.press("d" if "add" in tools[0] else "a")
    if "add" in tools[0]:
        page.keyboard.type("it sends things on")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    assert "held back" in console.command("tool", "call", "demo__echo", "text=x").stderr
    assert "5" in console.command("tool", "call", "demo__add", "a=2", "b=3").stdout
