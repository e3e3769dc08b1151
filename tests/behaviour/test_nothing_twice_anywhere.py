"""Nothing runs twice, wherever a request can be repeated: in tasks, over the bridge and the command
line, where the gateway or a server goes away in the middle of a call, and where policy ends one that runs."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gatewright.mcp.protocol.recovery import Policy
from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.client.results import ToolResult
from gatewright.sdk.errors import SdkError
from tests.behaviour.gateway import COMMAND, Gateway, config, running, server
from tests.behaviour.hosts import host
from tests.behaviour.test_hints import at_a_terminal
from tests.behaviour.test_nothing_twice import PROMISE, RESTARTS, WAYS
from tests.servers.guarded import serving

EAGER = Policy(retries=5, longest_s=60)


async def _soon(seconds: float) -> None:
    await asyncio.sleep(min(seconds, 0.05))


def eager(**more: Any) -> Options:
    """A client that repeats whatever it may, and does not wait long."""
    return Options(retry=EAGER, sleep=_soon, **more)


class Ledger:
    """Who was paid how often."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def runs(self) -> Counter[str]:
        return Counter(self.file.read_text().split()) if self.file.exists() else Counter()

    def until(self, key: str) -> None:
        """Wait until a payment has been made."""
        deadline = time.monotonic() + 30
        while not self.runs()[key] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.runs()[key] == 1


def content(ledger: Path, **more: Any) -> dict[str, Any]:
    table = more.pop("table", {})
    one = server(
        "paying",
        "p",
        str(ledger),
        mgp={"extensions": ["security"], **RESTARTS},
        call_timeout_s=more.pop("call_timeout_s", 0.4),
        **table,
    )
    return config(one, **more)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Ledger]]:
    folder = tmp_path_factory.mktemp("anywhere")
    tables = {
        "approvals": {"approver": "operator", "hold_s": 0},
    }
    made = content(
        folder / "ledger", table={"tools": {"pay_vouched": {"risk_level": "dangerous"}}}, **tables
    )
    with running(folder, made) as gateway:
        yield gateway, Ledger(folder / "ledger")


def up(gateway: Gateway) -> None:
    """Wait for the server, which may just have died."""
    with SyncClient(gateway.urls["mcp"], eager()) as client:
        while True:
            found = client.call_tool("p__other", {})
            if not found.is_error:
                return


def told(gateway: Gateway, words: str) -> str:
    """What a command of an operator prints."""
    state = gateway.folder / "state"
    return at_a_terminal(f"GATEWRIGHT_STATE={state} gatewright {words} --config {gateway.file}")


def made(client: SyncClient, tool: str, given: dict[str, Any]) -> ToolResult | SdkError:
    try:
        return client.call_tool(tool, given)
    except SdkError as problem:
        return problem


@pytest.mark.parametrize("how", WAYS)
def test_a_call_of_the_command_line_is_made_once(house: tuple[Gateway, Ledger], how: str) -> None:
    gateway, ledger = house
    up(gateway)
    error = {"code": 5001, "data": {"_mgp": PROMISE}}
    given = json.dumps({"key": f"cli-{how}", "how": how, "error": error})
    gateway.cli("tool", "call", "p__pay", "--input-json", given, check=False)
    assert ledger.runs()[f"cli-{how}"] == 1


@pytest.mark.parametrize(
    ("revision", "how"), [*itertools.product(["2025-11-25", "2026-07-28"], WAYS)]
)
async def test_a_task_makes_its_call_once_however_that_ends(
    house: tuple[Gateway, Ledger], revision: str, how: str
) -> None:
    gateway, ledger = house
    await asyncio.to_thread(up, gateway)
    key = f"task-{revision}-{how}"
    error = {"code": 5001, "data": {"_mgp": PROMISE}}
    given = {"key": key, "how": how, "error": error}
    can: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    async with host(gateway, f"http {revision}", can=can) as client:
        params: dict[str, Any] = {"name": "p__pay_vouched", "arguments": given}
        if revision < "2026":
            params["task"] = {"ttl": 60000}
        made = await client.request("tools/call", params)
        task = made.get("task", made)
        assert ledger.runs()[key] == 0
        approved = task["statusMessage"].partition("(")[2].partition(")")[0]
        await asyncio.to_thread(told, gateway, f"approve {approved}")
        for _ in range(3):  # who asks again sees the same end
            while (found := await client.request("tasks/get", {"taskId": task["taskId"]}))[
                "status"
            ] == "working":
                await asyncio.sleep(0.02)
        assert '"retryable": true' not in json.dumps(found)
    assert ledger.runs()[key] == 1


