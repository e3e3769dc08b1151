"""The tools as a person uses them, in chromium."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.browser.looks import Opened
from tests.console.running import DEMO, ROOT, Console, running

Open = Callable[..., Opened]
HOSTILE = '"><img src=x onerror=alert(1)>\u202e\x1b[31m'
TOOL = f"""
TOOLS.append({{
    "name": {HOSTILE!r}, "description": {HOSTILE * 50!r},
    "inputSchema": {{"type": "object", "properties": {{
        {HOSTILE!r}: {{"type": "string", "description": {HOSTILE!r}}},
        "choice": {{"enum": [{HOSTILE!r}], "default": {HOSTILE!r}}},
    }}}},
}})
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a second server, whose tool says what it should not."""
    folder = tmp_path_factory.mktemp("console")
    text = (ROOT / "examples/demo_server.py").read_text()
    (folder / "hostile.py").write_text(text.replace("def send(", f"{TOOL}\n\ndef send(", 1))
    server = f'\n[[servers]]\nid = "hostile"\ncommand = "{sys.executable}"\nargs = ["{folder}/hostile.py"]\n'
    with running(folder, DEMO + server + 'pin = "off"\n') as found:
        yield found


def test_a_tool_is_found_and_called_by_keys(opened: Open) -> None:
    """`/` searches; the form is that of the tool's schema; the answer is text."""
    page = opened("/tools").page
    page.keyboard.press("/")
    page.keyboard.type("say something again")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="of 3000 tokens")).to_be_visible()
    page.get_by_role("link", name="demo__echo").focus()
    page.keyboard.press("Enter")
    page.get_by_label("text · required").fill("<b>hello</b>\u202e")
    expect(page.get_by_label("Arguments")).to_have_value('{"text": "<b>hello</b>\u202e"}')
    page.keyboard.press("Enter")
    result = page.locator("#result")
    expect(result).to_contain_text("answered")
    expect(result.locator("pre").first).to_contain_text("<b>hello</b>U+202E")


def test_numbers_keep_the_digits_that_were_typed(opened: Open) -> None:
    page = opened("/tools/one?server=demo&tool=add").page
    page.get_by_label("a · required").fill("1.50")
    page.get_by_label("b · required").fill("2")
    expect(page.get_by_label("Arguments")).to_have_value('{"a": 1.50, "b": 2}')
    page.get_by_label("Arguments").fill('{"a": 1, "b": "x"}')
    page.get_by_role("button", name="Call it").click()
    expect(page.locator("#result")).to_contain_text("by the gate schema")


def test_what_a_tool_says_of_itself_is_text(opened: Open) -> None:
    """In the list, in a search, opened, and as the form of a call."""
    found = opened("/tools?server=hostile&sort=tokens&desc=true")
    page = found.page
    page.get_by_role("link", name="img").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    expect(page.get_by_label("choice").locator("option")).to_have_count(2)
    page.locator("[data-argument]").first.fill("x")
    page.get_by_role("button", name="Call it").click()
    expect(page.locator("#result .chip")).to_be_visible()
    found.check()
    assert page.locator("img").count() == 0
    page.goto(f"{found.console.url}/tools?q=img+src")
    found.check()
    assert page.locator("img").count() == 0


def test_how_tools_look(opened: Open) -> None:
    """The catalogue, a search, one tool."""
    found = opened("/tools", theme="dark", width=390)
    expect(found.page.get_by_role("link", name="demo__add")).to_be_visible()
    found.check_looks()
    for path in ("/tools?q=remove+all+notes", "/tools/one?server=demo&tool=write_note"):
        found.page.goto(found.console.url + path)
        found.check_looks()
