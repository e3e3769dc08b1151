"""Pages that nobody has to be signed in to: what stands on them, and what does not."""

from __future__ import annotations

from pathlib import Path

from gatewright.console.people import Person
from gatewright.console.sign_in_pages import key_in
from tests.console.in_process import Client, within
from tests.console.raw import cookie_of, csrf_in


async def test_the_page_that_signs_in_keeps_the_key_and_leads_on(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        token = console.sessions.token_for(Person("ann", "viewer", "url"))
        answer = await console.nobody().form("/open?next=/audit%3Fa=b", {"token": token})
        assert (answer.status, 'data-way="/audit?a=b"' in answer.text) == (200, True)
        assert "signed_in.js" in answer.text
        client = Client(console, cookie_of(answer), csrf_in(answer.text))
        assert (await client.get("/audit?a=b")).status == 200


async def test_the_shell_is_the_same_for_every_address(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        owner = await console.person("operator")
        thief = Client(console, owner.cookie)
        shells = {(await thief.get(path)).text for path in ("/inbox", "/audit?tool=x", "/live/y")}
        assert len(shells) == 1
        assert (await console.nobody().get("/inbox")).headers["location"] == "/sign-in?next=/inbox"


async def test_who_follows_a_reference_from_elsewhere_is_asked_by_the_shell(tmp_path: Path) -> None:
    """Without the cookie, which does not go along: whoever is signed in must not be told to sign in."""
    async with within(tmp_path) as console:
        followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        answer = await console.nobody().get("/inbox/x", followed)
        assert (answer.status, "data-shell" in answer.text) == (200, True)
        asked = await console.nobody().get("/inbox/x", {"X-CSRF-Token": "k"})
        assert (asked.status, asked.headers["x-console"]) == (401, "not_signed_in")


async def test_the_sign_in_says_what_went_wrong_or_ended(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        nobody = console.nobody()
        assert "ended" not in (await nobody.get("/sign-in")).text
        assert "Your session has ended" in (await nobody.get("/sign-in?over=session")).text
        wrong = await nobody.form("/sign-in?over=session", {"key": "x"})
        assert (wrong.status, "has ended" in wrong.text) == (403, False)


def test_the_key_of_a_form_is_no_field_of_it() -> None:
    class Asked:
        headers: dict[str, str] = {}  # noqa: RUF012 - a stand-in

    fields = {"csrf": "k", "tool": "x"}
    assert key_in(Asked(), fields) == "k"  # type: ignore[arg-type]
    assert fields == {"tool": "x"}
