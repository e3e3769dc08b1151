"""The console over HTTP: who is let in, what an answer looks like, and what is sent with each."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from gatewright.console import recent
from gatewright.console.access_changes import AccessChanges
from gatewright.console.access_shapes import AccessChange
from gatewright.console.operations import ApiError, Download
from gatewright.console.recent_calls import CallPage, CallsAsked, RecentCalls
from gatewright.console.turns import AT_ONCE
from tests.console.client import Visitor
from tests.console.in_process import Client, within
from tests.console.running import DEMO, eventually


def test_nobody_sees_a_page_without_signing_in(stranger: Visitor) -> None:
    said = stranger.get("/inbox?x=1")
    assert (said.status, said.headers["location"]) == (303, "/sign-in?next=/inbox%3Fx%3D1")
    part = stranger.get("/inbox/list", hx_request="true")
    assert (part.status, part.headers["hx-redirect"]) == (401, "/sign-in?over=session&next=")
    api = stranger.call("GET", "/approvals")
    assert (api.status, api.json()["code"]) == (401, "not_signed_in")


def test_every_answer_has_the_headers_that_keep_pages_apart(
    operator: Visitor, stranger: Visitor
) -> None:
    for said in (
        operator.get("/inbox"),
        operator.get("/nowhere"),
        operator.call("GET", "/approvals"),
        stranger.get("/sign-in"),
    ):
        if said.status == 404 and not said.headers.get("content-security-policy"):
            pytest.fail("an answer without a policy of contents")
        assert "frame-ancestors 'none'" in said.headers["content-security-policy"]
        assert "unsafe" not in said.headers["content-security-policy"]
        assert said.headers["cache-control"] == "no-store"


def test_what_is_not_there_is_said_in_the_form_that_was_asked(operator: Visitor) -> None:
    assert operator.get("/nowhere").status == 404
    assert operator.call("GET", "/nowhere").json()["code"] == "not_found"
    assert operator.get("/static/nothing.js").status == 404
    assert operator.call("POST", "/approvals").status == 405


def test_the_first_screen_is_the_way_in(operator: Visitor) -> None:
    said = operator.get("/")
    assert (said.status, said.headers["location"]) == (307, "/inbox")


def test_files_are_kept_by_browsers(operator: Visitor) -> None:
    page = operator.get("/inbox").text
    path = page.partition('stylesheet" href="')[2].partition('"')[0]
    said = operator.get(path)
    assert (said.status, said.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in said.headers["cache-control"]


async def test_a_page_of_an_earlier_session_of_the_browser_is_asked_for_anew(
    tmp_path: Path,
) -> None:
    """The cookie is of the next session, whose key its shell has."""
    async with within(tmp_path) as console:
        before, after = await console.person("viewer", "ann"), await console.person("viewer", "bob")
        part = {"HX-Request": "true", "HX-Current-URL": "http://127.0.0.1:8421/audit?tool=a%26b"}
        mixed = Client(console, after.cookie, before.csrf)
        answer = await mixed.get("/inbox/list", part)
        assert (answer.status, answer.headers["hx-redirect"]) == (401, "/audit?tool=a%26b")
        for elsewhere in ("http://127.0.0.1:8421//elsewhere.example/x", ""):
            answer = await mixed.get("/inbox/list", part | {"HX-Current-URL": elsewhere})
            assert answer.headers["hx-redirect"] == "/"


async def test_head_has_nothing_made_that_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with within(tmp_path) as console:
        operator = await console.person("operator")

        def never(*_: object) -> None:
            raise AssertionError("the record was read")

        monkeypatch.setattr("gatewright.console.audit_export.download", never)
        for path in ("/audit/export", "/api/v1/audit/export", "/events", "/audit", "/screens"):
            answer = await operator.ask("HEAD", path)
            assert answer.status == 405, path
        assert (await operator.ask("HEAD", "/sign-in")).status == 200


def test_the_stream_of_events_is_for_whoever_is_signed_in(stranger: Visitor) -> None:
    assert stranger.get("/events?topics=inbox").status == 401


async def test_a_host_that_is_none_is_refused_and_breaks_nothing(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        nobody = console.nobody()
        for host in ("127.0.0.1:99999", "127.0.0.1?x", "[127.0.0.1]", "127.0.0.1:x", "localhost/"):
            said = await nobody.get("/inbox", {"Host": host})
            assert (host, said.status) == (host, 421)
        assert (await nobody.get("/inbox", {"Host": "localhost:65535"})).status == 303


def test_a_page_says_from_which_change_on_it_is_to_hear(operator: Visitor) -> None:
    """What happens between the making of a page and its stream is no less news than what happens later."""
    first = re.search(r'data-since="([0-9]+)"', operator.get("/inbox").text)
    assert first is not None

    def later() -> bool:
        found = re.search(r'data-since="([0-9]+)"', operator.get("/inbox").text)
        return found is not None and int(found[1]) > int(first[1])

    operator.console.command("tool", "call", "demo__add", "a=1", "b=2")
    eventually(later)


async def test_what_everybody_is_shown_alike_is_made_anew_when_it_has_changed_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it changes while it is made: whoever hears of the change may look once, and never again."""
    monkeypatch.setattr(recent, "_LOOK_S", 3600.0)
    made = 0
    page = RecentCalls.page

    async def counted(self: RecentCalls, asked: CallsAsked) -> CallPage:
        nonlocal made
        made += 1
        found = await page(self, asked)
        if made == 2:
            console.parts.changes.tell("live")
        return found

    monkeypatch.setattr(RecentCalls, "page", counted)
    async with within(tmp_path) as console:
        people = [await console.person("viewer", name) for name in ("ann", "bob")]

        async def look() -> int:
            for one in people:
                assert (await one.get("/live/list")).status == 200
            return made

        assert [await look(), await look()] == [1, 1]
        console.parts.changes.tell("inbox")
        assert await look() == 1
        console.parts.changes.tell("live")
        assert await look() == 3  # once for the change before, once for that of meanwhile
        assert await look() == 3


