"""The cookie of the console in foreign hands: browsers send it to every port of the host, so alone it opens, shows and ends nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.console.in_process import Client, Within, within
from tests.console.raw import csrf_in

_PRIVATE = ("operator", "data-csrf", "Sign out", "data-since")
"""What stands on every page that somebody is signed in to."""


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """Without any server."""
    async with within(tmp_path) as found:
        yield found


async def test_a_cookie_alone_sees_nothing(console: Within) -> None:
    owner = await console.person("operator")
    thief = Client(console, owner.cookie)
    checked = 0
    for screen in console.screens:
        for page in screen.pages:
            path = page.path.replace("{", "").replace("}", "")
            answer = await thief.ask(page.method, path)
            assert not any(one in answer.text for one in _PRIVATE), path
            if page.method == "GET":
                assert (answer.status, "data-shell" in answer.text) == (200, True), path
                part = await thief.get(path, {"HX-Request": "true"})
                assert (part.status, part.text) == (401, ""), path
            else:
                assert answer.status == 403, path
            checked += 1
    for one in vars(console.site)["_operations"]:
        path = one.path.replace("{", "").replace("}", "")
        answer = await thief.api(one.method, path, None if one.method == "GET" else {})
        wanted = (401, "page_key") if one.method == "GET" else (403, "csrf")
        assert (answer.status, answer.json()["code"]) == wanted, path
        checked += 1
    assert checked > 60
    for path in ("/events?topics=inbox", "/events?topics=inbox&key=x", "/api/v1/openapi.json"):
        assert (await thief.get(path)).status == 401, path
    assert "data-go" not in (await thief.get("/screens")).text
    assert (await thief.form("/sign-out", {})).status == 403
    assert (await owner.get("/inbox")).status == 200


async def test_a_key_of_another_session_and_a_key_alone_are_none(console: Within) -> None:
    owner, other = await console.person("operator"), await console.person("operator", "other")
    for cookie, key in ((owner.cookie, other.csrf), ("", owner.csrf), (owner.cookie, "\u00e9")):
        client = Client(console, cookie, key)
        assert (await client.get("/inbox")).status == 401
        assert (await client.api("GET", "/approvals")).status == 401
        assert (await client.get("/events?topics=inbox")).status == 401


async def test_what_a_cookie_alone_asks_keeps_no_session_alive(console: Within) -> None:
    owner = await console.person("operator")
    for _ in range(2):
        console.ahead += 500
        await Client(console, owner.cookie).get("/inbox")
        await Client(console, owner.cookie).form("/sign-out", {})
    assert (await owner.get("/inbox")).status == 401


async def test_the_key_is_given_once_to_the_page_that_signs_in(console: Within) -> None:
    owner = await console.person("operator")
    assert owner.csrf
    assert owner.csrf not in owner.cookie
    page = await owner.get("/inbox")
    assert csrf_in(page.text) == owner.csrf
    assert page.headers["cache-control"] == "no-store"
    listed = await owner.api("GET", "/sign-ins")
    assert owner.csrf not in listed.text


async def test_an_open_page_in_front_of_which_nobody_sits_ends(console: Within) -> None:
    """Its parts and its stream go on by themselves; only what a person did counts."""
    page = await console.person("operator")
    begun = console.clock()
    while console.clock() - begun < 880:
        console.ahead += 20
        page.idle = int(console.clock() - begun)
        assert (await page.get("/live/list", {"HX-Request": "true"})).status == 200
        assert (await page.api("GET", "/traffic")).status == 200
        unsaid = {"X-Console-Idle": None}
        assert (await page.get("/screens", unsaid)).status == 200
    console.ahead += 20
    page.idle += 20
    over = await page.get(
        "/live/list", {"HX-Request": "true", "HX-Current-URL": "http://127.0.0.1:8421/live?a=b"}
    )
    leads = "/sign-in?over=session&next=/live%3Fa%3Db"
    assert (over.status, over.headers["hx-redirect"]) == (401, leads)
    assert "Your session has ended" in (await page.get(leads)).text


async def test_whoever_does_something_stays(console: Within) -> None:
    page = await console.person("operator")
    for number in range(12):
        console.ahead += 300
        page.idle = 250
        answer = await page.get("/inbox")
        assert answer.status == (200 if number < 11 else 401)  # an hour is the most


async def test_nonsense_about_idleness_counts_as_nothing(console: Within) -> None:
    page = await console.person("operator")
    console.ahead += 899
    for said in ("-1", "x", "1e9", "nan", "", "9" * 400, "\u0661"):
        assert (await page.get("/inbox", {"X-Console-Idle": said})).status == 200
    console.ahead += 1
    assert (await page.get("/inbox")).status == 401
