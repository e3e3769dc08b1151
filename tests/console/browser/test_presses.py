"""What a person presses is what they saw: buttons that others' changes put under a finger, and keys of whoever was writing, in chromium."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.asking import Api
from tests.console.browser.looks import Opened, listening, settled
from tests.console.mcp_session import of_operator
from tests.console.running import ROOT, Console, running

Open = Callable[..., Opened]
TOOLS = {"echo": "Say the text again.", "add": "Add two numbers."}
PRESSED_AT_ONCE = """(key) => document.addEventListener("htmx:after:swap", function pressed(event) {
    if (!document.querySelector(`[data-key="${key}"]`)) return;
    document.removeEventListener("htmx:after:swap", pressed);
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
})"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A server with a tool that asks a person, and definitions that a test changes."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "server.py").write_text((ROOT / "examples/demo_server.py").read_text())
    text = f"""
[[servers]]
id = "demo"
command = "{sys.executable}"
args = ["{folder}/server.py"]
[servers.tools.write_note]
risk_level = "moderate"
confirmation_required = true
[[grants]]
agent = "*"
server = "demo"
"""
    with running(folder, text) as found:
        of_operator(found).ask("tools/list", {})
        yield found


@pytest.fixture(autouse=True)
def nothing_left(console: Console) -> Iterator[None]:
    """Nothing waits for the next test."""
    yield
    api = Api(console)
    for one in api.get("/approvals")["approvals"]:
        api.post(f"/approvals/{one['id']}/deny", comment="over")
    says(console)
    for one in held(api).values():
        api.post(f"/held-definitions/{one['id']}/accept", digest=one["digest"])


def says(console: Console, **other: str) -> None:
    """Have the server say of these tools something else, and of all others what it said first."""
    text = (ROOT / "examples/demo_server.py").read_text()
    for tool, said in other.items():
        text = text.replace(TOOLS[tool], said)
    (console.config.parent / "server.py").write_text(text)
    Api(console).post("/servers/demo/restart", reason="another version")
    of_operator(console).ask("tools/list", {})  # definitions are looked at when somebody lists them


def held(api: Api) -> dict[str, Any]:
    """The definitions that wait, by tool."""
    return {one["tool"]: one for one in api.get("/held-definitions")["definitions"]}


def came_a_moment_ago(page: Page) -> None:
    expect(page.get_by_role("alert")).to_contain_text("came a moment ago")


def test_a_call_that_has_just_come_is_not_approved_by_a_key_that_was_on_its_way(
    opened: Open, console: Console
) -> None:
    page = opened("/inbox").page
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    listening(page)
    page.evaluate(PRESSED_AT_ONCE, "a")
    with console.calling("demo__write_note", name="at once", text="b"):
        came_a_moment_ago(page)
        assert len(Api(console).get("/approvals")["approvals"]) == 1
        settled(page)
        page.keyboard.press("a")
        expect(page.get_by_text("Nothing waits")).to_be_visible()


def test_keys_behind_one_that_did_nothing_do_nothing_either(opened: Open, console: Console) -> None:
    """`d` and a reason are typed in one go."""
    page = opened("/inbox").page
    listening(page)
    page.evaluate(PRESSED_AT_ONCE, "d")
    with console.calling("demo__write_note", name="in one go", text="b"):
        came_a_moment_ago(page)
        page.keyboard.type("not a good day", delay=80)
        expect(page.get_by_role("button", name="Approve once")).to_be_visible()
        assert len(Api(console).get("/approvals")["approvals"]) == 1


def test_a_key_approves_nothing_that_ends_out_of_sight(opened: Open, console: Console) -> None:
    """It shows the end of it; whoever presses it there has come to it."""
    page = opened("/inbox").page
    text = "\n".join(str(line) for line in range(200)) + "\nand wipe it"
    with console.calling("demo__write_note", name="long", text=text):
        button = page.get_by_role("button", name="Approve once")
        expect(button).to_be_visible()
        expect(page.locator(".args")).to_contain_text("and wipe it")
        settled(page)
        page.keyboard.press("a")
        expect(page.get_by_text("there is more of it than the window shows")).to_be_in_viewport()
        expect(button).to_be_in_viewport()
        assert len(Api(console).get("/approvals")["approvals"]) == 1
        page.keyboard.press("a")
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        assert Api(console).get("/approvals")["approvals"] == []


def test_what_is_open_and_decided_elsewhere_makes_way_for_nothing(
    opened: Open, console: Console
) -> None:
    """Neither a definition, nor a call beside it, stands there in its place."""
    says(console, echo="Say it.", add="Add.")
    api = Api(console)
    with console.calling("demo__write_note", name="beside", text="b"):
        page = opened(f"/inbox/{held(api)['echo']['id']}").page
        expect(page.get_by_role("button", name="Accept this definition")).to_be_visible()
        expect(page.locator("#list [data-item]")).to_have_count(3)
        one = held(api)["echo"]
        api.post(f"/held-definitions/{one['id']}/accept", digest=one["digest"])
        here = page.locator("#list [aria-current]")
        expect(here).to_contain_text("demo / echo")
        expect(here).to_contain_text("accepted by")
        settled(page)
        page.keyboard.press("a")
        page.wait_for_timeout(300)
        assert len(api.get("/approvals")["approvals"]) == 1
        assert [*held(api)] == ["add"]


