"""The console against whoever is not meant: forged requests, foreign pages, stolen and replayed tokens, roles, bodies, paths."""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args
from urllib.parse import quote, urlsplit

import pytest
import pytest_asyncio

from gatewright.config.console import ConsoleRole
from gatewright.console.guard import BODY_BYTES
from gatewright.console.people import POWERS, Person
from tests.console.in_process import HOST, Client, Within, within
from tests.console.raw import cookie_of, csrf_in

ROLES: tuple[ConsoleRole, ...] = get_args(ConsoleRole)
ELSEWHERE = "http://elsewhere.example"


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """Without any server."""
    async with within(tmp_path) as found:
        yield found


def _operations(console: Within) -> list[tuple[str, str, str]]:
    """Method, path and power of every operation, from the document that the console serves."""
    found = []
    for one in vars(console.site)["_operations"]:
        path = "/".join("x" if piece.startswith("{") else piece for piece in one.path.split("/"))
        found.append((one.method, path, one.power))
    return found


def _forms(console: Within) -> list[tuple[str, str]]:
    """Path and power of every form."""
    pages = [one for screen in console.screens for one in screen.pages if one.method == "POST"]
    return [(one.path.replace("{", "").replace("}", ""), one.power) for one in pages]


async def test_a_role_does_what_its_power_covers_and_nothing_else(console: Within) -> None:
    people = {role: await console.person(role) for role in ROLES}
    checked = 0
    for method, path, power in _operations(console):
        for role, client in people.items():
            answer = await client.api(method, path, None if method == "GET" else {})
            if power in POWERS[role]:
                refused = answer.status == 403 and answer.json()["code"] in ("role", "csrf")
                assert not refused, (role, method, path)
            else:
                assert answer.status == 403, (role, method, path)
                assert answer.json()["code"] == "role", (role, method, path)
                checked += 1
    for path, power in _forms(console):
        for role, client in people.items():
            if power not in POWERS[role]:
                assert (await client.form(path, {})).status == 403, (role, path)
                checked += 1
    assert checked > 10


async def test_nobody_without_a_session_gets_anything(console: Within) -> None:
    nobody = console.nobody()
    for method, path, _ in _operations(console):
        answer = await nobody.api(method, path, None if method == "GET" else {})
        assert (answer.status, answer.json()["code"]) == (401, "not_signed_in"), path
    for screen in console.screens:
        for page in screen.pages:
            answer = await nobody.ask(page.method, page.path)
            assert answer.status == 303, page.path
            assert answer.headers["location"].startswith("/sign-in")
    assert (await nobody.get("/events?topics=inbox")).status == 401
    assert (await nobody.get("/api/v1/openapi.json")).status == 401


async def test_what_changes_something_needs_the_token_of_the_session(console: Within) -> None:
    client, other = await console.person("operator"), await console.person("operator", "other")
    for stolen in ("", other.csrf, client.csrf[:-1], client.csrf + "x"):
        forged = Client(console, client.cookie, stolen)
        for method, path, _ in _operations(console):
            if method != "GET":
                answer = await forged.api(method, path, {})
                assert (answer.status, answer.json()["code"]) == (403, "csrf"), path
        for path, _ in [*_forms(console), ("/sign-out", "")]:
            assert (await forged.form(path, {"csrf": stolen})).status == 403, path
    assert (await client.get("/inbox")).status == 200


