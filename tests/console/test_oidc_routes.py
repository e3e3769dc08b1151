"""Where sign-in by OpenID Connect is served, and where it is not; the issuer's word while a session lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from gatewright.console import sealed_handles
from gatewright.console.oidc import Oidc
from gatewright.oauth.documents import AuthServer
from gatewright.transport.safe_fetch import EgressFailed
from tests.console.in_process import Client, Within, newest, within
from tests.console.oidc_issuer import OidcIssuer, configured, oidc_issuer
from tests.console.oidc_parts import begun, came_back, cookies, signed_in
from tests.console.raw import Answer, csrf_in
from tests.servers.guarded import user


@pytest_asyncio.fixture
async def issuer() -> AsyncIterator[OidcIssuer]:
    """Somebody who knows people."""
    async with oidc_issuer() as found:
        yield found


@pytest_asyncio.fixture
async def doubted(issuer: OidcIssuer, tmp_path: Path) -> AsyncIterator[Within]:
    """A console that believes the issuer for a minute."""
    text = configured(issuer.issuer).replace("client_id", "confirm_minutes = 1\nclient_id", 1)
    async with within(tmp_path, text) as found:
        yield found


async def _client(console: Within) -> Client:
    answer = await signed_in(console)
    return Client(console, cookies(answer)["session"], csrf_in(answer.text))


async def _again(client: Client, **headers: str | None) -> Answer:
    return await client.ask("POST", "/oidc/again?next=/audit%3Ftool%3Dx", headers=headers)


async def _confirmed(client: Client) -> Answer:
    """What a browser does whose page is told so."""
    told = await client.get("/audit?tool=x")
    assert (told.status, told.headers["x-console"]) == (401, "confirm")
    started = await _again(client)
    assert started.status == 200, started.text
    url = started.json()["url"]
    assert parse_qs(urlsplit(url).query)["prompt"] == ["none"]
    return await came_back(client, await user(url), cookies(started)["oidc"])


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
    assert "session" not in cookies(answer)
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
    assert (answer.status, cookies(answer).keys() & {"session"}) == (403, set())
    assert doubted.sessions.all() == []
    assert (await client.get("/audit")).headers["x-console"] == "not_signed_in"
    kinds = [one["event_type"] for one in newest(doubted)]
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
    kinds = [one["event_type"] for one in newest(doubted)]
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
    started = await _again(client)
    (session,) = doubted.sessions.all()
    doubted.sessions.end(session.id)
    answer = await came_back(client, await user(started.json()["url"]), cookies(started)["oidc"])
    assert (answer.status, "next=/audit%3Ftool%3Dx" in answer.text) == (403, True)


async def test_two_pages_may_be_at_the_issuer_at_once(doubted: Within) -> None:
    """Their kept have names that follow from the state, of a bounded number; what comes back finds its own among them."""
    client = await _client(doubted)
    doubted.ahead += 61
    started = [await _again(client) for _ in range(60)]
    kept = [cookies(one)["oidc"] for one in started]
    jar = dict(one.split("=", 1) for one in kept)  # the last of each name stays
    assert 2 <= len(jar) <= 4
    assert sum(map(len, kept[:4])) < 8_000
    assert all("max-age=600" in (one.headers["set-cookie"] or "").lower() for one in started)
    first = next(n for n, one in enumerate(kept) if one.split("=", 1)[1] in jar.values())
    together = "; ".join(f"{name}={value}" for name, value in jar.items())
    for number in (first, len(started) - 1):
        answer = await came_back(client, await user(started[number].json()["url"]), together)
        assert "data-unconfirmed" not in answer.text
        assert answer.status == 200, answer.text
        (gone,) = answer.headers.get_all("set-cookie") or []
        assert gone.partition("=")[0] == kept[number].partition("=")[0]


async def test_who_is_led_to_the_callback_by_another_site_loses_no_sign_in(
    doubted: Within,
) -> None:
    client = doubted.nobody()
    url, cookie = await begun(client)
    name, value = cookie.split("=", 1)
    every = "; ".join(f"{name[:-1]}{digit}={value}" for digit in "0123")
    for query in ("x=1", "state=", "state=x", "error=access_denied&state=y", "state=%ff&code=z"):
        answer = await came_back(client, f"http://x/oidc/callback?{query}", every)
        assert (answer.status, answer.headers.get_all("set-cookie")) == (403, None)
    assert (await came_back(client, await user(url), cookie)).status == 200


async def test_a_stolen_cookie_has_no_issuer_asked(doubted: Within) -> None:
    """A session is confirmed, or not, for its own pages alone."""
    client = await _client(doubted)
    for key in ("", "x"):
        answer = await _again(Client(doubted, client.cookie, key))
        assert (answer.status, answer.json()["code"]) == (403, "csrf")
        assert answer.headers["set-cookie"] is None
    assert (await _again(doubted.nobody())).status == 401
    started = await Client(doubted, client.cookie).get("/oidc/begin?silent=1")
    assert "prompt" not in parse_qs(urlsplit(started.headers["location"] or "").query)


async def test_a_session_is_confirmed_however_many_sign_in(
    doubted: Within, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where as many have signed in as are remembered, and others wait for the issuer."""
    monkeypatch.setattr(sealed_handles, "_USED", 3)
    client = await _client(doubted)
    for _ in range(2):
        assert (await signed_in(doubted)).status == 200
    assert (await doubted.nobody().get("/oidc/begin")).status == 303
    url, cookie = await begun(doubted.nobody())
    assert (await came_back(doubted.nobody(), await user(url), cookie)).status == 403
    doubted.ahead += 61
    assert "data-unconfirmed" not in (await _confirmed(client)).text
    assert (await client.get("/audit")).status == 200


# -- anybody


async def test_the_way_on_is_a_path_of_the_console_whatever_was_asked(tmp_path: Path) -> None:
    async with oidc_issuer() as issuer, within(tmp_path, configured(issuer.issuer)) as console:
        nobody = console.nobody()
        for way in ("/audit", "//elsewhere.example", "https://elsewhere.example", ""):
            answer = await nobody.get(f"/oidc/begin?next={way}")
            location = answer.headers["location"] or ""
            assert location.startswith(f"{issuer.issuer}/authorize?")
            assert "elsewhere" not in location
        page = (await nobody.get("/sign-in?next=/audit")).text
        assert 'href="/oidc/begin?next=/audit"' in page
        foreign = {"Origin": "http://elsewhere.example"}
        assert (await nobody.get("/oidc/begin", foreign)).status == 403
