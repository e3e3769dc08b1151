"""Sign-in by OpenID Connect against a real issuer: who gets in, in which role, and everybody who does not."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import pytest_asyncio

from gatewright.console.oidc import Oidc
from gatewright.oauth.documents import AuthServer
from gatewright.secret_scanning import HELD
from gatewright.transport.safe_fetch import EgressFailed
from tests.console.in_process import Client, Within, within
from tests.console.oidc_issuer import SECRET, OidcIssuer, configured, oidc_issuer
from tests.console.raw import Answer, csrf_in
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


def _cookies(answer: Answer) -> dict[str, str]:
    """What an answer sets, by the end of the name."""
    found = {}
    for one in answer.headers.get_all("set-cookie") or []:
        name, _, value = one.partition(";")[0].partition("=")
        found["oidc" if "_oidc_" in name else "session"] = f"{name}={value}"
    return found


async def _begun(client: Client, way: str = "/audit") -> tuple[str, str]:
    """The URL at the issuer, and the cookie of the sign-in."""
    answer = await client.get(f"/oidc/begin?next={way}")
    assert answer.status == 303, answer.text
    (cookie,) = answer.headers.get_all("set-cookie") or []
    words = {one.strip().lower() for one in cookie.split(";")}
    assert {"httponly", "samesite=lax", "path=/oidc/callback"} <= words
    return answer.headers["location"] or "", _cookies(answer)["oidc"]


async def _back(client: Client, url: str, cookie: str) -> Answer:
    """The browser comes back from another site."""
    where = urlsplit(url)
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    return await client.get(f"{where.path}?{where.query}", headers)


async def _signed_in(console: Within) -> Answer:
    client = console.nobody()
    url, cookie = await _begun(client)
    return await _back(client, await user(url), cookie)


async def test_a_person_of_the_issuer_gets_in_with_a_role(
    console: Within, issuer: OidcIssuer
) -> None:
    assert "Sign in with" in (await console.nobody().get("/sign-in?next=/audit")).text
    answer = await _signed_in(console)
    assert answer.status == 200, answer.text
    assert 'data-way="/audit"' in answer.text
    client = Client(console, _cookies(answer)["session"], csrf_in(answer.text))
    page = await client.get("/audit")
    assert page.status == 200
    assert "oidc:sub:alice" in page.text
    (one,) = (await client.api("GET", "/sign-ins")).json()
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
    assert (await _signed_in(console)).status == 200
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
    answer = await _signed_in(console)
    assert answer.status == 403
    assert "session" not in _cookies(answer)
    assert 'role="alert"' in answer.text
    assert console.sessions.all() == []


async def test_keys_and_answers_that_are_not_the_issuer_s_let_nobody_in(
    console: Within, issuer: OidcIssuer
) -> None:
    issuer.signer = Issuing()  # the same key id, another key
    assert (await _signed_in(console)).status == 403
    issuer.signer = issuer
    issuer.gives_id_token = False
    assert (await _signed_in(console)).status == 403
    issuer.gives_id_token, issuer.response = True, {"iss": "http://elsewhere.example"}
    assert (await _signed_in(console)).status == 403
    issuer.response, issuer.status = {}, 400
    issuer.said = {"error": "invalid_grant", "error_description": "<b>no</b>"}
    answer = await _signed_in(console)
    assert (answer.status, "<b>no" in answer.text) == (403, False)
    issuer.status = None
    assert (await _signed_in(console)).status == 200


async def test_an_answer_counts_once_in_its_browser_within_its_time(console: Within) -> None:
    client = console.nobody()
    url, cookie = await _begun(client)
    _, other = await _begun(client)
    back = await user(url)
    for wrong in ("", other, cookie[:-1]):
        answer = await _back(client, back, wrong)
        assert answer.status == 403, wrong
        assert "session" not in _cookies(answer)
    assert (await _back(client, back, cookie)).status == 200
    assert (await _back(client, back, cookie)).status == 403
    url, cookie = await _begun(client)
    changed = parse_qs(urlsplit(await user(url)).query)
    forged = {name: values[0] for name, values in changed.items()} | {"state": "x"}
    answer = await _back(client, f"http://x/oidc/callback?{urlencode(forged)}", cookie)
    assert answer.status == 403
    url, cookie = await _begun(client)
    back = await user(url)
    console.ahead += 601
    assert (await _back(client, back, cookie)).status == 403
    assert len(console.sessions.all()) == 1


async def test_what_the_issuer_says_in_place_of_a_code_is_read_by_a_person(
    console: Within, issuer: OidcIssuer
) -> None:
    client = console.nobody()
    url, cookie = await _begun(client)
    state = parse_qs(urlsplit(url).query)["state"][0]
    said = urlencode({"state": state, "error": "access_denied", "error_description": "<i>no</i>"})
    answer = await _back(client, f"http://x/oidc/callback?{said}", cookie)
    assert answer.status == 403
    assert "access_denied" in answer.text
    assert "<i>" not in answer.text
    (told,) = [
        one
        for one in console.parts.recent.newest(50, lambda _: True)
        if one["event_type"] == "dev.gatewright.console.refused"
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
        assert (await _signed_in(console)).status == 200
        assert SECRET in HELD.values


async def test_whoever_begins_thousands_of_sign_ins_keeps_nobody_out(console: Within) -> None:
    """The page of the sign-in is there for everybody, also for those who never come back."""
    client = console.nobody()
    url, cookie = await _begun(client)
    for _ in range(1100):
        assert (await client.get("/oidc/begin")).status == 303
    assert (await _back(client, await user(url), cookie)).status == 200


async def test_a_long_way_fits_no_cookie_and_leads_to_the_first_page(console: Within) -> None:
    client = console.nobody()
    url, cookie = await _begun(client, f"/audit%3Fagent={'x' * 5000}")
    assert len(cookie) < 4000
    answer = await _back(client, await user(url), cookie)
    assert 'data-way="/"' in answer.text


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


# -- while a session lasts


@pytest_asyncio.fixture
async def doubted(issuer: OidcIssuer, tmp_path: Path) -> AsyncIterator[Within]:
    """A console that believes the issuer for a minute."""
    text = configured(issuer.issuer).replace("client_id", "confirm_minutes = 1\nclient_id", 1)
    async with within(tmp_path, text) as found:
        yield found


async def _client(console: Within) -> Client:
    answer = await _signed_in(console)
    return Client(console, _cookies(answer)["session"], csrf_in(answer.text))


async def _again(client: Client, **headers: str | None) -> Answer:
    return await client.ask("POST", "/oidc/again?next=/audit%3Ftool%3Dx", headers=headers)


async def _confirmed(client: Client) -> Answer:
    """What a browser does whose page is told so."""
    told = await client.get("/audit?tool=x")
    assert (told.status, told.headers["x-console"]) == (401, "confirm")
    begun = await _again(client)
    assert begun.status == 200, begun.text
    url = begun.json()["url"]
    assert parse_qs(urlsplit(url).query)["prompt"] == ["none"]
    return await _back(client, await user(url), _cookies(begun)["oidc"])


async def test_a_session_that_the_issuer_does_not_confirm_does_nothing(doubted: Within) -> None:
    client = await _client(doubted)
    assert (await client.get("/audit")).status == 200
    doubted.ahead += 61
    part = await client.get(
        "/audit/list", {"HX-Request": "true", "HX-Current-URL": "http://x/audit?tool=a%26b"}
    )
    assert (part.status, part.headers["x-console"], part.text) == (401, "confirm", "")
    assert (part.headers["hx-redirect"], part.headers["hx-reswap"]) == (None, "none")
    sent = await client.form("/access/undo", {}, {"HX-Request": "true"})
    assert (sent.status, sent.headers["x-console"]) == (401, "confirm")
    assert sent.headers["hx-redirect"] is None
    for method, path in (("GET", "/approvals"), ("POST", "/audit/verification")):
        answer = await client.api(method, path)
        assert (answer.status, answer.json()["code"]) == (401, "confirm")
    assert (await client.get(f"/events?key={client.csrf}")).status == 401
    (session,) = doubted.sessions.all()
    assert doubted.sessions.over(session) == "confirm"


async def test_the_issuer_says_again_who_may_be_here_and_as_what(
    doubted: Within, issuer: OidcIssuer
) -> None:
    client = await _client(doubted)
    (session,) = doubted.sessions.all()
    used = session.used
    doubted.ahead += 61
    answer = await _confirmed(client)
    assert (answer.status, csrf_in(answer.text)) == (200, "")
    assert "session" not in _cookies(answer)
    assert 'data-way="/audit?tool=x"' in answer.text
    assert session.used == used  # a browser does that by itself
    assert (await client.get("/audit")).status == 200
    assert (await client.api("POST", "/access/undo")).json()["code"] == "nothing"
    issuer.claims["roles"] = ["everybody"]
    doubted.ahead += 61
    assert (await _confirmed(client)).status == 200
    assert doubted.sessions.all() == [session]
    assert (await client.api("POST", "/access/undo")).json()["code"] == "role"


async def test_a_right_that_is_gone_ends_the_session(doubted: Within, issuer: OidcIssuer) -> None:
    client = await _client(doubted)
    issuer.claims["roles"] = []
    doubted.ahead += 61
    answer = await _confirmed(client)
    assert (answer.status, _cookies(answer).keys() & {"session"}) == (403, set())
    assert doubted.sessions.all() == []
    assert (await client.get("/audit")).headers["x-console"] == "not_signed_in"
    kinds = [one["event_type"] for one in doubted.parts.recent.newest(50, lambda _: True)]
    assert "dev.gatewright.console.session_ended" in kinds


@pytest.mark.parametrize("claims", [{"sub": "mallory"}, {"sub": "mallory", "roles": []}], ids=str)
async def test_what_the_issuer_says_of_somebody_else_ends_nothing(
    doubted: Within, issuer: OidcIssuer, claims: dict[str, Any]
) -> None:
    """Also where they have no role: the record does not say that of the person of the session."""
    client = await _client(doubted)
    issuer.claims |= claims
    doubted.ahead += 61
    answer = await _confirmed(client)
    assert (answer.status, "oidc:sub:mallory" in answer.text) == (200, True)
    (session,) = doubted.sessions.all()
    assert doubted.sessions.over(session) == "confirm"
    kinds = [one["event_type"] for one in doubted.parts.recent.newest(50, lambda _: True)]
    assert "dev.gatewright.console.session_ended" not in kinds


async def test_what_was_not_confirmed_goes_back_to_its_page_which_says_so(
    doubted: Within, issuer: OidcIssuer
) -> None:
    client = await _client(doubted)
    issuer.response = {"error": "login_required"}
    doubted.ahead += 61
    answer = await _confirmed(client)
    assert (answer.status, csrf_in(answer.text)) == (200, "")
    assert 'data-way="/audit?tool=x"' in answer.text
    assert "login_required" in answer.text.partition("data-unconfirmed=")[2].partition(">")[0]
    assert (await client.get("/audit")).headers["x-console"] == "confirm"
    issuer.response = {}
    answer = await _confirmed(client)  # later
    assert "data-unconfirmed" not in answer.text
    assert (await client.get("/audit")).status == 200


async def test_an_issuer_that_is_away_is_said_before_the_page_is_left(
    doubted: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was there within the hour."""
    client = await _client(doubted)
    doubted.ahead += 61

    async def away(_: Oidc) -> AuthServer:
        raise EgressFailed("it is away")

    monkeypatch.setattr(Oidc, "_fetched", away)
    answer = await _again(client)
    assert (answer.status, answer.json()["code"]) == (503, "issuer")
    assert len(doubted.sessions.all()) == 1


