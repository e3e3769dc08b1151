"""The inbox as a person uses it, in chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Page, expect

from tests.console.asking import Api
from tests.console.browser.looks import Opened, settled
from tests.console.running import Console

Open = Callable[..., Opened]


def items(page: Page) -> list[str]:
    """What stands in the list, by id."""
    return [
        one.get_attribute("id") or "" for one in page.locator("#list [data-item]").element_handles()
    ]


@pytest.fixture(autouse=True)
def nothing_left(console: Console) -> Iterator[None]:
    """Nothing waits for the next test."""
    yield
    api = Api(console)
    for one in api.get("/approvals")["approvals"]:
        api.post(f"/approvals/{one['id']}/deny", comment="over")


def test_a_call_is_approved_by_key(opened: Open, console: Console) -> None:
    """It appears by itself, and `a` lets it run."""
    page = opened("/inbox").page
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    with console.calling("demo__write_note", name="a\u202eb", text="hello") as call:
        expect(page.get_by_text("U+202E")).to_be_visible()
        expect(page.locator("#sum")).to_contain_text("1 waiting")
        expect(page.locator('nav [data-go="i"] .chip')).to_contain_text("1")
        settled(page)
        page.keyboard.press("a")
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        expect(page.locator("#sum")).to_have_text("0 waiting")
        expect(page.locator('nav [data-go="i"] .chip')).to_have_count(0)
        assert "written" in call.communicate(timeout=20)[0]


def test_a_held_key_and_a_double_click_decide_on_one_call_alone(
    opened: Open, console: Console
) -> None:
    """The next one stands in the same place at once, and nobody has looked at it."""
    page = opened("/inbox").page
    api = Api(console)
    for number, press in enumerate(("key", "click")):
        names = [f"{press}{one}" for one in range(3)]
        page.goto(f"{console.url}/inbox")  # what was decided before stays open in a page
        with ExitStack() as calls:
            for name in names:
                calls.enter_context(console.calling("demo__write_note", name=name, text="x"))
            expect(page.locator("#sum")).to_contain_text("3 waiting")
            settled(page)
            if press == "key":
                page.keyboard.down("a")
                for _ in range(40):  # as a keyboard repeats it
                    page.keyboard.down("a")
                    page.wait_for_timeout(10)
                page.keyboard.up("a")
            else:
                page.get_by_role("button", name="Approve once").dblclick()
                page.wait_for_timeout(400)
            expect(page.locator("#sum")).to_contain_text("2 waiting")
            left = api.get("/approvals")["approvals"]
            assert len(left) == 2, number
            for one in left:
                api.post(f"/approvals/{one['id']}/deny", comment="over")
            expect(page.locator("#sum")).to_contain_text("0 waiting")


def test_a_call_is_denied_with_a_reason(opened: Open, console: Console) -> None:
    """The caller is told why; what is written stays while other requests come in."""
    page = opened("/inbox").page
    with console.calling("demo__write_note", name="x", text="y") as call:
        expect(page.get_by_role("button", name="Deny…")).to_be_visible()
        settled(page)
        page.keyboard.press("d")
        page.keyboard.type("not on a")
        with console.calling("demo__write_note", name="second", text="z"):
            expect(page.locator("#list [data-item]")).to_have_count(2)
            expect(page.get_by_role("status").get_by_text("1 new below")).to_be_visible()
            page.keyboard.type(" Friday")
            page.keyboard.press("Enter")
            expect(page.locator("#list [data-item]")).to_have_count(1)
            assert "not on a Friday" in call.communicate(timeout=20)[0]


def test_other_arguments_run_after_a_look_at_the_difference(opened: Open, console: Console) -> None:
    page = opened("/inbox").page
    with console.calling("demo__write_note", name="plan", text="delete it") as call:
        expect(page.get_by_role("button", name="Edit…")).to_be_visible()
        settled(page)
        page.keyboard.press("e")
        field = page.get_by_label("Other arguments")
        expect(field).to_have_value('{\n  "name": "plan",\n  "text": "delete it"\n}')
        field.fill("no object")
        page.get_by_role("button", name="Show the difference").click()
        expect(page.get_by_role("alert")).to_contain_text("a JSON object")
        field.fill('{"name": "plan", "text": "keep it"}')
        page.get_by_role("button", name="Show the difference").click()
        expect(page.locator("dialog ins")).to_contain_text("keep it")
        expect(page.locator("dialog del")).to_contain_text("delete it")
        page.get_by_role("button", name="Approve with these arguments").click()
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        assert "written" in call.communicate(timeout=20)[0]
    read = console.command("tool", "call", "demo__read_note", "name=plan")
    assert "keep it" in read.stdout


def test_several_are_decided_together(opened: Open, console: Console) -> None:
    """By keys: select two, look at both, deny them."""
    page = opened("/inbox").page
    with (
        console.calling("demo__write_note", name="one", text="1") as first,
        console.calling("demo__write_note", name="two", text="2") as second,
    ):
        expect(page.locator("#list [data-item]")).to_have_count(2)
        page.keyboard.press("x")
        page.keyboard.press("j")
        expect(page.locator("#list [data-item]").nth(1)).to_have_attribute("aria-current", "true")
        page.wait_for_url(f"**/{items(page)[1].removeprefix('item-')}")
        page.keyboard.press("x")
        expect(page.get_by_text("2 selected")).to_be_visible()
        settled(page)
        page.keyboard.press("A")
        dialog = page.get_by_role("dialog", name="Decide on several")
        expect(dialog.get_by_text("one", exact=True)).to_be_visible()
        expect(dialog.get_by_text("two", exact=True)).to_be_visible()
        dialog.get_by_label("say why not").fill("not these")
        page.keyboard.press("Enter")
        expect(page.get_by_text("2 of 2 decided")).to_be_visible()
        expect(page.get_by_text("Nothing waits")).to_be_visible()
        assert "not these" in first.communicate(timeout=20)[0]
        assert "not these" in second.communicate(timeout=20)[0]


def test_the_second_of_two_people_sees_by_whom_it_was_decided(
    opened: Open, console: Console
) -> None:
    """What is open stays where it is, also what stands above it."""
    page = opened("/inbox").page
    with console.calling("demo__write_note", name="above", text="1"):
        expect(page.locator("#list [data-item]")).to_have_count(1)
        with console.calling("demo__write_note", name="below", text="2"):
            expect(page.locator("#list [data-item]")).to_have_count(2)
            page.keyboard.press("j")
            second = page.locator("#list [data-item]").nth(1)
            expect(second.get_by_role("button", name="Approve once")).to_be_visible()
            place, both = second.bounding_box(), items(page)
            other = opened("/inbox").page
            for gone in ("over", "and out"):
                expect(other.get_by_role("button", name="Deny…")).to_be_visible()
                settled(other)
                other.keyboard.press("d")
                other.keyboard.type(gone)
                other.keyboard.press("Enter")
                expect(other.locator("dialog[open]")).to_have_count(0)
                if gone == "over":
                    expect(page.locator("#list .over")).to_have_count(1)
                    assert (second.bounding_box(), items(page)) == (place, both)
            expect(second.get_by_role("status")).to_contain_text("Denied by local")
            expect(second.get_by_role("status")).to_contain_text("and out")
            assert items(page) == both


def test_a_new_request_notifies_whoever_asked_for_it(opened: Open, console: Console) -> None:
    """With nothing in it that anybody else wrote; and only in a browser where somebody turned it on."""
    page = opened("/inbox", apart=True).page
    page.context.grant_permissions(["notifications"], origin=console.url)
    page.evaluate("""() => {
        window.told = [];
        document.hasFocus = () => false;
        window.Notification = class {
            static permission = "granted";
            static requestPermission = async () => "granted";
            constructor(title, options) { window.told.push(`${title} ${options.body}`); }
            addEventListener() {}
        };
    }""")
    with console.calling("demo__write_note", name="quiet", text="1"):
        expect(page.locator('nav [data-go="i"] .chip')).to_contain_text("1")
        assert page.evaluate("window.told") == []
        page.get_by_role("button", name="notify me in this browser").click()
        expect(page.get_by_role("button", name="stop notifying me")).to_be_visible()
        with console.calling("demo__write_note", name="loud", text="1"):
            expect(page.locator('nav [data-go="i"] .chip')).to_contain_text("2")
            told = page.evaluate("window.told")
            assert len(told) == 1
            assert told[0].startswith("2 waiting in Gatewright")
            assert "write_note" not in told[0]


def test_how_it_looks(opened: Open, console: Console) -> None:
    """In both themes, wide and narrow."""
    with console.calling("demo__write_note", name="looks", text="y" * 2000):
        found = opened("/inbox", theme="dark", width=390)
        expect(found.page.get_by_role("button", name="Approve once")).to_be_visible()
        found.check_looks("inbox")
        found.page.get_by_role("button", name="Deny…").click()
        found.page.get_by_label("Why not?").fill("enough")
        found.page.get_by_role("dialog").get_by_role("button", name="Deny", exact=True).click()
        expect(found.page.get_by_text("Nothing waits")).to_be_visible()


def test_the_order_is_in_the_url_and_holds_while_things_happen(
    opened: Open, console: Console
) -> None:
    """By mouse and by key; over a live update, a decision, and a page that is loaded anew."""
    api = Api(console)
    page = opened("/inbox?risk=moderate").page
    with ExitStack() as calls:
        for name in ("one", "two"):
            calls.enter_context(console.calling("demo__write_note", name=name, text="x"))
            expect(
                page.locator("#list [data-item]").filter(has_text="write_note").last
            ).to_be_visible()
        expect(page.locator("#list [data-item]")).to_have_count(2)
        page.get_by_role("link", name="time left").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="time left")).to_have_attribute("aria-current", "true")
        assert "sort=left" in page.url
        assert "risk=moderate" in page.url
        calls.enter_context(console.calling("demo__write_note", name="three", text="x"))
        expect(page.locator("#list [data-item]")).to_have_count(3)
        calls.enter_context(console.calling("demo__delete_all_notes"))
        shown = api.get("/approvals", sort="left", risk="moderate")["approvals"]
        assert items(page) == [f"item-{one['id']}" for one in shown]
        page.keyboard.press("a")
        expect(page.locator("#sum")).to_contain_text("2 waiting")
        assert "sort=left" in page.url
        assert "risk=moderate" in page.url
        expect(page.get_by_text("delete_all_notes")).to_have_count(0)
        page.reload()
        expect(page.locator("#list [data-item]")).to_have_count(2)
        page.get_by_role("link", name="server", exact=True).click()
        expect(page.get_by_role("link", name="server", exact=True)).to_have_attribute(
            "aria-current", "true"
        )


def test_what_is_written_in_a_dialog_fits_a_narrow_screen(opened: Open, console: Console) -> None:
    """The field for a reason was wider than its dialog, which hid the beginning of what stands above it."""
    page = opened("/inbox", width=390).page
    with console.calling("demo__write_note", name="a", text="hello"):
        expect(page.locator("#sum")).to_contain_text("1 waiting")
        settled(page)
        page.keyboard.press("d")
        dialog = page.locator("dialog[open]")
        dialog.get_by_role("textbox").fill("x" * 300)
        assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollLeft === 0")


def test_keys_go_on_where_a_box_was_ticked_by_mouse(opened: Open, console: Console) -> None:
    """It has the focus then, and takes no letters: they did nothing."""
    page = opened("/inbox").page
    with ExitStack() as calls:
        for name in ("a", "b"):
            calls.enter_context(console.calling("demo__write_note", name=name, text="x"))
        expect(page.locator("#sum")).to_contain_text("2 waiting")
        for one in range(2):
            page.locator(".pick").nth(one).click()
        settled(page)
        page.keyboard.press("A")
        expect(page.get_by_role("button", name="Approve 2 once")).to_be_visible()


def test_how_its_dialogs_look(opened: Open, console: Console) -> None:
    """Several at once, and a change of arguments with its difference."""
    found = opened("/inbox")
    page = found.page
    with ExitStack() as calls:
        for name in ("a", "b"):
            calls.enter_context(console.calling("demo__write_note", name=name, text="y" * 300))
        expect(page.locator("#sum")).to_contain_text("2 waiting")
        settled(page)
        page.get_by_role("button", name="Edit…").click()
        page.get_by_label("Other arguments").fill('{"name": "c", "text": "%s"}' % ("z" * 300))
        page.get_by_role("button", name="Show the difference").click()
        expect(page.locator("dialog ins")).to_have_count(2)
        found.check_looks()
        page.keyboard.press("Escape")
        for one in range(2):
            page.locator(".pick").nth(one).click()
        settled(page)
        page.get_by_role("button", name="Look at them…").click()
        expect(page.get_by_role("button", name="Approve 2 once")).to_be_visible()
        found.check_looks()


def test_how_a_request_that_is_over_looks(opened: Open) -> None:
    """Also one that never was."""
    found = opened("/inbox/none")
    found.allowed.append("error: Failed to load resource")
    expect(found.page.get_by_role("heading", name="This request is over")).to_be_visible()
    found.check_looks()
