"""Protected servers behind the gateway: what is said before a login, and what works after it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from gatewright.call import ANONYMOUS, Call, Failure, Target
from gatewright.servers.authorize import authorizer_for
from gatewright.servers.login_store import Logins
from gatewright.servers.spec import Auth, Restart, ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.guarded import Make, Pair, request
from tests.servers.rig import FakeBack, ask, dispatch, make_call, running, text, within

COMMAND = "gatewright server login files"


def gateway(
    url: str, folder: Path, auth: Auth | None = None
) -> AbstractAsyncContextManager[Supervisor]:
    spec = ServerSpec(
        id="files",
        transport="http",
        url=url,
        auth=auth or Auth(),
        restart=Restart(first_s=0.01, most_s=0.05),
        restart_wait_s=20.0,
    )
    found = authorizer_for(spec, Logins(folder))
    assert found is not None
    return running(spec, authorizers={"files": found})


def knock() -> Call:
    """A call of the tool, as it is when the catalogue does not show it."""
    return make_call("tool", "tools/call", {"name": "knock"}, target=Target("files", "knock"))


async def test_a_server_nobody_has_logged_in_at_is_not_ready_and_says_what_to_type(
    pair: Pair, tmp_path: Path
) -> None:
    async with gateway(pair[0].url, tmp_path) as supervisor:
        (status,) = supervisor.status()
        assert status.state != "connected"
        assert COMMAND in status.reason
        outcome = await within(dispatch(supervisor)(knock(), FakeBack()))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_unavailable"
        assert f"server files is down: a login is wanted; run: {COMMAND}" in outcome.message
    assert pair[1].heard == [], "without a browser there is nothing to ask the issuer"


async def test_a_login_elsewhere_brings_the_server_up(
    pair: Pair, make: Make, tmp_path: Path
) -> None:
    server, _ = pair
    async with gateway(server.url, tmp_path) as supervisor:
        assert supervisor.states["files"] != "connected"
        listed = asyncio.Event()
        supervisor.watch(ANONYMOUS, "", lambda *_: listed.set())
        assert await request(make(), server.url) == 200
        await within(listed.wait())
        assert text(await ask(supervisor, "files/knock")) == "in"
    assert server.heard[-1] == "Bearer token-3"


async def test_a_server_that_is_open_until_its_tools_are_asked_for_is_not_ready_either(
    pair: Pair, tmp_path: Path
) -> None:
    pair[0].open_methods = {"server/discover"}
    async with gateway(pair[0].url, tmp_path) as supervisor:
        (status,) = supervisor.status()
        assert status.state != "connected"
        assert COMMAND in status.reason


async def test_a_login_that_ends_while_connected_is_named_by_the_call_and_by_the_state(
    pair: Pair, make: Make, tmp_path: Path
) -> None:
    server, issuer = pair
    issuer.gives_refresh = False
    await request(make(), server.url)
    async with gateway(server.url, tmp_path) as supervisor:
        assert text(await ask(supervisor, "files/knock")) == "in"
        issuer.tokens.clear()
        outcome = await ask(supervisor, "files/knock")
        assert isinstance(outcome, Failure)
        assert outcome.message == f"the login is over; run: {COMMAND}"
        again = await ask(supervisor, "files/knock")
        assert isinstance(again, Failure)
        assert COMMAND in again.message
        assert COMMAND in supervisor.status()[0].reason


async def test_a_tool_that_needs_more_fails_alone(pair: Pair, make: Make, tmp_path: Path) -> None:
    server, issuer = pair
    await request(make(), server.url)
    server.needs = {"tools/call": {"write"}}
    async with gateway(server.url, tmp_path) as supervisor:
        outcome = await ask(supervisor, "files/knock")
        assert isinstance(outcome, Failure)
        assert outcome.message == f"more is wanted than was granted (write); run: {COMMAND}"
        assert supervisor.states["files"] == "connected"
        await request(make(relogin=True), server.url)
        assert text(await ask(supervisor, "files/knock")) == "in"
    assert issuer.asked("/authorize")["scope"] == "basic write"


async def test_a_token_that_ends_is_renewed_in_the_middle_of_a_call(
    pair: Pair, make: Make, tmp_path: Path
) -> None:
    server, issuer = pair
    await request(make(), server.url)
    async with gateway(server.url, tmp_path) as supervisor:
        issuer.tokens.clear()
        assert text(await ask(supervisor, "files/knock")) == "in"
        assert supervisor.states["files"] == "connected"
    assert issuer.asked("/token")["grant_type"] == "refresh_token"


@pytest.mark.parametrize("good", [True, False])
async def test_a_bearer_of_the_configuration_is_what_it_is(
    pair: Pair, tmp_path: Path, good: bool
) -> None:
    pair[1].tokens["static"] = set()
    auth = Auth("bearer", bearer="static" if good else "wrong")
    async with gateway(pair[0].url, tmp_path, auth) as supervisor:
        (status,) = supervisor.status()
        assert (status.state == "connected") is good
        if not good:
            assert "[servers.auth] bearer" in status.reason
        else:
            assert text(await ask(supervisor, "files/knock")) == "in"
    assert "wrong" not in status.reason
