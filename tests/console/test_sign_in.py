"""Signing in by a one-time URL and by key, signing out; each is in the record."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from gatewright.console.people import Person
from gatewright.console.sessions import SESSIONS_EACH
from tests.console.client import Visitor
from tests.console.in_process import newest, within
from tests.console.running import Console, eventually


@pytest.fixture(scope="module")
def key(console: Console) -> str:
    return str(
        json.loads(console.command("key", "create", "olga", "--operator", "--json").stdout)["key"]
    )


def test_a_url_opens_once_and_its_cookie_is_for_this_site_alone(console: Console) -> None:
    token = console.new_url().partition("#")[2]
    first, second = Visitor(console), Visitor(console)
    said = first.open(token)
    assert (said.status, 'data-way="/"' in said.text) == (200, True)
    cookie = said.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert first.get("/inbox").status == 200
    again = second.open(token)
    assert (again.status, second.get("/inbox").status) == (403, 303)
    assert "gatewright console" in again.text


def test_an_operators_key_opens_it_and_no_other_does(console: Console, key: str) -> None:
    olga = Visitor(console)
    assert olga.sign_in(key).status == 200
    assert "olga · operator" in olga.get("/inbox").text
    agent = json.loads(console.command("key", "create", "bot", "--json").stdout)["key"]
    for wrong in (agent, "gw_nothing", ""):
        said = Visitor(console).sign_in(wrong)
        assert said.status == 403
        assert "not the key of an operator" in said.text


@pytest.mark.parametrize(
    "way", ["//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nx: y"]
)
def test_nobody_is_led_elsewhere(console: Console, key: str, way: str) -> None:
    said = Visitor(console).post(f"/sign-in?next={quote(way)}", {"key": key})
    assert (said.status, 'data-way="/"' in said.text) == (200, True)


def test_one_goes_on_to_where_one_was_going(console: Console, key: str) -> None:
    said = Visitor(console).post("/sign-in?next=/inbox%3Fx%3D1", {"key": key})
    assert 'data-way="/inbox?x=1"' in said.text


def test_a_session_ends_by_signing_out_and_by_a_revoked_key(console: Console, key: str) -> None:
    olga, same = Visitor(console), Visitor(console)
    olga.sign_in(key)
    same.sign_in(key)
    assert olga.post("/sign-out", {"csrf": "wrong"}).status == 403
    assert olga.post("/sign-out", {"csrf": olga.csrf}).status == 303
    assert olga.get("/inbox").status == 401
    assert same.get("/inbox").status == 200
    made = json.loads(console.command("key", "create", "pavel", "--operator", "--json").stdout)
    pavel = Visitor(console)
    pavel.sign_in(made["key"])
    assert pavel.get("/inbox").status == 200
    assert console.command("key", "revoke", made["id"]).returncode == 0
    eventually(lambda: pavel.get("/inbox").status == 401)


def test_who_signed_in_is_in_the_record(console: Console, key: str) -> None:
    Visitor(console).sign_in(key)
    Visitor(console).sign_in("gw_wrong")
    said = console.command("audit", "query", "--json").stdout
    kinds = [json.loads(line)["event_type"] for line in said.splitlines() if line.startswith("{")]
    assert "dev.gatewright.console.signed_in" in kinds
    assert "dev.gatewright.console.refused" in kinds
    assert key not in said


async def test_who_signs_in_too_often_ends_their_own_sessions_alone(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        other = await console.person("viewer", "bob")
        first = await console.person("viewer", "ann")
        for _ in range(SESSIONS_EACH):
            console.ahead += 0.001
            token = console.sessions.token_for(Person("ann", "viewer", "url"))
            assert (await console.nobody().form("/open", {"token": token})).status == 200
        assert (await first.get("/inbox")).status == 401
        assert (await other.get("/inbox")).status == 200
        ids = [one.person.id for one in console.sessions.all()]
        assert (ids.count("ann"), ids.count("bob")) == (SESSIONS_EACH, 1)


async def test_who_signs_in_anew_in_one_browser_has_one_session(tmp_path: Path) -> None:
    """Whoever shows the cookie of somebody else, which may be stolen, ends nothing of theirs."""
    async with within(tmp_path) as console:
        ann, thief = await console.person("viewer", "ann"), console.nobody()
        for who in ("bob", "ann"):
            console.ahead += 1
            thief.cookie = ann.cookie
            token = console.sessions.token_for(Person(who, "viewer", "url"))
            assert (await thief.form("/open", {"token": token})).status == 200
            still = (await ann.get("/inbox")).status
            assert still == (200 if who == "bob" else 401)
        assert sorted(one.person.id for one in console.sessions.all()) == ["ann", "bob"]
        (ended,) = [
            one
            for one in newest(console)
            if one["event_type"] == "dev.gatewright.console.session_ended"
        ]
        assert ended["details"]["reason"] == "signed_in_again"