async def test_no_get_changes_anything(console: Within) -> None:
    client = await console.person("operator")
    for method, path, _ in _operations(console):
        if method != "GET":
            assert (await client.ask("GET", f"/api/v1{path}")).status in (200, 404, 405)
    assert len(console.sessions.all()) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ELSEWHERE}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://{HOST}.elsewhere.example"}, 403),
        ({"Origin": f"https://{HOST}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ({"Host": "elsewhere.example"}, 421),
        ({"Host": "127.0.0.1.elsewhere.example:8421"}, 421),
        ({"Host": "localhost.elsewhere.example"}, 421),
        ({"Host": "127.0.0.1@elsewhere.example"}, 421),
        ({"Host": ""}, 421),
        ({"Host": None}, 421),
        ({"Host": "[::1"}, 421),
    ],
)
async def test_a_foreign_page_or_name_changes_nothing(
    console: Within, headers: dict[str, str | None], status: int
) -> None:
    client = await console.person("operator")
    for path in ("/api/v1/sign-in-urls", "/sign-out"):
        answer = await client.ask("POST", path, b"{}", {"X-CSRF-Token": client.csrf, **headers})
        assert answer.status == status, (path, answer.text)
    assert len(console.sessions.all()) == 1


async def test_a_person_may_follow_a_reference_here_and_a_foreign_script_may_not_read(
    console: Within,
) -> None:
    client = await console.person("viewer")
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await client.get("/inbox", followed)).status == 200
    for mode in ("cors", "no-cors", "websocket"):
        answer = await client.get("/inbox", {**followed, "Sec-Fetch-Mode": mode})
        assert answer.status == 403, mode


async def test_every_answer_forbids_frames_foreign_scripts_and_caches(console: Within) -> None:
    client, nobody = await console.person("viewer"), console.nobody()
    answers = [
        await client.get("/inbox"),
        await client.get("/api/v1/approvals"),
        await client.get("/inbox/none"),
        await nobody.get("/inbox"),
        await nobody.get("/sign-in"),
        await nobody.get("/open"),
        await nobody.get("/inbox", {"Host": "elsewhere.example"}),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


async def test_a_one_time_token_opens_one_session_within_its_time(console: Within) -> None:
    token = console.sessions.token_for(Person("ann", "operator", "url"))
    await console.opened(token)
    nobody = console.nobody()
    late = console.sessions.token_for(Person("ann", "operator", "url"), 60)
    console.ahead += 61
    for wrong in (token, late, token[:-1], "", "x" * 100_000):
        answer = await nobody.form("/open", {"token": wrong})
        assert answer.status == 403, wrong[:50]
        assert "set-cookie" not in answer.headers
    assert len(console.sessions.all()) == 1


@pytest.mark.parametrize(("url", "secure"), [("", False), ("https://console.example", True)])
async def test_the_cookie_is_for_this_console_alone(tmp_path: Path, url: str, secure: bool) -> None:
    async with within(tmp_path, url=url) as console:
        token = console.sessions.token_for(Person("ann", "viewer", "url"))
        host = url.rpartition("/")[2] or HOST
        answer = await console.nobody().form("/open", {"token": token}, {"Host": host})
        words = {one.strip().lower() for one in (answer.headers["set-cookie"] or "").split(";")}
        assert {"httponly", "samesite=strict", "path=/"} <= words
        assert ("secure" in words) == secure
        assert not any(one.startswith(("domain", "max-age", "expires")) for one in words)
        assert token not in cookie_of(answer)


async def test_a_session_ends_by_its_end_by_idleness_and_by_time(console: Within) -> None:
    ended, idle, old = [await console.person("operator", name) for name in ("a", "b", "c")]
    by_name = {one.person.id: one.id for one in console.sessions.all()}
    await old.api("DELETE", f"/sign-ins/{by_name['a']}")
    assert (await ended.get("/inbox")).status == 401
    for _ in range(3):
        console.ahead += 800
        assert (await old.get("/inbox")).status == 200
    assert (await idle.get("/inbox")).status == 401
    console.ahead += 800
    assert (await old.get("/inbox")).status == 200
    console.ahead += 500
    assert (await old.get("/inbox")).status == 401
    signed_out = await console.person("viewer", "d")
    assert (await signed_out.form("/sign-out", {})).status == 303
    assert (await signed_out.get("/inbox")).status == 401


async def test_a_revoked_key_ends_its_session_and_its_word(console: Within) -> None:
    made, key = console.gateway.callers.create("ann", kind="operator", by="test")
    nobody = console.nobody()
    answer = await nobody.form("/sign-in?next=/inbox", {"key": key})
    client = Client(console, cookie_of(answer), csrf_in(answer.text))
    assert (await client.get("/inbox")).status == 200
    bearer = {"Authorization": f"Bearer {key}"}
    assert (await nobody.api("GET", "/approvals", headers=bearer)).status == 200
    console.gateway.callers.revoke(made.id, by="test")
    assert (await client.get("/inbox")).status == 401
    assert (await nobody.api("GET", "/approvals", headers=bearer)).status == 401


async def test_an_agent_s_key_and_no_key_sign_nobody_in(console: Within) -> None:
    _, key = console.gateway.callers.create("bot", kind="agent", by="test")
    nobody = console.nobody()
    for wrong in (key, "", "gwk_nothing", "\u202e"):
        answer = await nobody.form("/sign-in", {"key": wrong})
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
    for shown in (f"Bearer {key}", "Bearer", "Basic eDp5", ""):
        answer = await nobody.api("GET", "/approvals", headers={"Authorization": shown})
        assert answer.status == 401, shown


async def test_what_is_too_long_or_no_json_is_refused_before_it_is_read(console: Within) -> None:
    client = await console.person("operator")
    csrf = {"X-CSRF-Token": client.csrf}
    for path in ("/api/v1/approvals/x/deny", "/inbox/x/deny", "/open"):
        answer = await client.ask("POST", path, b"x" * (BODY_BYTES + 1), csrf)
        assert answer.status == 413, path
    many = "&".join(f"a{number}=1" for number in range(1000)).encode()
    assert (await client.ask("POST", "/inbox/x/deny", many, csrf)).status == 413
    for body in (b"{", b"[]", b"[" * 100_000, b'{"minutes": "x"}', b"\xff", b'{"minutes": 1e400}'):
        answer = await client.ask("POST", "/api/v1/approvals/x/deny", body, csrf)
        assert answer.status in (400, 422), body[:30]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../feature.py",
        "/static/..%2ffeature.py",
        "/static/%2e%2e/feature.py",
        "/static/..\\feature.py",
        "/static//etc/passwd",
        "/static/vendored.json",
        "/static/console.css%00.svg",
        "/static/",
    ],
)
async def test_files_are_those_of_the_console_alone(console: Within, path: str) -> None:
    assert (await console.nobody().get(path)).status == 404


