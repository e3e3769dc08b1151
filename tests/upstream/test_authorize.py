"""Getting into a protected upstream, against servers that check what they are sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.protocol.oauth_client import Identity
from gatewright.stores.logins import Logins
from gatewright.upstream.authorize import Authorizer, Bearer, Browser, NotAuthorized, OAuth
from tests.upstream.guarded import AuthorizationServer, ProtectedServer, protected, serving, user

BACK = "http://127.0.0.1:8425/callback"
Pair = tuple[ProtectedServer, AuthorizationServer]
Make = Callable[..., OAuth]


class Clock:
    """Wall clock by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with protected() as both:
        yield both


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(pair: Pair, clock: Clock, tmp_path: Path) -> Make:
    def made(*, browser: Any = user, identity: Identity | None = None, **more: Any) -> OAuth:
        return OAuth(
            "files",
            pair[0].url,
            identity or Identity(),
            Logins(tmp_path),
            browser=Browser(browser, BACK) if browser is not None else None,
            clock=clock,
            **more,
        )

    return made


async def request(auth: Authorizer, url: str, need: str = "") -> int:
    """What a link does: ask, be refused, ask again."""
    turn = 0
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            used = await auth.authorization()
            headers = {"X-Need": need} | ({} if used is None else {"Authorization": used})
            async with session.post(url, headers=headers) as answer:
                challenges = answer.headers.getall("WWW-Authenticate", [])
                status = answer.status
            if not await auth.challenged(turn, status, challenges, used):
                return status
            turn += 1


async def never(url: str) -> str:
    raise AssertionError(f"nobody should have been asked: {url}")


# -- in


async def test_a_refused_request_is_repeated_with_a_token(pair: Pair, make: Make) -> None:
    server, issuer = pair
    assert await request(make(), server.url) == 200
    assert server.heard == [None, "Bearer token-3"]
    registered = issuer.asked("/register")
    assert registered["application_type"] == "native"
    asked = issuer.asked("/authorize")
    assert (asked["resource"], asked["scope"]) == (server.url, "basic")


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
async def test_every_way_of_client_authentication_gets_in(
    pair: Pair, make: Make, method: str
) -> None:
    pair[1].method = method
    assert await request(make(), pair[0].url) == 200


async def test_a_server_that_asks_for_nothing_is_told_nothing(pair: Pair, make: Make) -> None:
    auth = make(browser=never)
    assert await auth.authorization() is None
    assert not await auth.challenged(0, 200, [], None)
    assert not await auth.challenged(0, 404, ["Bearer"], None)
    assert not await auth.challenged(0, 403, ["Bearer"], None)
    assert not await auth.challenged(0, 403, ['Basic error="insufficient_scope"'], None)
    assert pair[1].heard == []


async def test_a_login_is_kept_and_needs_nobody_afterwards(pair: Pair, make: Make) -> None:
    await request(make(), pair[0].url)
    assert await request(make(browser=None), pair[0].url) == 200
    assert pair[1].count("/authorize") == 1


async def test_a_login_elsewhere_is_noticed_by_a_running_gateway(pair: Pair, make: Make) -> None:
    running = make(browser=None)
    with pytest.raises(NotAuthorized, match="gatewright server login files"):
        await request(running, pair[0].url)
    assert await request(make(), pair[0].url) == 200
    assert await request(running, pair[0].url) == 200


async def test_a_registration_is_used_again(pair: Pair, make: Make) -> None:
    await request(make(), pair[0].url)
    assert await request(make(relogin=True), pair[0].url) == 200
    assert (pair[1].count("/register"), pair[1].count("/authorize")) == (1, 2)


async def test_credentials_of_the_operator_need_no_registration(
    pair: Pair, make: Make, tmp_path: Path
) -> None:
    server, issuer = pair
    issuer.method = "client_secret_basic"
    issuer.clients["mine"] = "my secret"
    issuer.metadata["registration_endpoint"] = None
    ours = Identity("mine", "my secret", issuer.issuer)
    assert await request(make(identity=ours), server.url) == 200
    kept = [path.read_text() for path in (tmp_path / "logins").iterdir()]
    assert "my secret" not in "".join(kept)


async def test_a_bearer_of_the_operator_is_sent_and_a_refusal_says_whose_it_was(
    pair: Pair,
) -> None:
    pair[1].tokens["static"] = set()
    assert await request(Bearer("static"), pair[0].url) == 200
    with pytest.raises(NotAuthorized, match=r"\[servers.auth\] bearer"):
        await request(Bearer("wrong"), pair[0].url)


# -- staying in


