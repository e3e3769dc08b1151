"""How soon what an issuer takes back is felt: by the next request of a session, by a call that runs, by who listens."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.voting import Voting
from tests.behaviour.access_house import KEYED
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.identity.issuing import CLIENT, Issuing, elsewhere
from tests.storage.parts import state_in

SOON_S = 8.0
"""Far less than the defaults, and more than any bound here, on a machine that has other things to do."""
MGP = {"mgp": {"version": "0.2.0", "extensions": ["audit"]}}
DOORS_OF_KEYS = ("http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25")
CALL = {"name": "echo__echo", "arguments": {"message": "m"}}
AUDIT = {"notifications": {"dev.cloto/audit": True}}


class Bounded:
    """A gateway that takes tokens of two issuers: one is asked about each, one signs."""

    def __init__(self, gateway: Gateway, asked: Issuing, corp: Issuing) -> None:
        self.gateway, self.asked, self.corp = gateway, asked, corp
        self.base = gateway.url.removesuffix("/mcp")

    @asynccontextmanager
    async def host(self, door: str, token: str, **more: Any) -> AsyncIterator[Host]:
        """A host with a token."""
        headers = {"authorization": f"Bearer {token}"}
        async with host(self.gateway, door, headers=headers, **more) as client:
            yield client

    def opaque(self) -> str:
        """A token that only its issuer can judge."""
        return self.asked.opaque(self.base)

    def signed(self, **claims: Any) -> str:
        """A token that is good by its signature."""
        return self.corp.sign(self.base, **claims)


@contextmanager
def _bounded(folder: Path, recheck: float, age: float) -> Iterator[Bounded]:
    (folder / "asked.secret").write_text(CLIENT[1])
    with ExitStack() as stack:
        asked, corp = (stack.enter_context(elsewhere()) for _ in range(2))
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port: int = found.getsockname()[1]
        issuers = [
            {
                "name": "asked",
                "issuer": asked.issuer,
                "client_id": CLIENT[0],
                "client_secret": "${file:asked.secret}",
                "recheck_s": recheck,
            },
            {"name": "corp", "issuer": corp.issuer, "keys_max_age_s": age},
        ]
        content = config(
            server("echo"),
            server("asker"),
            oauth={"resource": f"http://127.0.0.1:{port}", "issuers": issuers},
            gateway={"anonymous": "deny"},
        )
        gateway = stack.enter_context(running(folder, content, "--port", str(port)))
        yield Bounded(gateway, asked, corp)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bounded]:
    """Issuers are asked each time; keys are a second old at most."""
    with _bounded(tmp_path_factory.mktemp("strict"), 0, 1) as found:
        yield found


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bounded]:
    """What issuers say is believed for a second; so are keys."""
    with _bounded(tmp_path_factory.mktemp("short"), 1, 1) as found:
        yield found


async def _echo(client: Host) -> str | None:
    """Why a call is refused; None where it is not."""
    try:
        await client.text("echo__echo", message="m")
    except (RpcError, ConnectionError) as problem:
        return _why(problem)
    return None


def _why(problem: Exception) -> str:
    if isinstance(problem, RpcError):
        return str(problem.data["reason"])
    return str(problem) if str(problem).startswith("HTTP") else "closed"


async def _refusal(client: Host) -> str:
    """Why calls are refused from some moment on, which has to come soon."""
    async with asyncio.timeout(SOON_S):
        while (reason := await _echo(client)) is None:
            continue
    return reason


@pytest.mark.parametrize("door", KEYED)
async def test_what_its_issuer_took_back_opens_nothing_from_then_on(
    strict: Bounded, door: str
) -> None:
    """`recheck_s = 0`: the very next request of the session is refused."""
    token = strict.opaque()
    async with strict.host(door, token) as client:
        assert await _echo(client) is None
        strict.asked.revoked.add(token)
        assert await _echo(client) is not None


@pytest.mark.parametrize("door", DOORS_OF_KEYS)
@pytest.mark.parametrize("kind", ["opaque", "signed"])
async def test_a_session_ends_no_later_than_is_said(short: Bounded, door: str, kind: str) -> None:
    """A token that is revoked, and one whose key is withdrawn."""
    token = short.opaque() if kind == "opaque" else short.signed()
    async with short.host(door, token) as client:
        for _ in range(5):
            assert await _echo(client) is None
        _taken_back(short, token)
        assert await _refusal(client) in ("auth_failed", "HTTP 401", "closed")


@pytest.mark.parametrize("door", DOORS_OF_KEYS)
@pytest.mark.parametrize("kind", ["opaque", "signed"])
async def test_a_call_that_runs_ends_no_later_than_is_said(
    short: Bounded, door: str, kind: str
) -> None:
    """Nobody shows the token again while it runs, so the gateway asks by itself."""
    token = short.opaque() if kind == "opaque" else short.signed()
    async with short.host(door, token) as client:
        ident = await _slow(client)
        _taken_back(short, token)
        async with asyncio.timeout(SOON_S):
            with pytest.raises(RpcError) as caught:
                await client.finish(ident)
        assert caught.value.data["reason"] == "auth_failed"
        assert "ended while it ran" in caught.value.message
    (record,) = [
        one
        for one in short.gateway.audit("--tool", "slow")
        if one["details"].get("ended_while_running") and one["trace_id"] == f"slow {token[-8:]}"
    ]
    assert record["event_type"] == "TOOL_BLOCKED"


async def _slow(client: Host, seconds: float = 60) -> Any:
    """A call that runs for a while; its id, once it runs."""
    token = client.headers["authorization"]
    arguments = {"seconds": seconds}
    params = {"name": "asker__slow", "arguments": arguments, "trace_id": f"slow {token[-8:]}"}
    ident = await client.start("tools/call", {**params, "_meta": {"progressToken": 1}})
    await client.note("notifications/progress")
    return ident


def _taken_back(house: Bounded, token: str) -> None:
    if token.startswith("opaque"):
        house.asked.revoked.add(token)
    else:
        house.corp.rotate(keep=False)


async def test_calls_go_on_while_their_tokens_are_good(short: Bounded) -> None:
    """Longer than anything is believed: with a token that is asked about, one that is signed, and one of each kind that comes to
    its end meanwhile, whose owner could not show the next one in the middle of a call."""
    # Eight seconds more, for one of them with the leeway: enough to connect four hosts on a busy machine, and less than a call.
    ending, inactive = short.signed(exp=time.time() - 30 + 8), short.opaque()
    short.asked.ends[inactive] = time.time() + 8
    tokens = (short.opaque(), short.signed(), ending, inactive)
    before = short.asked.count("/introspect")
    async with (
        short.host("http 2025-11-25", tokens[0]) as one,
        short.host("http 2026-07-28", tokens[1]) as two,
        short.host("websocket 2025-11-25", tokens[2]) as three,
        short.host("http 2025-11-25", tokens[3]) as four,
    ):
        hosts = (one, two, three, four)
        idents = [await _slow(client, 10) for client in hosts]
        for client, ident in zip(hosts, idents, strict=True):
            assert (await client.finish(ident))["content"][0]["text"] == "awake"
        for client in (three, four):
            assert await _echo(client) in ("auth_expired", "HTTP 401", "closed")
    assert short.asked.count("/introspect") > before + 3


async def test_another_bound_takes_hold_while_calls_run(short: Bounded) -> None:
    """A reload of `[[oauth.issuers]]` ends no call whose token is good, and keeps none whose token is not."""
    tokens = (short.opaque(), short.opaque())
    before = short.gateway.file.read_text()
    assert '"recheck_s" = 1\n' in before
    async with (
        short.host("http 2025-11-25", tokens[0]) as good,
        short.host("http 2025-11-25", tokens[1]) as gone,
    ):
        idents = [await _slow(good, 5), await _slow(gone)]
        try:
            await asyncio.to_thread(
                short.gateway.reload, before.replace('"recheck_s" = 1\n', '"recheck_s" = 0.5\n')
            )
            short.asked.revoked.add(tokens[1])
            async with asyncio.timeout(SOON_S):
                with pytest.raises(RpcError) as caught:
                    await gone.finish(idents[1])
            assert caught.value.data["reason"] == "auth_failed"
            assert (await good.finish(idents[0]))["content"][0]["text"] == "awake"
        finally:
            await asyncio.to_thread(short.gateway.reload, before)


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "sse 2025-11-25"])
async def test_a_session_hears_nothing_more(short: Bounded, door: str) -> None:
    """MGP-6.3-1: what is told without being asked for is told to nobody whose token is good no more, and the connection
    on which it would be told ends."""
    token, other = short.opaque(), short.opaque()
    async with (
        short.host(door, token, can=MGP) as client,
        short.host("websocket 2025-11-25", other, can=MGP) as same,
    ):
        assert await _echo(same) is None
        await client.note("notifications/mgp.audit")
        short.asked.revoked.add(token)
        silent = 0
        async with asyncio.timeout(SOON_S):
            while silent < 5:
                client.notes.clear()
                same.notes.clear()
                assert await _echo(same) is None
                await same.note("notifications/mgp.audit")
                silent = 0 if client.notes else silent + 1
        await asyncio.wait_for(client.gone.wait(), SOON_S)


@pytest.mark.parametrize("door", DOORS_OF_KEYS)
async def test_nobody_agrees_to_a_call_whose_caller_is_gone(tmp_path: Path, door: str) -> None:
    """A key that is revoked while an operator thinks: what they then agree to is not done."""
    content = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        approvals={"approver": "operator", "hold_s": 60},
        gateway={"anonymous": "deny"},
    )
    with running(tmp_path, content) as gateway:
        ours = ("--key", gateway.operator_token)
        key = json.loads(gateway.cli("key", "create", "ann", "--json", *ours))
        headers = {"authorization": f"Bearer {key['key']}"}
        async with host(gateway, door, headers=headers) as client:
            ident = await client.start("tools/call", CALL)
            one = await asyncio.to_thread(_waiting, gateway)
            gateway.cli("key", "revoke", key["id"], *ours)
            gateway.cli("approve", one, *ours)
            async with asyncio.timeout(SOON_S):
                with pytest.raises((RpcError, ConnectionError)) as caught:
                    await client.finish(ident)
            assert _why(caught.value) in ("auth_failed", "closed")
        assert gateway.audit("--event", "TOOL_EXECUTED") == []


def _waiting(gateway: Gateway) -> str:
    """The id of the request that waits, once there is one."""
    made = Voting(state_in(gateway.folder / "state"), clock=time.time, random=os.urandom)
    try:
        end = time.monotonic() + SOON_S
        while not (found := made.waiting()):
            assert time.monotonic() < end, "nothing waits"
            time.sleep(0.02)
        return str(found[0].id)
    finally:
        made.close()


@pytest.mark.parametrize("door", ["http 2026-07-28", "websocket 2026-07-28"])
async def test_who_listens_hears_nothing_more(short: Bounded, door: str) -> None:
    """MGP-6.3-1: the subscription ends with its token, and says why."""
    token = short.opaque()
    other = short.opaque()
    async with short.host(door, token, can=MGP) as client, short.host(door, other) as same:
        ident = await client.start("subscriptions/listen", AUDIT)
        await client.note("notifications/subscriptions/acknowledged")
        assert await _echo(same) is None
        await client.note("notifications/mgp.audit")
        short.asked.revoked.add(token)
        ended = asyncio.ensure_future(client.finish(ident))
        async with asyncio.timeout(SOON_S):
            while not ended.done():
                assert await _echo(same) is None, "the same user, with a token that is good"
        with pytest.raises(RpcError) as caught:
            await ended
        assert caught.value.data["reason"] == "auth_failed"
        client.notes.clear()
        assert await _echo(same) is None
        assert not client.notes
