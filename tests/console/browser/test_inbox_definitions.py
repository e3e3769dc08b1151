"""Held back definitions in the inbox, in chromium: looked at, accepted, refused."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from gatewright.approvals.request import Asked
from gatewright.cli.state_access import opened as state_opened
from tests.approvals.voting import Voting
from tests.console.asking import Api
from tests.console.browser.looks import Opened, settled
from tests.console.mcp_session import of_operator
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
        Api(found).post("/servers/demo/restart", reason="another version")
        of_operator(found).ask(
            "tools/list", {}
        )  # definitions are looked at when somebody lists them
        yield found


def test_a_server_that_asks_for_a_permission_is_answered(opened: Open, console: Console) -> None:
    """It stands beside calls and definitions, and has no arguments."""
    page = opened("/inbox").page
    asked = Asked(agent="demo", server="demo", tool="network.outbound", kind="server")
    with state_opened(console.config.parent / "state") as state:
        store = Voting(state, clock=time.time, random=os.urandom)
        store.ask(
            asked,
            arguments="{}",
            risk="dangerous",
            reason="the server asks for it",
            quorum=1,
            lasts_s=60,
        )
        store.close()
    row = page.locator("#list [data-item]", has_text="wants the permission network.outbound")
    expect(row).to_have_count(1)
    page.goto(f"{console.url}/inbox/{(row.get_attribute('id') or '').removeprefix('item-')}")
    expect(page.get_by_text("A server asks, so there is no call.")).to_be_visible()
    expect(page.get_by_role("button", name="Edit…")).to_have_count(0)
    page.keyboard.press("d")
    page.keyboard.type("it needs none")
    page.keyboard.press("Enter")
    expect(page.get_by_text("wants the permission")).to_have_count(0)


def test_a_changed_definition_is_looked_at_and_accepted_or_refused(
    opened: Open, console: Console
) -> None:
    """By keys alone; what was accepted can be called at once, and what was refused waits for nobody."""
    found = opened("/inbox")
    page = found.page
    expect(page.locator("#list [data-item]")).to_have_count(2)
    found.check_looks("inbox-definition")
    page.goto(f"{console.url}/servers/demo/pin/text?tool=echo")
    expect(page.locator("pre")).to_contain_text("U+200B")
    expect(page.get_by_role("button", name="Accept this definition")).to_be_visible()
    found.check_looks("definition-whole")
    page.goto(f"{console.url}/inbox")
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
    settled(page)
    # What the page offers to copy is what is open now.
    command = page.locator("footer.page [data-copy]").first
    expect(command).to_have_attribute(
        "data-copy", re.compile(f"server pin {tools[1].replace(' /', '')}$")
    )
    page.keyboard.press("d" if "add" in tools[0] else "a")
    if "add" in tools[0]:
        page.keyboard.type("it sends things on")
        page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    assert "held back" in console.command("tool", "call", "demo__echo", "text=x").stderr
    assert "5" in console.command("tool", "call", "demo__add", "a=2", "b=3").stdout
