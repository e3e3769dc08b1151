"""What a caller wants of several servers at once, where one of them does not answer."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Client, Failure, Mgp
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.server import Server
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import (
    DEADLINE,
    FakeBack,
    ask,
    dispatch,
    make_call,
    running,
    said,
    tool_call,
    within,
)

ANN = Caller("ann")
CLIENT = Client("2025-11-25")

SERVER = """
import json, sys, time
seen = []
def send(ident, result): print(json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident = asked["method"], asked.get("id")
    seen.append(method)
    if method == "initialize":
        able = {"tools": {}, "logging": {}, "tasks": {"list": {}}}
        send(ident, {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {}})
    elif method == "tools/list":
        send(ident, {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in ("work", "seen", "fails_once")]})
    elif method == "tools/call" and asked["params"]["name"] == "fails_once" and seen.count(method) == 1:
        print(json.dumps({"jsonrpc": "2.0", "id": ident, "error": {"code": -32000, "message": "again"}}), flush=True)
    elif method == "tools/call" and "task" in asked["params"]:
        send(ident, {"task": {"taskId": "T-1", "status": "working"}})
    elif method == "tools/call":
        send(ident, {"content": [{"type": "text", "text": json.dumps(seen)}]})
    elif method == "tasks/list" and sys.argv[1] == "endless":
        time.sleep(0.1)
        send(ident, {"tasks": [], "nextCursor": "more"})
    elif ident is not None and sys.argv[1] != "silent":
        send(ident, {"tasks": [{"taskId": "T-1", "status": "working"}]} if method == "tasks/list" else {})
"""


def server(folder: Path, mode: str, **more: Any) -> ServerSpec:
    """Comes before others in every order."""
    script = folder / "server.py"
    script.write_text(SERVER)
    args = (str(script), mode)
    return ServerSpec(id=mode, command=sys.executable, args=args, era="legacy", **more)


async def seen(supervisor: Supervisor, server: str, method: str) -> int:
    """How often a server was asked this."""
    found: list[str] = said(await ask(supervisor, f"{server}/seen", caller=ANN, client=CLIENT))
    return found.count(method)


async def hears(supervisor: Supervisor, server: str, method: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await seen(supervisor, server, method):
            pass


async def make(supervisor: Supervisor, server: str) -> None:
    call = tool_call(supervisor, f"{server}/work", caller=ANN, client=CLIENT)
    call.params["task"] = {}
    assert isinstance(await within(dispatch(supervisor)(call, FakeBack())), Answer)


async def test_a_level_reaches_every_server_though_one_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.servers.dispatch.LEVEL_S", 2.0)
    silent, well = server(tmp_path, "silent", call_s=600.0), server(tmp_path, "well")
    async with running(silent, well) as supervisor:
        call = make_call("method", "logging/setLevel", {"level": "info"})
        setting = asyncio.ensure_future(dispatch(supervisor)(call, FakeBack()))
        await hears(supervisor, "well", "logging/setLevel")
        assert not setting.done()
        assert isinstance(await within(setting), Answer)


async def test_the_tasks_of_every_server_are_listed_though_one_does_not_answer(
    tmp_path: Path,
) -> None:
    silent, well = server(tmp_path, "silent", call_s=2.0), server(tmp_path, "well")
    async with running(silent, well) as supervisor:
        for one in ("silent", "well"):
            await make(supervisor, one)
        call = make_call("method", "tasks/list", caller=ANN, client=CLIENT)
        listing = asyncio.ensure_future(dispatch(supervisor)(call, FakeBack()))
        await hears(supervisor, "well", "tasks/list")
        assert not listing.done()
        outcome = await within(listing)
        assert isinstance(outcome, Answer)
        assert len(json.loads(outcome.raw)["tasks"]) == 1


async def test_the_next_process_is_not_asked_about_a_task_of_the_one_before(tmp_path: Path) -> None:
    """There it may be another caller's by then."""
    async with running(server(tmp_path, "well", restart_wait_s=DEADLINE)) as supervisor:
        await make(supervisor, "well")
        known = supervisor._servers["well"]
        (task,) = supervisor.tasks.made._made
        assert known.link is not None
        for method in ("tasks/get", "tasks/list"):
            known.link.close("its pipe breaks, which nobody has noticed yet")
            call = make_call("method", method, {"taskId": task}, caller=ANN, client=CLIENT)
            outcome = await within(dispatch(supervisor)(call, FakeBack()))
            assert isinstance(outcome, Failure if method == "tasks/get" else Answer)
            assert await seen(supervisor, "well", method) == 0
            await make(supervisor, "well")


async def test_a_task_that_comes_when_a_call_is_made_again_is_its_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(server(tmp_path, "well")) as supervisor:

        async def again(outcome: Any, call: Any, back: Any, put: Any) -> Any:
            return await put()

        mgp = Hello("2025-11-25", mgp=Mgp("0.2.0", ()))
        monkeypatch.setattr(Server, "hello", property(lambda _: mgp))
        link = supervisor._servers["well"].link
        assert link is not None
        link.mgp = True
        call = tool_call(supervisor, "well/fails_once", caller=ANN, client=CLIENT)
        call.params["task"] = {}
        outcome = await within(dispatch(supervisor, persisting=again)(call, FakeBack()))
        assert isinstance(outcome, Answer)
        (task,) = supervisor.tasks.made._made
        assert json.loads(outcome.raw)["task"]["taskId"] == task


async def test_a_list_of_tasks_without_an_end_has_the_time_of_one_call(tmp_path: Path) -> None:
    async with running(server(tmp_path, "endless", call_s=1.0)) as supervisor:
        await make(supervisor, "endless")
        call = make_call("method", "tasks/list", caller=ANN, client=CLIENT)
        assert isinstance(await within(dispatch(supervisor)(call, FakeBack())), Answer)
        assert 1 <= await seen(supervisor, "endless", "tasks/list") <= 11
