"""A person of an issuer in chromium: signs in, works until the issuer's word is old, is confirmed without being asked, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browser.looks import Opened
from tests.console.oidc_issuer import OidcIssuer, configured
from tests.console.running import Console, running
from tests.identity.issuing import beside

_LASTS_S = 4.0
# The configuration knows no shorter time than a minute.
_SHORT = f"""
from gatewright.cli import main
from gatewright.console import feature
feature._confirmed_s = lambda _: {_LASTS_S}
main()
"""
_LONG = "x" * 190


@pytest.fixture(scope="module")
def issuer() -> Iterator[OidcIssuer]:
    made = OidcIssuer()
    with beside(made.app()) as origin:
        made.issuer = origin
        yield made


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, issuer: OidcIssuer) -> Iterator[Console]:
    folder: Path = tmp_path_factory.mktemp("console")
    said = "port = 0\n" + configured(issuer.issuer)
    with running(folder, console=said, program=("-c", _SHORT)) as found:
        yield found


@pytest.fixture
def person(browser: Browser, console: Console) -> Iterator[Page]:
    """Whoever clicks on the issuer's name, and is sent back by it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script("window.violations = []")
    found = Opened(context.new_page(), console)
    found.allowed = ["error: Failed to load resource"]
    found.page.goto(f"{console.url}/sign-in?next=/health")
    found.page.get_by_role("link", name="Sign in with").click()
    found.ready()
    yield found.page
    found.close()


def test_an_act_goes_on_once_the_issuer_was_asked_again(
    person: Page, console: Console, issuer: OidcIssuer
) -> None:
    """The page is the same as before, whatever its address is like; nobody had to sign in."""
    assert urlsplit(person.url).path == "/health"
    expect(person.locator("body")).to_contain_text("oidc:sub:alice")
    # Longer than any cookie of a sign-in keeps.
    person.goto(f"{console.url}/health?q={_LONG}&level=problem&limit=7&x={'y' * 1500}")
    before = person.url
    person.get_by_role("button", name="Verify the record").wait_for()
    asked = issuer.count("/authorize")
    person.wait_for_timeout((_LASTS_S + 0.5) * 1000)
    with person.expect_navigation(url="**/health?**"):
        person.get_by_role("button", name="Verify the record").click()
    person.locator("body.framed[data-ready]").wait_for(state="attached")
    assert issuer.count("/authorize") > asked
    assert issuer.asked("/authorize")["prompt"] == "none"
    assert person.url == before
    assert person.locator("[name=q]").input_value() == _LONG
    person.get_by_role("button", name="Verify the record").click()
    expect(person.locator("#list")).to_contain_text("verified")
    assert person.url == before


def test_what_is_ticked_or_chosen_keeps_a_page_where_it_is(
    person: Page, console: Console, issuer: OidcIssuer
) -> None:
    """As what is written does: another page has the issuer asked, and this one goes on with everything in it."""
    with console.calling("demo__delete_all_notes"):
        person.goto(f"{console.url}/inbox")
        tick = person.locator("[data-pick]")
        tick.check()
        person.wait_for_timeout((_LASTS_S + 0.5) * 1000)
        asked = issuer.count("/authorize")
        person.evaluate("document.body.dispatchEvent(new CustomEvent('changed-inbox'))")
        expect(person.locator("#connection")).to_contain_text("finished writing")
        assert issuer.count("/authorize") == asked
        expect(tick).to_be_checked()
        other = person.context.new_page()
        other.goto(f"{console.url}/health")
        expect(other.locator("body.framed[data-ready]")).to_have_count(1)
        expect(person.locator("#connection")).to_be_hidden()
        expect(tick).to_be_checked()
        assert issuer.count("/authorize") > asked