async def test_a_token_that_ends_is_renewed_before_it_is_used(
    pair: Pair, make: Make, clock: Clock
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    auth = make(browser=None)
    clock.now += 3590
    assert await request(auth, server.url) == 200
    assert issuer.asked("/token")["grant_type"] == "refresh_token"
    assert server.heard[-1] == "Bearer token-4"
    clock.now += 60
    await request(auth, server.url)
    assert issuer.count("/token") == 2


async def test_a_token_that_the_server_forgot_is_renewed_after_the_refusal(
    pair: Pair, make: Make
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    assert await request(make(browser=None), server.url) == 200
    assert [form["grant_type"] for path, form in issuer.heard if path == "/token"] == [
        "authorization_code",
        "refresh_token",
    ]


async def test_a_refused_refresh_is_not_tried_again(pair: Pair, make: Make, clock: Clock) -> None:
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    issuer.refreshers.clear()
    auth = make(browser=None)
    for _ in range(3):
        clock.now += 10
        with pytest.raises(NotAuthorized, match="over; run: gatewright server login files"):
            await request(auth, server.url)
    assert issuer.count("/token") == 2


async def test_an_issuer_in_trouble_costs_no_login(pair: Pair, make: Make, clock: Clock) -> None:
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    issuer.status = 503
    auth = make(browser=None)
    for _ in range(3):
        with pytest.raises(NotAuthorized, match="HTTP 503"):
            await request(auth, server.url)
    assert issuer.count("/token") == 2, "a failure is believed for a while"
    issuer.status = None
    clock.now += 10
    assert await request(auth, server.url) == 200


async def test_an_old_token_is_still_shown_while_the_issuer_is_in_trouble(
    pair: Pair, make: Make, clock: Clock
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    issuer.status = 503
    clock.now += 3590
    assert await request(make(browser=None), server.url) == 200


# -- stepping up


async def test_a_step_up_asks_for_more_and_keeps_what_there_was(pair: Pair, make: Make) -> None:
    server, issuer = pair
    auth = make()
    await request(auth, server.url, "basic")
    assert await request(auth, server.url, "write") == 200
    assert issuer.asked("/authorize")["scope"] == "basic write"
    assert await request(auth, server.url, "basic") == 200
    assert issuer.count("/authorize") == 2


async def test_without_a_browser_a_step_up_is_remembered_for_the_next_login(
    pair: Pair, make: Make
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    with pytest.raises(NotAuthorized, match=r"\(write\); run: gatewright server login files"):
        await request(make(browser=None), server.url, "write")
    assert await request(make(relogin=True), server.url) == 200
    assert issuer.asked("/authorize")["scope"] == "basic write"
    assert await request(make(browser=None), server.url, "write") == 200


@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_refuses_for_ever_is_given_up(
    pair: Pair, make: Make, status: int
) -> None:
    server, issuer = pair
    server.refuses = status
    with pytest.raises(NotAuthorized, match="refuses the token made for it"):
        await request(make(), server.url)
    assert issuer.count("/authorize") == 1


async def test_a_server_that_wants_ever_more_is_given_up(pair: Pair, make: Make) -> None:
    server, issuer = pair
    auth = make()
    for turn in range(3):
        used = await auth.authorization()
        assert await auth.challenged(
            turn,
            403 if turn else 401,
            [f'Bearer error="insufficient_scope", scope="s{turn}"'],
            used,
        )
    with pytest.raises(NotAuthorized, match="4 times"):
        await auth.challenged(
            3, 403, ['Bearer error="insufficient_scope", scope="s3"'], await auth.authorization()
        )
    assert issuer.count("/authorize") == 3
    assert server.heard == []


async def test_a_refreshed_token_that_helps_nothing_leads_to_a_person(
    pair: Pair, make: Make
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    server.refuses = 401
    with pytest.raises(NotAuthorized, match="run: gatewright server login"):
        await request(make(browser=None), server.url)
    assert issuer.count("/token") == 2


# -- another issuer


async def test_a_new_issuer_gets_a_registration_of_its_own_and_nothing_of_the_old_one(
    pair: Pair, make: Make
) -> None:
    server, old = pair
    auth = make()
    await request(auth, server.url)
    heard = len(old.heard)
    new = AuthorizationServer()
    async with serving(new.app()) as origin:
        new.issuer = origin
        server.issuer = new
        assert await request(auth, server.url) == 200
    assert len(old.heard) == heard
    assert [path for path, _ in new.heard if not path.startswith("/.")] == [
        "/register",
        "/authorize",
        "/token",
    ]
    assert "token-3" not in str(new.heard)
    assert "refresh" not in str(new.heard[-1])


async def test_a_new_issuer_without_a_browser_is_a_new_login(pair: Pair, make: Make) -> None:
    server, old = pair
    await request(make(), server.url)
    tokens = old.count("/token")
    new = AuthorizationServer()
    async with serving(new.app()) as origin:
        new.issuer = origin
        server.issuer = new
        with pytest.raises(NotAuthorized, match="gatewright server login"):
            await request(make(browser=None), server.url)
    assert (new.count("/token"), old.count("/token")) == (0, tokens)


async def test_a_token_is_for_the_url_it_was_made_for(
    pair: Pair, make: Make, tmp_path: Path
) -> None:
    await request(make(), pair[0].url)
    moved = OAuth("files", "https://moved.example/mcp", Identity(), Logins(tmp_path))
    assert await moved.authorization() is None


# -- what strangers say


@pytest.mark.parametrize(
    ("published", "why"),
    [
        ({"resource": "https://evil.example.com/mcp"}, "evil.example.com"),
        ({"authorization_servers": ["http://169.254.169.254"]}, "only https"),
        ({"authorization_servers": []}, r"issuer in \[servers.auth\]"),
    ],
)
async def test_hostile_resource_metadata_asks_nobody(
    pair: Pair, make: Make, published: dict[str, Any], why: str
) -> None:
    pair[0].published = published
    with pytest.raises(NotAuthorized, match=why):
        await request(make(browser=never), pair[0].url)
    assert pair[1].heard == []


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://evil.example"}, "evil.example"),
        ({"code_challenge_methods_supported": ["plain"]}, "S256"),
        ({"token_endpoint": "http://10.0.0.1/token"}, "only https"),
        ({"registration_endpoint": None}, "client_id"),
        ({"padding": "x" * 300_000}, "262144 bytes"),
    ],
)
async def test_hostile_issuer_metadata_asks_nobody(
    pair: Pair, make: Make, metadata: dict[str, Any], why: str
) -> None:
    pair[1].metadata = metadata
    with pytest.raises(NotAuthorized, match=why):
        await request(make(browser=never), pair[0].url)
    assert {path for path, _ in pair[1].heard} == {"/.well-known/oauth-authorization-server"}


@pytest.mark.parametrize(
    ("metadata", "response"),
    [
        ({"authorization_response_iss_parameter_supported": True}, {}),
        ({}, {"iss": "https://evil.example"}),
        ({}, {"state": "another"}),
        ({}, {"error": "access_denied"}),
    ],
)
async def test_a_response_that_fails_a_check_is_not_exchanged(
    pair: Pair, make: Make, metadata: dict[str, Any], response: dict[str, str]
) -> None:
    pair[1].metadata, pair[1].response = metadata, response
    with pytest.raises(NotAuthorized):
        await request(make(), pair[0].url)
    assert (pair[1].count("/authorize"), pair[1].count("/token")) == (1, 0)


async def test_a_response_that_names_the_issuer_is_exchanged(pair: Pair, make: Make) -> None:
    server, issuer = pair
    issuer.metadata = {"authorization_response_iss_parameter_supported": True}
    issuer.response = {"iss": issuer.issuer}
    assert await request(make(), server.url) == 200


async def test_an_issuer_that_is_not_there_is_named(pair: Pair, make: Make) -> None:
    pair[0].published = {"authorization_servers": ["http://127.0.0.1:9"]}
    with pytest.raises(NotAuthorized, match=r"127\.0\.0\.1 cannot be asked"):
        await request(make(), pair[0].url)


# -- many at once


async def test_many_refused_requests_make_one_login(pair: Pair, make: Make) -> None:
    server, issuer = pair
    auth = make()
    found = await asyncio.gather(*(request(auth, server.url) for _ in range(20)))
    assert found == [200] * 20
    assert (issuer.count("/register"), issuer.count("/authorize")) == (1, 1)


async def test_many_requests_with_an_ended_token_make_one_refresh(
    pair: Pair, make: Make, clock: Clock
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    clock.now += 3600
    issuer.tokens.clear()
    auth = make(browser=None)
    assert await asyncio.gather(*(request(auth, server.url) for _ in range(20))) == [200] * 20
    assert issuer.count("/token") == 2


async def test_many_refused_requests_share_one_failure(pair: Pair, make: Make) -> None:
    server, issuer = pair
    issuer.metadata = {"issuer": "https://evil.example"}
    auth = make()
    found = await asyncio.gather(
        *(request(auth, server.url) for _ in range(10)), return_exceptions=True
    )
    assert {type(one) for one in found} == {NotAuthorized}
    assert issuer.count("/.well-known/oauth-authorization-server") == 1


# -- what stays secret


async def test_no_log_line_has_a_token_or_a_code(
    pair: Pair, make: Make, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    caplog.set_level(logging.DEBUG)
    server, issuer = pair
    await request(make(), server.url)
    clock.now += 3600
    await request(make(browser=None), server.url)
    said = [record.getMessage() for record in caplog.records if "gatewright" in record.name]
    assert any("logged in" in line for line in said)
    secrets = [*issuer.tokens, *issuer.refreshers, "code-", "refresh-"]
    assert not [line for line in said if any(one in line for one in secrets)]


async def test_what_is_kept_is_for_the_owner_alone(pair: Pair, make: Make, tmp_path: Path) -> None:
    await request(make(), pair[0].url)
    folder = tmp_path / "logins"
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {0o600}
    assert len(list(folder.iterdir())) == 2


async def test_a_bearer_challenge_is_found_among_others_and_nothing_else_is_one(
    pair: Pair, make: Make
) -> None:
    auth = make(browser=None)
    with pytest.raises(NotAuthorized, match="login"):
        await auth.challenged(0, 401, ["Basic realm=x", "bearer"], None)
    assert not await auth.challenged(0, 401, ["Basic realm=x"], None)
    assert pair[1].heard == []