async def test_a_session_that_has_ended_meanwhile_is_not_confirmed(doubted: Within) -> None:
    client = await _client(doubted)
    begun = await _again(client)
    (session,) = doubted.sessions.all()
    doubted.sessions.end(session.id)
    answer = await _back(client, await user(begun.json()["url"]), _cookies(begun)["oidc"])
    assert (answer.status, "next=/audit%3Ftool%3Dx" in answer.text) == (403, True)


async def test_two_pages_may_be_at_the_issuer_at_once(doubted: Within) -> None:
    """Their cookies have names that follow from the state, of a bounded number; what comes back finds its own among them."""
    client = await _client(doubted)
    doubted.ahead += 61
    begun = [await _again(client) for _ in range(60)]
    cookies = [_cookies(one)["oidc"] for one in begun]
    jar = dict(one.split("=", 1) for one in cookies)  # the last of each name stays
    assert 2 <= len(jar) <= 16
    assert all("max-age=600" in (one.headers["set-cookie"] or "").lower() for one in begun)
    first = next(n for n, one in enumerate(cookies) if one.split("=", 1)[1] in jar.values())
    together = "; ".join(f"{name}={value}" for name, value in jar.items())
    for number in (first, len(begun) - 1):
        answer = await _back(client, await user(begun[number].json()["url"]), together)
        assert "data-unconfirmed" not in answer.text
        assert answer.status == 200, answer.text
        (gone,) = answer.headers.get_all("set-cookie") or []
        assert gone.partition("=")[0] == cookies[number].partition("=")[0]


