"""A person logs in ahead of the calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.link import ServerFailed
from gatewright.servers.authorize import Browser
from gatewright.servers.login import log_in
from gatewright.servers.login_store import Logins
from gatewright.servers.spec import ServerSpec
from tests.servers.guarded import BACK, Make, Pair, never, request, user
from tests.servers.rig import INFO, within


def spec(url: str) -> ServerSpec:
    return ServerSpec(id="files", transport="http", url=url)


async def test_a_login_is_kept_for_the_gateway(pair: Pair, make: Make, tmp_path: Path) -> None:
    server, issuer = pair
    logins = Logins(tmp_path)
    grant = await within(log_in(spec(server.url), INFO, logins, Browser(user, BACK)))
    assert grant == logins.load("files", server.url).grant
    assert (grant.client.issuer, grant.scopes) == (issuer.issuer, ("basic",))
    assert await request(make(browser=None), server.url) == 200
    assert issuer.count("/authorize") == 1


async def test_a_login_is_made_although_there_is_one(pair: Pair, tmp_path: Path) -> None:
    server, issuer = pair
    for _ in range(2):
        await within(log_in(spec(server.url), INFO, Logins(tmp_path), Browser(user, BACK)))
    assert issuer.count("/authorize") == 2
    heard = ["Bearer token-3"] * 2 + ["Bearer token-5"] * 2
    assert [one for one in server.heard if one] == heard


async def test_a_server_that_is_open_until_its_tools_are_asked_for_gets_its_login(
    pair: Pair, tmp_path: Path
) -> None:
    pair[0].open_methods = {"server/discover"}
    await within(log_in(spec(pair[0].url), INFO, Logins(tmp_path), Browser(user, BACK)))
    assert pair[1].count("/authorize") == 1


async def test_a_server_that_refuses_nothing_is_asked_what_it_publishes(
    pair: Pair, tmp_path: Path
) -> None:
    pair[0].open_methods = {"server/discover", "tools/list"}
    grant = await within(log_in(spec(pair[0].url), INFO, Logins(tmp_path), Browser(user, BACK)))
    assert grant.scopes == ()


async def test_a_server_without_authorization_says_so(pair: Pair, tmp_path: Path) -> None:
    pair[0].open_methods = {"server/discover", "tools/list"}
    pair[0].published = {"authorization_servers": []}
    with pytest.raises(NotAuthorized, match="asks for no login"):
        await within(log_in(spec(pair[0].url), INFO, Logins(tmp_path), Browser(never, BACK)))


async def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match=r"127\.0\.0\.1:9"):
        await within(
            log_in(spec("http://127.0.0.1:9/mcp"), INFO, Logins(tmp_path), Browser(never, BACK))
        )


async def test_a_login_counts_although_the_server_has_no_tools_to_show(
    pair: Pair, tmp_path: Path
) -> None:
    pair[0].needs = {"tools/list": {"more"}}
    pair[1].metadata = {}
    grant = await within(log_in(spec(pair[0].url), INFO, Logins(tmp_path), Browser(user, BACK)))
    assert set(grant.scopes) == {"basic", "more"}


async def test_a_refused_login_leaves_what_there_was(pair: Pair, tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    before = await within(log_in(spec(pair[0].url), INFO, logins, Browser(user, BACK)))
    pair[1].response = {"error": "access_denied"}
    with pytest.raises(NotAuthorized, match="access_denied"):
        await within(log_in(spec(pair[0].url), INFO, logins, Browser(user, BACK)))
    assert logins.load("files", pair[0].url).grant == before
