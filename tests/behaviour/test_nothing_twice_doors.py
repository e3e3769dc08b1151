"""Nothing runs twice at the doors where clients come back by themselves: Groundhog's protocol, rooms, sessions whose connection
ends between a call and its answer; and where a server is started anew while calls run."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.sdk.client import SyncClient
from gatewright.sdk.errors import SdkError
from tests.behaviour.gateway import Gateway, running
from tests.behaviour.groundhog_client import RefusedError, connected
from tests.behaviour.test_nothing_twice import PROMISE, WAYS
from tests.behaviour.test_nothing_twice_anywhere import Ledger, content, eager, made
from tests.behaviour.test_task_handles import keys
from tests.rooms.foreign import Guest

TOKENS = {name: f"token-of-{name}-0123456789" for name in ("ana", "bob", "eve")}
PROFILES = {"ana": "full", "bob": "full", "eve": "proposal-only"}
ROOMS: dict[str, Any] = {
    "participants": [
        {"id": name, "token": TOKENS[name], "profile": PROFILES[name]} for name in TOKENS
    ],
    "kernel": {"topics": ["desk"]},
}
HEAD = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ERROR = {"code": 5001, "data": {"_mgp": PROMISE}}


class House:
    """A gateway in front of the server that pays, with every door; what was paid stands in `ledger`."""

    def __init__(self, gateway: Gateway, ledger: Ledger) -> None:
        self.gateway = gateway
        self.ledger = ledger

    async def settled(self, key: str) -> int:
        """How often a payment was made, once it was, and everything that came before another call has arrived."""
        await asyncio.to_thread(self.ledger.until, key)
        await asyncio.to_thread(up, self.gateway)
        return self.ledger.runs()[key]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("doors")
    ledger = folder / "ledger"
    with running(folder, content(ledger, groundhog={"enabled": True}, rooms=ROOMS)) as gateway:
        yield House(gateway, Ledger(ledger))


def up(gateway: Gateway) -> None:
    """Wait for the server, which may just have died."""
    deadline = time.monotonic() + 30
    with SyncClient(gateway.urls["mcp"], eager()) as client:
        while isinstance(end := made(client, "p__other", {}), SdkError) or end.is_error:
            assert time.monotonic() < deadline, end


def payment(key: str, how: str) -> dict[str, Any]:
    return {"key": key, "how": how, "error": ERROR}


# -- Groundhog's protocol


@pytest.mark.parametrize("how", WAYS)
async def test_a_call_of_groundhog_is_made_once_and_not_announced_as_repeatable(
    house: House, how: str
) -> None:
    await asyncio.to_thread(up, house.gateway)
    key = f"groundhog-{how}"
    async with connected(house.gateway.urls["websocket"]) as client:
        try:
            said = json.dumps(await client.invoke("p__pay", payment(key, how)))
        except RefusedError as problem:
            said = str(problem)
    assert '"retryable": true' not in said
    assert "retry_after" not in said
    assert await house.settled(key) == 1


async def test_a_groundhog_client_that_is_gone_before_its_answer_leaves_one_call(
    house: House,
) -> None:
    """The connection ends in the middle of a call, and the client asks another one how things stand. Of one tool this door
    takes five calls a second, so this is another."""
    await asyncio.to_thread(up, house.gateway)
    async with connected(house.gateway.urls["websocket"]) as client:
        asking = asyncio.create_task(client.invoke("p__pay_hinted", payment("gone", "hangs")))
        await asyncio.to_thread(house.ledger.until, "gone")
        asking.cancel()
    async with connected(house.gateway.urls["websocket"]) as client:
        assert "other" in json.dumps(await client.invoke("p__other", {}))
    assert await house.settled("gone") == 1


# -- requests under an id whose request still runs

_LONG_S = 5.0
"""A payment that hangs is waited for so long."""


@pytest.fixture(scope="module", params=["websocket", "tcp"])
def slow(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[House, str]]:
    folder = tmp_path_factory.mktemp("slow")
    ledger = folder / "ledger"
    protocol = {"transport": {"type": request.param, "port": 0}}
    made_of = content(ledger, call_timeout_s=_LONG_S, mcp={"protocol": protocol})
    with running(folder, made_of) as gateway:
        yield House(gateway, Ledger(ledger)), request.param


def asking(key: str, ident: str, door: str) -> dict[str, Any]:
    """A request to pay, in the words of a door."""
    given = payment(key, "hangs")
    words: dict[str, Any] = {"name": "p__pay", "arguments": given}
    if door == "groundhog":
        words = {"tool_id": "p__pay", "parameters": given}
    method = "tools/invoke" if door == "groundhog" else "tools/call"
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": words}


async def test_an_id_of_groundhog_whose_request_runs_is_taken(
    slow: tuple[House, str],
) -> None:
    """0055: said again on the same connection, also in an array and with its id in escapes."""
    house, transport = slow
    await asyncio.to_thread(up, house.gateway)
    first = f"first-{transport}"
    (ann,) = keys(house.gateway.folder, "ann")
    key = ann["authorization"].removeprefix("Bearer ")
    async with connected(house.gateway.urls["groundhog"], key) as client:
        ask = asking(first, "k", "groundhog")
        again = json.dumps(ask).replace('"k"', '"\\u006b"')
        for frame in (json.dumps(ask), again, f"[{again}]"):
            await client.send(frame.encode())
        told = [await client.others.get() for _ in range(2)]
        await asyncio.to_thread(house.ledger.until, first)
    assert json.dumps(told).count("runs already") == 2
    assert house.ledger.runs()[first] == 1


@pytest.mark.parametrize("way", ["socket", "batch"])
async def test_an_id_of_ggen_whose_request_runs_is_taken(house: House, way: str) -> None:
    await asyncio.to_thread(up, house.gateway)
    ask = asking(f"ggen-{way}", "k", "ggen")
    url = house.gateway.urls["rpc"]
    async with aiohttp.ClientSession() as http:
        if way == "batch":
            async with http.post(url, json=[ask, ask, ask]) as answer:
                told = await answer.json()
        else:
            async with http.ws_connect(url.replace("http", "ws", 1)) as socket:
                for _ in range(3):
                    await socket.send_json(ask)
                told = [await socket.receive_json(timeout=20) for _ in range(3)]
    assert json.dumps(told).count("runs already") == 2
    assert house.ledger.runs()[f"ggen-{way}"] == 1


# -- rooms


@asynccontextmanager
async def seated(house: House, *names: str) -> AsyncIterator[list[Guest]]:
    guests = [await seat(house, name) for name in names]
    yield guests
    for one in guests:
        if one.closed is None:
            await one.leave()


async def seat(house: House, name: str) -> Guest:
    return await Guest(house.gateway.urls["rooms"], "desk", TOKENS[name]).connect()


REPEATS = (
    "the same message",
    "fulfilled anew",
    "by somebody else",
    "after a new connection",
    "all at once",
)


@pytest.mark.parametrize(("how", "repeat"), [*itertools.product(WAYS, REPEATS)])
async def test_a_proposal_is_carried_out_once_whoever_fulfils_it_how_often(
    house: House, how: str, repeat: str
) -> None:
    """What was proposed is one operation; an answer that was lost makes nobody do it again."""
    await asyncio.to_thread(up, house.gateway)
    key = f"room-{how}-{repeat}".replace(" ", "-")
    body = {"method": "tools/call", "params": {"name": "p__pay", "arguments": payment(key, how)}}
    kind = "mcp/request:tools/call:p__pay"

    async def fulfils(guest: Guest, proposal: str) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": key, **body}
        said = guest.envelope(
            kind, call, to=["gatewright"], correlation_id=proposal, id=f"{key}-{guest.id}"
        )
        await guest.raw(json.dumps(said))
        return said

    async with seated(house, "ana", "bob", "eve") as (ana, bob, eve):
        posted = {"to": ["gatewright"], "id": f"{key}-proposal"}
        proposal = await eve.post("mcp/proposal:tools/call:p__pay", body, **posted)
        for one in (ana, bob):
            assert (await one.next("mcp/proposal:tools/call:p__pay"))["id"] == proposal
        first = await fulfils(speaking := ana, proposal)
        if repeat != "all at once":
            await asyncio.to_thread(house.ledger.until, key)
        if repeat == "after a new connection":
            await ana.crash()
            speaking = await seat(house, "ana")
            await speaking.raw(json.dumps(first))
        if repeat in {"the same message", "all at once"}:
            await speaking.raw(json.dumps(first))
        if repeat in {"fulfilled anew", "all at once", "after a new connection"}:
            await speaking.raw(json.dumps({**first, "id": f"{key}-again"}))
        if repeat in {"by somebody else", "all at once"}:
            await fulfils(bob, proposal)
        assert await house.settled(key) == 1
        await speaking.leave()
    assert house.ledger.runs()[key] == 1


# -- sessions whose connection ends between a call and its answer


@asynccontextmanager
async def session(gateway: Gateway) -> AsyncIterator[tuple[aiohttp.ClientSession, dict[str, str]]]:
    """An HTTP session of 2025-11-25, and the headers of its requests."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    async with aiohttp.ClientSession() as http:
        async with http.post(gateway.urls["mcp"], headers=HEAD, json=hello) as answer:
            ident = answer.headers["Mcp-Session-Id"]
        yield http, {**HEAD, "Mcp-Session-Id": ident, "MCP-Protocol-Version": "2025-11-25"}