async def test_who_is_led_to_the_callback_by_another_site_loses_no_sign_in(
    console: Within,
) -> None:
    client = console.nobody()
    url, cookie = await _begun(client)
    name, value = cookie.split("=", 1)
    every = "; ".join(f"{name[:-1]}{digit}={value}" for digit in "0123456789abcdef")
    for query in ("x=1", "state=", "state=x", "error=access_denied&state=y", "state=%ff&code=z"):
        answer = await _back(client, f"http://x/oidc/callback?{query}", every)
        assert (answer.status, answer.headers.get_all("set-cookie")) == (403, None)
    assert (await _back(client, await user(url), cookie)).status == 200


async def test_a_stolen_cookie_has_no_issuer_asked(doubted: Within) -> None:
    """A session is confirmed, or not, for its own pages alone."""
    client = await _client(doubted)
    for key in ("", "x"):
        answer = await _again(Client(doubted, client.cookie, key))
        assert (answer.status, answer.json()["code"]) == (403, "csrf")
        assert answer.headers["set-cookie"] is None
    assert (await _again(doubted.nobody())).status == 401
    begun = await Client(doubted, client.cookie).get("/oidc/begin?silent=1")
    assert "prompt" not in parse_qs(urlsplit(begun.headers["location"] or "").query)
