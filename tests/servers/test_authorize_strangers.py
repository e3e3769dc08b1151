"""What strangers say to somebody who wants to get in, many requests at once, and what stays secret."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.servers.authorize import DOUBT_S
from tests.servers.guarded import Clock, Make, Pair, never, request


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


@pytest.mark.parametrize("status", [302, 403, 404, 503])
async def test_an_answer_that_says_nothing_of_a_login_is_not_waited_out_for_ever(
    pair: Pair, make: Make, clock: Clock, status: int
) -> None:
    """After ten minutes a person is asked for; what they do counts at once, and so does an issuer that is well again."""
    server, issuer = pair
    await request(make(), server.url)
    issuer.tokens.clear()
    issuer.status = status
    auth = make(browser=None)
    for minutes in range(10):
        with pytest.raises(NotAuthorized, match=f"HTTP {status}; it is asked again later"):
            await request(auth, server.url)
        assert issuer.count("/token") == 2 + minutes
        clock.now += 60
    for _ in range(5):
        with pytest.raises(NotAuthorized, match=r"the login may be over; run: .*server login"):
            await request(auth, server.url)
        assert issuer.count("/token") == 12, "tried more rarely"
        clock.now += 60
    issuer.status = None
    clock.now += DOUBT_S
    assert await request(auth, server.url) == 200
    issuer.tokens.clear()
    issuer.status = status
    with pytest.raises(NotAuthorized, match="asked again later"):
        await request(auth, server.url)
    issuer.status = None
    await request(make(relogin=True), server.url)
    assert await request(auth, server.url) == 200, "a login is noticed, whatever failed before"


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
