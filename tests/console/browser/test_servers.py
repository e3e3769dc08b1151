"""The servers as a person uses them, in chromium."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.console.asking import Api
from tests.console.browser.looks import Opened, settled
from tests.console.mcp_session import of_operator
from tests.console.running import DEMO, ROOT, Console, running

Open = Callable[..., Opened]
CHANGING = f"""
[[servers]]
id = "changing"
command = "{sys.executable}"
args = ["{{folder}}/changing.py"]
[[servers]]
id = "broken"
command = "false"
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a server that changes what it says of its tools, and one that does not start."""
    folder = tmp_path_factory.mktemp("console")
    program = folder / "changing.py"
    program.write_text((ROOT / "examples/demo_server.py").read_text())
    with running(folder, DEMO + CHANGING.format(folder=folder)) as found:
        api = Api(found)
        api.get("/servers")
        hostile = "Say <b>it</b>\u202e.<script>alert(1)</script>"
        program.write_text(program.read_text().replace("Say the text again.", hostile))
        api.post("/servers/changing/restart", reason="another version")
        yield found


def test_a_server_is_restarted_by_keys_with_a_reason(opened: Open) -> None:
    """From the list, without a mouse."""
    found = opened("/servers")
    page = found.page
    page.get_by_role("link", name="demo", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="demo")).to_be_visible()
    found.ready()  # it takes keys a moment after it stands there
    page.keyboard.press("r")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("it leaks memory")
    page.keyboard.press("Enter")
    expect(page.locator("#history").get_by_text("it leaks memory")).to_be_visible()
    expect(page.locator("[aria-current=step]")).to_contain_text("connected")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_one_key_drains_no_server(opened: Open, console: Console) -> None:
    """What runs there may be cut off: it asks why, as stopping does."""
    page = opened("/servers/demo").page
    expect(page.locator("[aria-current=step]")).to_contain_text("connected")
    page.keyboard.press("d")
    expect(page.get_by_role("dialog", name="Drain demo")).to_be_visible()
    page.keyboard.press("Escape")
    assert Api(console).get("/servers/demo")["row"]["state"] == "connected"
    page.keyboard.press("d")
    page.keyboard.type("a new version comes")
    page.keyboard.press("Enter")
    expect(page.locator("#history").get_by_text("a new version comes")).to_be_visible()
    start = page.get_by_role("button", name="Start")
    expect(start).to_be_visible()
    settled(page)
    start.click()
    expect(page.locator("[aria-current=step]")).to_contain_text("connected")


def test_a_changed_definition_is_accepted_after_a_look(opened: Open) -> None:
    """What it says is text, with a mark where a character is hidden."""
    page = opened("/servers/changing").page
    page.get_by_text("echo").click()
    added = page.locator("ins")
    expect(added).to_contain_text("<script>alert(1)</script>")
    expect(added.locator(".ctl")).to_have_text("U+202E")
    page.get_by_role("button", name="Accept this definition").click()
    expect(page.get_by_text("held back")).to_have_count(0)


def test_how_servers_look(opened: Open) -> None:
    """The list, one that is up, one that is not."""
    found = opened("/servers", theme="dark", width=390)
    expect(found.page.get_by_role("link", name="changing")).to_be_visible()
    found.check_looks()
    for server in ("demo", "broken"):
        found.page.goto(f"{found.console.url}/servers/{server}")
        expect(found.page.locator("#history svg")).to_be_visible()
        found.check_looks()


def test_the_list_says_how_each_server_does_and_is_sorted_by_it(
    opened: Open, console: Console
) -> None:
    session = of_operator(console)
    session.call("demo__count", to=2)
    session.call("demo__read_note", name="none of this name")
    found = opened("/servers")
    page = found.page
    row = page.locator("tr", has=page.get_by_role("link", name="demo", exact=True))
    expect(row.locator('[data-title="p95"]')).to_contain_text("ms")
    expect(row.locator('[data-title="Errors"]')).to_contain_text("%")
    page.get_by_role("link", name="p95").click()
    expect(page.locator("tbody tr").first).to_contain_text("demo")
    assert "sort=p95" in page.url
    with console.calling("demo__delete_all_notes"):
        page.goto(f"{console.url}/servers/demo")
        expect(page.locator("#running")).to_contain_text("waits for a person")
    expect(page.locator("#history")).to_contain_text("connecting")


def test_refusing_and_hiding_are_two_things_with_two_words(opened: Open, console: Console) -> None:
    """By keys: what is refused stays held back and says by whom; what is hidden is in mgp.toml."""
    program = console.config.parent / "changing.py"
    program.write_text(program.read_text().replace("Tell the date and time.", "Tell the time."))
    Api(console).post("/servers/changing/restart", reason="another version")
    page = opened("/servers/changing").page
    page.locator("summary", has_text="now").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Or why not?").fill("it lies")
    page.keyboard.press("Enter")
    expect(page.get_by_text("refused by local").first).to_be_visible()
    assert "enabled = false" not in console.config.read_text()
    page.reload()
    page.locator("summary", has_text="now").click()
    expect(page.get_by_role("button", name="Refuse it")).to_have_count(0)
    page.get_by_text("Hide this tool whatever it says…").click()
    page.get_by_label("Why? It is written").fill("nobody needs it")
    page.get_by_role("button", name="Hide the tool").click()
    expect(page.locator("summary", has_text="now")).to_have_count(0)
    assert "enabled = false" in console.config.read_text()