@pytest.mark.parametrize("door", ["mcp", "websocket", "bridge"])
def test_a_gateway_that_goes_away_and_comes_back_makes_no_call_again(
    tmp_path: Path, door: str
) -> None:
    """The client repeats what it may, and the record of the call that ran is what the next gateway begins with."""
    ledger = Ledger(tmp_path / "ledger")
    made_of = content(tmp_path / "ledger", call_timeout_s=60.0, gateway={"port": _free_port()})
    for round_, signal in enumerate(["kill", "terminate"]):
        key = f"{door}-{round_}"
        with running(tmp_path, made_of) as gateway, ThreadPoolExecutor(1) as pool:
            target: Any = gateway.urls.get(door)
            if door == "bridge":
                target = [*COMMAND, "bridge", "--config", str(gateway.file)]
            with SyncClient(target, eager(timeout_s=20)) as client:
                client.list_tools()
                call = pool.submit(made, client, "p__pay", {"key": key, "how": "hangs"})
                ledger.until(key)
                getattr(gateway.process, signal)()
                gateway.process.wait(30)
                with running(tmp_path, made_of):
                    end = call.result(60)
        assert isinstance(end, SdkError)
        assert ledger.runs()[key] == 1


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize("reason", ["key", "grant", "permission"])
@pytest.mark.parametrize("door", ["mcp", "websocket"])
def test_a_call_that_policy_ends_while_it_runs_is_made_again_by_nobody(
    tmp_path: Path, reason: str, door: str
) -> None:
    """Before it runs the same reason says that nothing ran; SDKs get another token, or come back after a while."""
    ledger = Ledger(tmp_path / "ledger")
    table = {"tools": {"pay": {"permissions_required": ["camera"]}}}
    tables = {"gateway": {"anonymous": "deny"}, "approvals": {"hold_s": 0}, "grants": []}
    with running(
        tmp_path, content(tmp_path / "ledger", call_timeout_s=60.0, table=table, **tables)
    ) as gateway:
        key = told(gateway, "key create ann").split()[0]
        told(gateway, "grant add ann p")
        told(gateway, "server permit p camera")
        end, back = {
            "key": (f"key revoke {key.split('_')[1]}", "key list"),
            "grant": ("grant revoke ann p", "grant add ann p"),
            "permission": ("server permit p camera --deny", "server permit p camera"),
        }[reason]
        with (
            ThreadPoolExecutor(1) as pool,
            SyncClient(gateway.urls[door], eager(bearer=key, timeout_s=8)) as client,
        ):
            call = begun(pool, client, ledger)
            told(gateway, end)
            told(gateway, back)
            problem = call.result(60)
        assert isinstance(problem, SdkError)
        assert not problem.retryable
        assert ledger.runs()["once"] == 1


