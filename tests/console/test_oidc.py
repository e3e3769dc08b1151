"""Sign-in by OpenID Connect against a real issuer: who gets in, in which role, and everybody who does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import pytest_asyncio

from gatewright.console import sealed_handles
from gatewright.console.oidc import Oidc
from gatewright.oauth.documents import AuthServer
from gatewright.secret_scanning import HELD
from gatewright.transport.safe_fetch import EgressFailed
from tests.console.in_process import Client, Within, newest, within
from tests.console.oidc_issuer import SECRET, OidcIssuer, configured, oidc_issuer
from tests.console.oidc_parts import begun, came_back, cookies, signed_in
from tests.console.raw import csrf_in
from tests.identity.issuing import Issuing
from tests.servers.guarded import user


@pytest_asyncio.fixture
async def issuer() -> AsyncIterator[OidcIssuer]:
    """Somebody who knows people."""
    async with oidc_issuer() as found:
        yield found


@pytest_asyncio.fixture
async def console(issuer: OidcIssuer, tmp_path: Path) -> AsyncIterator[Within]:
    """A console that takes its word."""
    async with within(tmp_path, configured(issuer.issuer)) as found:
        yield found


async def test_a_person_of_the_issuer_gets_in_with_a_role(
    console: Within, issuer: OidcIssuer
) -> None:
    assert "Sign in with" in (await console.nobody().get("/sign-in?next=/audit")).text
    answer = await signed_in(console)
    assert answer.status == 200, answer.text
    assert 'data-way="/audit"' in answer.text
    client = Client(console, cookies(answer)["session"], csrf_in(answer.text))
    page = await client.get("/audit")
    assert page.status == 200
    assert "oidc:sub:alice" in page.text
    (one,) = (await client.api("GET", "/sign-ins")).json()["signed_in"]
    assert (one["person"], one["role"], one["via"]) == ("oidc:sub:alice", "operator", "oidc")
    asked = issuer.asked("/authorize")
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert "resource" not in asked


@pytest.mark.parametrize(
    ("claims", "role", "name"),
    [
        ({"roles": ["x", "everybody", "team"]}, "approver", "oidc:sub:alice"),
        ({"roles": "everybody"}, "viewer", "oidc:sub:alice"),
        ({"email": "a@b.example", "email_verified": True}, "operator", "oidc:a@b.example"),
        ({"email": "a@b.example", "email_verified": False}, "operator", "oidc:sub:alice"),
        ({"email": "a@b.example", "email_verified": "true"}, "operator", "oidc:sub:alice"),
        ({"azp": "console", "aud": ["console", "other"]}, "operator", "oidc:sub:alice"),
    ],
)
async def test_roles_and_names_follow_from_claims(
    console: Within, issuer: OidcIssuer, claims: dict[str, Any], role: str, name: str
) -> None:
    issuer.claims |= claims
    assert (await signed_in(console)).status == 200
    (one,) = console.sessions.all()
    assert (one.person.role, one.person.id) == (role, name)


@pytest.mark.parametrize(
    "claims",
    [
        {"roles": None},
        {"roles": []},
        {"roles": ["admin"]},
        {"roles": {"ops": True}},
        {"nonce": "of another"},
        {"nonce": None},
        {"iss": "http://127.0.0.1:1"},
        {"aud": "other"},
        {"aud": ["console", "other"]},
        {"aud": ["console", "other"], "azp": "other"},
        {"azp": "other"},
        {"exp": -3600},  # seconds from now
        {"nbf": 3600},
        {"sub": None},
        {"sub": "a\u202eb"},
        {"sub": "x" * 1000},
    ],
    ids=str,
)
async def test_a_token_that_is_not_ours_lets_nobody_in(
    console: Within, issuer: OidcIssuer, claims: dict[str, Any]
) -> None:
    ahead = {name: time.time() + value for name, value in claims.items() if name in ("exp", "nbf")}
    issuer.claims |= claims | ahead
    answer = await signed_in(console)
    assert answer.status == 403
    assert "session" not in cookies(answer)
    assert 'role="alert"' in answer.text
    assert console.sessions.all() == []


async def test_keys_and_answers_that_are_not_the_issuer_s_let_nobody_in(
    console: Within, issuer: OidcIssuer
) -> None:
    issuer.signer = Issuing()  # the same key id, another key
    assert (await signed_in(console)).status == 403
    issuer.signer = issuer
    issuer.gives_id_token = False
    assert (await signed_in(console)).status == 403
    issuer.gives_id_token, issuer.response = True, {"iss": "http://elsewhere.example"}
    assert (await signed_in(console)).status == 403
    issuer.response, issuer.status = {}, 400
    issuer.said = {"error": "invalid_grant", "error_description": "<b>no</b>"}
    answer = await signed_in(console)
    assert (answer.status, "<b>no" in answer.text) == (403, False)
    issuer.status = None
    assert (await signed_in(console)).status == 200


async def test_an_answer_counts_once_in_its_browser_within_its_time(console: Within) -> None:
    client = console.nobody()
    url, cookie = await begun(client)
    _, other = await begun(client)
    back = await user(url)
    for wrong in ("", other, cookie[:-1]):
        answer = await came_back(client, back, wrong)
        assert answer.status == 403, wrong
        assert "session" not in cookies(answer)
    assert (await came_back(client, back, cookie)).status == 200
    assert (await came_back(client, back, cookie)).status == 403
    url, cookie = await begun(client)
    changed = parse_qs(urlsplit(await user(url)).query)
    forged = {name: values[0] for name, values in changed.items()} | {"state": "x"}
    answer = await came_back(client, f"http://x/oidc/callback?{urlencode(forged)}", cookie)
    assert answer.status == 403
    url, cookie = await begun(client)
    back = await user(url)
    console.ahead += 601
    assert (await came_back(client, back, cookie)).status == 403
    assert len(console.sessions.all()) == 1


async def test_what_the_issuer_says_in_place_of_a_code_is_read_by_a_person(
    console: Within, issuer: OidcIssuer
) -> None:
    client = console.nobody()
    url, cookie = await begun(client)
    state = parse_qs(urlsplit(url).query)["state"][0]
    said = urlencode({"state": state, "error": "access_denied", "error_description": "<i>no</i>"})
    answer = await came_back(client, f"http://x/oidc/callback?{said}", cookie)
    assert answer.status == 403
    assert "access_denied" in answer.text
    assert "<i>" not in answer.text
    (told,) = [
        one for one in newest(console) if one["event_type"] == "dev.gatewright.console.refused"
    ]
    assert told["details"]["via"] == "oidc"


async def test_an_issuer_that_is_away_is_named_and_leads_nowhere_else(
    tmp_path: Path,
) -> None:
    async with within(tmp_path, configured("http://127.0.0.1:9")) as console:
        answer = await console.nobody().get("/oidc/begin?next=//elsewhere.example")
        assert answer.status == 503
        assert "http://127.0.0.1:9" in answer.text
        assert "operator&#39;s key" in answer.text
    async with within(tmp_path) as console:
        assert (await console.nobody().get("/oidc/begin")).status == 404
        assert "Sign in with" not in (await console.nobody().get("/sign-in")).text


async def test_the_secret_comes_from_where_it_is_kept_and_its_lack_is_said(
    issuer: OidcIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = configured(issuer.issuer).replace(f'"{SECRET}"', '"${env:CONSOLE_SECRET}"')
    async with within(tmp_path, text) as console:
        answer = await console.nobody().get("/oidc/begin")
        assert (answer.status, "CONSOLE_SECRET" in answer.text) == (503, True)
        monkeypatch.setenv("CONSOLE_SECRET", SECRET)
        assert (await signed_in(console)).status == 200
        assert SECRET in HELD.values


async def test_whoever_begins_thousands_of_sign_ins_keeps_nobody_out(console: Within) -> None:
    """The page of the sign-in is there for everybody, also for those who never come back."""
    client = console.nobody()
    url, cookie = await begun(client)
    for _ in range(1100):
        assert (await client.get("/oidc/begin")).status == 303
    assert (await came_back(client, await user(url), cookie)).status == 200


@pytest.mark.parametrize(
    ("way", "back"),
    [
        (f"/audit%3Fagent={'x' * 5000}", "/audit"),
        (f"/servers/{'x' * 5000}", "/"),
        (f"/servers/{'%2525' * 300}", "/"),
    ],
)
async def test_a_long_way_fits_no_cookie_and_leads_to_its_path(
    console: Within, way: str, back: str
) -> None:
    client = console.nobody()
    url, cookie = await begun(client, way)
    assert len(cookie) < 1500
    answer = await came_back(client, await user(url), cookie)
    assert f'data-way="{back}"' in answer.text


async def test_whoever_comes_back_thousands_of_times_with_nothing_keeps_nobody_out(
    console: Within, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign-in is used up by what the issuer says of somebody, and by nothing that anybody can send."""
    monkeypatch.setattr(sealed_handles, "_USED", 20)
    client = console.nobody()
    url, cookie = await begun(client)
    for _ in range(40):
        theirs, kept = await begun(client)
        state = parse_qs(urlsplit(theirs).query)["state"][0]
        said = urlencode({"state": state, "code": "made-up", "iss": issuer.issuer})
        answer = await came_back(client, f"http://x/oidc/callback?{said}", kept)
        assert answer.status == 403
    assert (await came_back(client, await user(url), cookie)).status == 200