@pytest.mark.parametrize(
    "way",
    [
        "//elsewhere.example",
        "/\\elsewhere.example",
        "https://elsewhere.example",
        "javascript:alert(1)",
        "/\t/elsewhere.example",
        "/%0d%0aset-cookie: a=b",
        "/\r\nx: y",
        "",
    ],
)
async def test_signing_in_leads_nowhere_else(console: Within, way: str) -> None:
    _, key = console.gateway.callers.create("ann", kind="operator", by="test")
    nobody = console.nobody()
    answer = await nobody.form(f"/sign-in?next={quote(way, safe='')}", {"key": key})
    assert answer.status == 200
    leads = html.unescape(answer.text.partition('data-way="')[2].partition('"')[0])
    where = urlsplit(leads)
    assert (where.scheme, where.netloc) == ("", "")
    assert leads.startswith("/")
    assert not leads.startswith(("//", "/\\"))
    assert [name.lower() for name in answer.headers].count("set-cookie") == 1
    page = await nobody.get(f"/sign-in?next={quote(way, safe='')}")
    assert 'action="/sign-in' in page.text


async def test_a_stream_ends_with_its_session(console: Within) -> None:
    client = await console.person("viewer")
    session = console.sessions.all()[0]
    assert console.sessions.holds(session)
    console.sessions.end(session.id)
    assert not console.sessions.holds(session)
    assert (await client.get("/events?topics=inbox")).status == 401