def test_a_definition_that_changes_while_it_is_read_is_looked_at_again_before_it_is_accepted(
    opened: Open, console: Console
) -> None:
    says(console, echo="Say it.")
    api = Api(console)
    page = opened("/inbox").page
    expect(page.locator("ins")).to_contain_text("Say it.")
    says(console, echo="Send it all on.")
    expect(page.locator("ins")).to_contain_text("Send it all on.")
    expect(page.get_by_text("It has changed again since you opened it")).to_be_visible()
    settled(page)
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Accept this definition")).to_be_visible()
    assert [*held(api)] == ["echo"]
    settled(page)
    page.keyboard.press("a")
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    assert held(api) == {}


def test_of_two_definitions_of_a_server_the_one_that_is_read_stays_what_it_is(
    opened: Open, console: Console
) -> None:
    """Its button accepted what stood there before, under the name of the other."""
    says(console, echo="Say it.", add="Add.")
    api = Api(console)
    page = opened("/servers/demo").page
    cards = page.locator("details.held")
    expect(cards).to_have_count(2)
    first, second = (cards.nth(at).locator(".tool").inner_text() for at in range(2))
    for at in range(2):
        cards.nth(at).locator("summary").click()
        expect(cards.nth(at).get_by_role("button", name="Accept")).to_be_visible()
    one = held(api)[first]
    api.post(f"/held-definitions/{one['id']}/accept", digest=one["digest"])
    expect(cards).to_have_count(1)
    expect(cards.locator(".tool")).to_have_text(second)
    expect(cards.locator("ins")).to_contain_text({"echo": "Say it.", "add": "Add."}[second])
    settled(page)
    cards.get_by_role("button", name="Accept").click()
    expect(cards).to_have_count(0)
    assert held(api) == {}


def test_whoever_was_writing_goes_on_writing_nowhere(opened: Open, console: Console) -> None:
    """Where the other person decided first, the rest of a reason is no row of keys."""
    page = opened("/inbox").page
    with (
        console.calling("demo__write_note", name="first", text="1"),
        console.calling("demo__write_note", name="second", text="2"),
    ):
        expect(page.locator("#list [data-item]")).to_have_count(2)
        settled(page)
        page.keyboard.press("d")
        page.keyboard.type("it is")
        api = Api(console)
        open_one = page.locator("#list [aria-current]").get_attribute("id") or ""
        api.post(f"/approvals/{open_one.removeprefix('item-')}/deny", comment="mine")
        expect(page.get_by_role("dialog", name="It has gone meanwhile")).to_be_visible()
        page.keyboard.type(" just a jar ", delay=100)
        page.wait_for_timeout(300)
        assert len(api.get("/approvals")["approvals"]) == 1


def test_a_row_that_moves_under_the_pointer_is_not_pressed(opened: Open, console: Console) -> None:
    """Somebody else signs out, and the button of the next one stands where theirs stood."""
    page = opened("/inbox", apart=True).page
    page.clock.install()
    page.goto(f"{console.url}/sessions")
    opened("/inbox")
    other = opened("/sessions").page
    listening(page)
    buttons = page.locator("#signed-in").get_by_role("button", name="Sign out")
    count = other.locator("#signed-in").get_by_role("button", name="Sign out").count()
    page.clock.run_for(10_000)  # the list is fetched every five seconds
    expect(buttons).to_have_count(count)
    buttons.nth(1).hover()  # of the one in the middle
    page.clock.run_for(10_000)
    page.clock.pause_at(page.evaluate("Date.now() + 1"))
    other.locator("#signed-in").get_by_role("button", name="Sign out").nth(1).click()
    expect(buttons).to_have_count(count - 1)
    page.mouse.down()
    page.mouse.up()
    came_a_moment_ago(page)
    expect(buttons).to_have_count(count - 1)


def test_a_button_that_has_just_come_under_a_finger_is_not_pressed(
    opened: Open, console: Console
) -> None:
    """Nothing says where a finger will be before it is there."""
    page = opened("/inbox", width=390, touch=True).page
    listening(page)
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() + 1"))
    with console.calling("demo__write_note", name="tapped", text="b"):
        button = page.get_by_role("button", name="Approve once")
        expect(button).to_be_visible()
        button.tap()
        came_a_moment_ago(page)
        assert len(Api(console).get("/approvals")["approvals"]) == 1
        page.clock.run_for(1_000)
        settled(page)
        button.tap()
        expect(page.get_by_text("Nothing waits")).to_be_visible()
