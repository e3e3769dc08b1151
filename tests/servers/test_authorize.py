"""Getting into a protected upstream and staying in, against servers that check what they are sent."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.oauth.client import Identity
from gatewright.oauth.documents import Challenge
from gatewright.secret_scanning import HELD
from gatewright.secret_scanning.exact import LEAST
from gatewright.servers.authorize import Bearer, OAuth, authorizer_for
from gatewright.servers.login_store import Kept, Logins
from gatewright.servers.spec import Auth, ServerSpec
from tests.servers.guarded import AuthorizationServer, Clock, Make, Pair, never, request, serving

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


async def test_a_logout_elsewhere_is_noticed_within_a_second(
    pair: Pair, make: Make, clock: Clock, tmp_path: Path
) -> None:
    await request(make(), pair[0].url)
    running = make(browser=None)
    assert await running.authorization() is not None
    assert Logins(tmp_path).forget("files")
    clock.now += 1
    assert await running.authorization() is None


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


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ServerSpec(id="a", url="https://h.example", transport="http"), OAuth),
        (ServerSpec(id="a", url="https://h.example", transport="sse"), OAuth),
        (ServerSpec(id="a", transport="http", auth=Auth("bearer", bearer="x")), Bearer),
        (ServerSpec(id="a", transport="http", auth=Auth("none")), type(None)),
        (ServerSpec(id="a", command="x"), type(None)),
    ],
)
def test_the_configuration_says_who_is_asked(
    spec: ServerSpec, expected: type, tmp_path: Path
) -> None:
    assert type(authorizer_for(spec, Logins(tmp_path))) is expected


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


async def test_a_login_that_two_processes_renew_at_once_is_kept(pair: Pair, make: Make) -> None:
    """As the gateway and `doctor` beside it: a refresh token is good once, and who comes second has the grant of the first."""
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    one, other = make(browser=None), make(browser=None)
    asked = (request(one, server.url), request(other, server.url))
    assert [*await asyncio.gather(*asked)] == [200, 200]
    assert [form["grant_type"] for path, form in issuer.heard if path == "/token"][1:] == [
        "refresh_token",
        "refresh_token",
    ], "the two did not meet"
    issuer.tokens.clear()
    assert await request(make(browser=None), server.url) == 200


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


@pytest.mark.parametrize("status", [302, 403, 404])
async def test_somebody_else_s_answer_costs_no_login(
    pair: Pair, make: Make, clock: Clock, status: int
) -> None:
    """A captive portal, a firewall, an endpoint that moves: the refresh token is tried again, and not thrown away."""
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    issuer.status = status
    auth = make(browser=None)
    with pytest.raises(NotAuthorized, match=f"HTTP {status}; it is asked again later"):
        await request(auth, server.url)
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


async def test_tokens_are_known_as_secrets_from_when_they_are_had_until_long_after(
    pair: Pair, make: Make, clock: Clock
) -> None:
    """Whoever says one back: the server in a result, the issuer in an error."""
    server, issuer = pair
    issuer.method = "client_secret_basic"
    await request(make(), server.url)
    old = {*issuer.tokens, *issuer.refreshers, *issuer.clients.values()}
    assert {one for one in old if len(one) >= LEAST} <= {*HELD.values}
    clock.now += 3600
    issuer.tokens.clear()
    assert await request(make(browser=None), server.url) == 200
    both = old | {*issuer.tokens, *issuer.refreshers}
    assert {one for one in both if len(one) >= LEAST} <= {*HELD.values}
    HELD.clear()
    assert await request(make(browser=None), server.url) == 200  # what an earlier process kept
    assert {*issuer.refreshers} <= {*HELD.values}


async def test_a_token_that_is_a_word_of_the_protocol_is_taken_out_of_nothing(
    pair: Pair, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, issuer = pair
    monkeypatch.setattr(
        issuer,
        "_give",
        lambda *_: web.json_response(
            {
                "access_token": "structuredContent",
                "refresh_token": "inputSchema",
                "token_type": "Bearer",
            }
        ),
    )
    issuer.tokens["structuredContent"] = set()
    assert await request(make(), server.url) == 200
    assert not {"structuredContent", "inputSchema"} & {*HELD.values}


async def test_an_error_that_repeats_a_token_is_told_without_it(pair: Pair, make: Make) -> None:
    server, issuer = pair
    await request(make(), server.url)
    (refresh,) = issuer.refreshers
    issuer.status, issuer.said = 400, {"error": "bad", "error_description": f"not {refresh}!"}
    with pytest.raises(NotAuthorized, match="own-secret") as caught:
        await request(make(relogin=True), server.url)
    assert refresh not in str(caught.value)


async def test_more_scopes_than_are_remembered_are_not_written_down_with_each_request(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may ask for others with each call."""
    auth, written = make(), []
    save = auth._save

    def counted(kept: Kept) -> None:
        written.append(len(kept.wanted))
        save(kept)

    monkeypatch.setattr(auth, "_save", counted)
    many = tuple(f"scope{number}" for number in range(1000))
    for _ in range(2):
        auth._want(Challenge(scopes=many))
    for number in range(20):
        auth._want(Challenge(scopes=(f"other{number}",)))
    assert len(written) == 1
    assert auth._load().wanted == many[: written[0]]