async def test_no_more_than_some_ask_the_issuer_at_once_and_of_one_address_fewer(
    console: Within, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too much is told so, and a session that is to be confirmed waits for none of them."""
    running, most, open_ = 0, 0, asyncio.Event()
    real = Oidc._claims

    async def slow(self: Oidc, *given: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await open_.wait()
        running -= 1
        return await real(self, *given)

    monkeypatch.setattr(Oidc, "_claims", slow)
    client = console.nobody()
    every = [await begun(client) for _ in range(30)]
    back = [(await user(url), cookie) for url, cookie in every]
    asking = [asyncio.create_task(came_back(client, *one)) for one in back]
    done, _ = await asyncio.wait(asking, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    assert {one.result().status for one in done} == {503}
    assert most == 2
    open_.set()
    found = [(await one).status for one in asking]
    assert (found.count(200), found.count(503)) == (22, 8)


async def test_one_sign_in_that_comes_back_twice_at_once_lets_one_in(console: Within) -> None:
    client = console.nobody()
    url, cookie = await begun(client)
    back = await user(url)
    found = await asyncio.gather(*(came_back(client, back, cookie) for _ in range(5)))
    assert sorted(one.status for one in found) == [200, 403, 403, 403, 403]
    assert len(console.sessions.all()) == 1


async def test_an_issuer_that_is_away_is_asked_again_after_some_seconds(
    issuer: OidcIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for a sign-in meanwhile waits for nothing, and has nothing fetched."""
    fetched = 0
    real = Oidc._fetched

    async def counted(self: Oidc) -> AuthServer:
        nonlocal fetched
        fetched += 1
        if fetched == 1:
            raise EgressFailed("it is away")
        return await real(self)

    monkeypatch.setattr(Oidc, "_fetched", counted)
    async with within(tmp_path, configured(issuer.issuer)) as console:
        client = console.nobody()
        for _ in range(5):
            answer = await client.get("/oidc/begin")
            assert (answer.status, "it is away" in answer.text) == (503, True)
        assert fetched == 1
        console.ahead += 6
        assert (await client.get("/oidc/begin")).status == 303