def begun(pool: ThreadPoolExecutor, client: SyncClient, ledger: Ledger) -> Future[Any]:
    """A call that runs. The gateway sees what commands decided a little later: until then it refuses, and nothing runs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        call = pool.submit(made, client, "p__pay", {"key": "once", "how": "hangs"})
        while not call.done():
            if ledger.runs()["once"]:
                return call
            time.sleep(0.01)
    raise AssertionError(f"the call never ran: {call.result()}")


SESSIONS = {
    "session": "Session with given id not found.",
    "session-string": "Session with given id not found.",
    "browser": "Server not initialized: no session",
}
"""How a tool that ran speaks of a session of its own."""
STATUSES = (400, 401, 403, 404, 408, 409, 421, 425, 429, 500, 502, 503, 504, 0)
BODIES = ("none", "text", "own", "string", "null", "retry", "result", *SESSIONS)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "body"])
@pytest.mark.parametrize("session", [True, False], ids=["session", "sessionless"])
async def test_no_status_of_an_http_server_that_has_acted_makes_anybody_call_it_again(
    tmp_path: Path, session: bool, stream: bool
) -> None:
    """Every status that HTTP clients answer by repeating, by every kind of body; 0 breaks the connection off."""
    runs: Counter[str] = Counter()

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        asked = await request.json()
        head = {"Mcp-Session-Id": "one"} if session else {}
        if asked.get("method") != "tools/call":
            return _hello(asked, head)
        given = asked["params"]["arguments"]
        runs[given["key"]] += 1
        if given["status"] == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        said = _refused(asked["id"], given)
        return _streamed(said) if stream and given["body"] not in {"none", "text"} else said

    app = web.Application()
    app.router.add_route("*", "/mcp", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
        one = {"id": "h", "url": url, "mgp": {"extensions": ["security"]}}
        keys = await asyncio.to_thread(_pay_all, tmp_path, config(one))
    finally:
        await runner.cleanup()
    assert {key: runs[key] for key in keys if runs[key] > 1} == {}
    assert sum(runs.values()) >= len(keys) // 2


def _pay_all(folder: Path, content: dict[str, Any]) -> list[str]:
    """The loop that serves is free, so that the gateway can end its session as it ends."""
    with running(folder, content) as gateway:
        return _paid(gateway)


def _paid(gateway: Gateway) -> list[str]:
    keys = []
    for status, body in itertools.product(STATUSES, BODIES):
        if (status, body) in {(404, "none"), (404, "text"), (404, "null")}:
            continue  # MCP's own word for a session that is not known, so that nothing ran
        keys.append(f"{status}-{body}")
        with SyncClient(gateway.urls["mcp"], eager(timeout_s=20)) as client:
            end = made(client, "h__pay", {"key": keys[-1], "status": status, "body": body})
        answered = body == "result" and status != 0
        assert answered or isinstance(end, SdkError) or end.is_error, keys[-1]
    return keys


class _Tokens:
    """Has another token whenever one is refused."""

    def __init__(self) -> None:
        self.made = 0

    async def authorization(self) -> str:
        return f"Bearer {self.made}"

    async def challenged(self, turn: int, status: int, challenges: Any, used: str | None) -> bool:
        self.made += 1
        return turn < 3


@pytest.mark.parametrize("shape", ["body", "stream"])
async def test_no_refusal_of_a_protected_server_that_has_acted_makes_a_client_call_it_again(
    shape: str,
) -> None:
    """By who has a login: what names the request was said by somebody who had read it."""
    runs: Counter[str] = Counter()
    tokens = _Tokens()

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        asked = await request.json()
        if asked.get("method") != "tools/call":
            return _hello(asked, {})
        given = asked["params"]["arguments"]
        runs[given["key"]] += 1
        refused = _refused(asked["id"], given)
        refused.headers["WWW-Authenticate"] = 'Bearer error="insufficient_scope", scope="x"'
        return _streamed(refused) if shape == "stream" else refused

    app = web.Application()
    app.router.add_route("*", "/mcp", serve)
    async with serving(app) as origin:
        told = [one for one in BODIES if one not in {"none", "text", "null"}]
        every = itertools.product((401, 403), told)
        keys = {f"{status}-{body}": (status, body) for status, body in every}

        def pay_all() -> None:
            with SyncClient(f"{origin}/mcp", eager(authorizer=tokens, timeout_s=20)) as client:
                for key, (status, body) in keys.items():
                    made(client, "pay", {"key": key, "status": status, "body": body})

        await asyncio.to_thread(pay_all)
    assert dict(runs) == dict.fromkeys(keys, 1)
    assert tokens.made == len(keys)


def _hello(asked: dict[str, Any], head: dict[str, str]) -> web.Response:
    if "id" not in asked:
        return web.Response(status=202, headers=head)
    answers: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "h", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "pay", "inputSchema": {"type": "object"}}]},
    }
    known = {"result": answers[asked["method"]]} if asked["method"] in answers else {}
    unknown = {"error": {"code": -32601, "message": "Method not found"}}
    answer = {"jsonrpc": "2.0", "id": asked["id"], **(known or unknown)}
    return web.json_response(answer, headers=head)


def _streamed(answer: web.Response) -> web.Response:
    """The same as an event of a stream."""
    text = f"event: message\ndata: {answer.text}\n\n"
    headers = {**answer.headers, "Content-Type": "text/event-stream"}
    headers.pop("Content-Length", None)
    return web.Response(status=answer.status, text=text, headers=headers)


def _refused(ident: Any, given: dict[str, Any]) -> web.Response:
    status, body = given["status"], given["body"]
    if body == "none":
        return web.Response(status=status)
    if body == "text":
        return web.Response(status=status, text="no")
    data = {"_mgp": PROMISE} if body == "retry" else {}
    message = SESSIONS.get(body, "The customer was not found")
    error = {"code": -32000, "message": message, "data": data}
    named = {"null": None, "string": str(ident), "session-string": str(ident)}.get(body, ident)
    end = {"result": {"content": []}} if body == "result" else {"error": error}
    answer = {"jsonrpc": "2.0", "id": named, **end}
    return web.json_response(answer, status=status, headers={"Retry-After": "0"})