async def test_what_reads_by_a_form_is_done_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan replays the calls of a week: whoever asks for many waits for themselves."""
    running, most, told = 0, 0, asyncio.Event()

    async def plan(self: AccessChanges, change: AccessChange) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await told.wait()
        running -= 1
        raise ApiError(409, "conflict", "no")

    monkeypatch.setattr(AccessChanges, "plan", plan)
    async with within(tmp_path) as console:
        client = await console.person("operator")
        given = {"agent": "ann", "server": "files"}
        asking = [
            asyncio.create_task(one)
            for _ in range(6)
            for one in (
                client.form("/access/plan", given),
                client.api("POST", "/access/plan", given),
            )
        ]
        for _ in range(200):
            await asyncio.sleep(0)
        told.set()
        assert {(await one).status for one in asking} == {409}
        assert most == AT_ONCE


async def test_what_only_shows_something_says_that_it_reads(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        for one in vars(console.site)["_operations"]:
            shows = one.summary.partition(" ")[0] in ("Show", "Compare", "List", "Search")
            assert one.in_turn == (shows or one.method == "GET"), one.name


STRANGE = ("-1", "1e400", "nan", f"{2**63}", "9" * 400, "\x00", '["a",1]', f'[{"9" * 400},"a"]')
"""Values that numbers, places and names are asked with by whoever tries what happens."""


async def test_whatever_is_asked_for_is_answered_and_breaks_nothing(tmp_path: Path) -> None:
    """Each member of each query, one after the other: searches by trace, records behind the last number and endless times broke it."""
    async with within(tmp_path, DEMO + "[rooms]\n") as console:
        operator = await console.person("operator")
        asked = [
            *(
                (one.path, one.takes)
                for s in console.screens
                for one in s.pages
                if one.method == "GET"
            ),
            *(
                (f"/api/v1{one.path}", one.takes)
                for one in vars(console.site)["_operations"]
                if one.method == "GET" and one.gives is not Download
            ),
        ]
        broken = []
        for path, takes in asked:
            members = msgspec.structs.fields(takes)
            usual = {one.name: "x" for one in members if one.required}
            wanted = [usual, *({**usual, one.name: value} for one in members for value in STRANGE)]
            for query in wanted:
                way = f"{re.sub('{[a-z]+}', 'x', path)}?{urlencode(query)}"
                if (await operator.get(way)).status >= 500:
                    broken.append(way[:200])
        assert not broken
        assert len(asked) > 60