def paying(key: str, how: str, token: bool = False) -> dict[str, Any]:
    params: dict[str, Any] = {"name": "p__pay", "arguments": payment(key, how)}
    if token:
        params["_meta"] = {"progressToken": 1}
    return {"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params}


@pytest.mark.parametrize("times", [1, 3])
async def test_a_request_that_is_posted_again_while_it_runs_runs_once(
    house: House, times: int
) -> None:
    """The client lost its connection before the answer, and sends the same bytes to its session."""
    await asyncio.to_thread(up, house.gateway)
    key = f"posted-{times}"
    async with session(house.gateway) as (http, head):
        url = house.gateway.urls["mcp"]
        first = asyncio.create_task(_post(http, url, head, paying(key, "hangs")))
        await asyncio.to_thread(house.ledger.until, key)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        for _ in range(times):
            assert "runs already" in await _post(http, url, head, paying(key, "hangs"))
        assert await house.settled(key) == 1


async def test_an_answer_that_was_lost_is_resumed_and_not_made_again(house: House) -> None:
    """By `Last-Event-ID`: the stream goes on, with the answer of the call that ran."""
    await asyncio.to_thread(up, house.gateway)
    async with session(house.gateway) as (http, head):
        url = house.gateway.urls["mcp"]
        last = ""
        async with http.post(
            url, headers=head, json=paying("resumed", "hangs", token=True)
        ) as answer:
            while not last:
                line = (await answer.content.readline()).decode().strip()
                last = line.removeprefix("id: ") if line.startswith("id: ") else ""
        resumed = {**head, "Last-Event-ID": last, "Accept": "text/event-stream"}
        said = ""
        async with http.get(url, headers=resumed) as answer:
            while '"id":"resumed"' not in said:
                piece = await answer.content.readany()
                assert piece, said
                said += piece.decode()
        assert "upstream_timeout" in said
    assert await house.settled("resumed") == 1


async def _post(
    http: aiohttp.ClientSession, url: str, head: dict[str, str], body: dict[str, Any]
) -> str:
    async with http.post(url, headers=head, json=body) as answer:
        return await answer.text()


# -- servers that are started anew while calls run


@pytest.mark.parametrize("by", ["restart", "stop and start", "reload"])
def test_calls_that_run_while_their_server_is_started_anew_are_made_by_nobody_again(
    tmp_path: Path, by: str
) -> None:
    """Several at once, from clients that repeat whatever they may; the first call after it is one of its own."""
    ledger = Ledger(tmp_path / "ledger")
    content_of = content(tmp_path / "ledger", call_timeout_s=3.0)
    keys = [f"one-{number}" for number in range(4)]
    with running(tmp_path, content_of) as gateway, ThreadPoolExecutor(4) as pool:

        def pay(key: str) -> Any:
            with SyncClient(gateway.urls["mcp"], eager(timeout_s=30)) as client:
                return made(client, "p__pay", payment(key, "hangs"))

        calls = [pool.submit(pay, key) for key in keys]
        for key in keys:
            ledger.until(key)
        if by == "reload":
            one = {**content_of["servers"][0], "env": {"ANEW": "1"}}
            gateway.reload({**content_of, "servers": [one]})
        else:
            for verb in by.split(" and "):
                gateway.cli("server", verb, "p")
        ends = [call.result(60) for call in calls]
        assert all(isinstance(one, SdkError) and not one.retryable for one in ends)
        with SyncClient(gateway.urls["mcp"], eager()) as client:
            assert not client.call_tool("p__pay", payment("after", "answers")).is_error
    assert ledger.runs() == dict.fromkeys([*keys, "after"], 1)
