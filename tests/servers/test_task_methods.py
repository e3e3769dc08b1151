"""Tasks of servers, asked about: the right server, the right connection, the right names."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Client, Failure, Outcome
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.passes import Passes
from tests.servers.rig import FakeBack, dispatch, make_call, running, tool_call, within

ANN, BOB = Caller("ann"), Caller("bob")
CLIENT = Client("2025-11-25")
RELATED = "io.modelcontextprotocol/related-task"

WORKER = """
import json, sys
made, count = {}, 0
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def meta(name): return {"io.modelcontextprotocol/related-task": {"taskId": name}}
def rest(name): return {"result": {"content": [], "rest": "x" * 600_000}} if name == "large" else {}
for line in sys.stdin:
    asked = json.loads(line)
    method, ident, params = asked["method"], asked.get("id"), asked.get("params", {})
    if method == "initialize":
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": {"list": {}}},
                               "serverInfo": {"name": "worker", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": [{"name": "work", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call" and "task" not in params:
        send(id=ident, result={"content": [], "task": {"taskId": "T-1"}, "seen": [*made]})
    elif method == "tools/call":
        name = params["arguments"].get("name") or f"T-{len(made) + 1}"
        made[name] = {"taskId": name, "status": "working"}
        send(id=ident, result={"task": {**made[name], "rest": "x" * (1_050_000 if name == "huge" else 0)}, "_meta": meta(name)})
    elif method == "tasks/list":
        if "--crowded" in sys.argv:
            made = {f"X-{number}": {"taskId": f"X-{number}"} for number in range(int(sys.argv[2]))} | made
        first = [*made] if "--crowded" in sys.argv else sorted(made)[: 1] if "cursor" not in params else sorted(made)[1:]
        more = {} if "cursor" in params or "--crowded" in sys.argv else {"nextCursor": "more"}
        send(id=ident, result={"tasks": [made[one] for one in first], **more})
    elif method == "tasks/result":
        name = params["taskId"]
        send(method="notifications/progress", params={"progressToken": params["_meta"]["progressToken"], "progress": 1, "_meta": meta(name)})
        send(id=ident, result={"content": [], "_meta": meta(name)})
    elif method in ("tasks/get", "tasks/cancel") and params.get("taskId") in made:
        name = params["taskId"]
        if method == "tasks/cancel":
            made.pop(name)
        send(method="notifications/tasks/status", params={"taskId": name, "status": "odd"})
        send(id=ident, result={"taskId": name, "status": "working", "_meta": meta("T-0"), **rest(name)})
    elif ident is not None:
        send(id=ident, error={"code": -32602, "message": "no such task"})
"""


def worker(folder: Path, ident: str, *args: str, **more: Any) -> ServerSpec:
    script = folder / "worker.py"
    script.write_text(WORKER)
    command = (str(script), *args)
    return ServerSpec(id=ident, command=sys.executable, args=command, era="legacy", **more)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Supervisor]:
    async with running(worker(tmp_path, "one"), worker(tmp_path, "two")) as supervisor:
        yield supervisor


async def put(supervisor: Supervisor, call: Any, back: FakeBack | None = None) -> Outcome:
    outcome: Outcome = await within(dispatch(supervisor)(call, back or FakeBack()))
    return outcome


async def make(supervisor: Supervisor, server: str, caller: Caller, name: str = "") -> Outcome:
    call = tool_call(
        supervisor, f"{server}/work", {"name": name} if name else {}, caller=caller, client=CLIENT
    )
    call.params["task"] = {}
    return await put(supervisor, call)


async def made(supervisor: Supervisor, server: str, caller: Caller, session: str = "s1") -> str:
    call = tool_call(supervisor, f"{server}/work", caller=caller, client=CLIENT, session=session)
    call.params["task"] = {}
    outcome = await put(supervisor, call)
    assert isinstance(outcome, Answer)
    found = json.loads(outcome.raw)
    assert found["_meta"][RELATED] == {"taskId": found["task"]["taskId"]}
    return str(found["task"]["taskId"])


async def ask(
    supervisor: Supervisor, verb: str, task: str, caller: Caller = ANN, **more: Any
) -> Outcome:
    back = more.pop("back", None)
    params = {"taskId": task, **more.pop("params", {})}
    call = make_call("method", f"tasks/{verb}", params, caller=caller, client=CLIENT, **more)
    return await put(supervisor, call, back)


async def test_two_servers_count_from_one_and_nobody_is_locked_out(pair: Supervisor) -> None:
    hers, his = await made(pair, "one", ANN), await made(pair, "two", BOB)
    assert len({hers, his, "T-1"}) == 3
    for name, owner, other in ((hers, ANN, BOB), (his, BOB, ANN)):
        mine = await ask(pair, "get", name, owner)
        assert isinstance(mine, Answer)
        assert json.loads(mine.raw)["taskId"] == name
        foreign = await ask(pair, "get", name, other)
        assert isinstance(foreign, Failure)
        assert foreign == await ask(pair, "get", "T-1", other)
        assert foreign == await ask(pair, "get", "task_" + "0" * 32, other)


async def test_a_large_task_is_gone_through_once_in_a_turn(
    pair: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever has to be found in it, and put by other names."""
    outcome = await make(pair, "one", ANN, "large")
    assert isinstance(outcome, Answer)
    task = json.loads(outcome.raw)["task"]["taskId"]
    passes = Passes(monkeypatch)
    outcome = await ask(pair, "get", task)
    passes.stop()
    assert isinstance(outcome, Answer)
    said = json.loads(outcome.raw)
    assert (said["taskId"], len(said["result"]["rest"])) == (task, 600_000)
    assert said.get("_meta", {}) == {}
    assert passes.in_one_turn == 1


async def test_a_task_that_is_made_in_more_than_a_mebibyte_is_refused_by_name_and_read_once_in_a_turn(
    pair: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = Passes(monkeypatch)
    outcome = await make(pair, "one", ANN, "huge")
    passes.stop()
    assert isinstance(outcome, Failure)
    assert outcome.message == "server one says that it made a task, in more than 1048576 bytes"
    assert passes.in_one_turn == 1


async def test_what_belongs_to_a_task_names_it_as_its_caller_does(pair: Supervisor) -> None:
    name = await made(pair, "one", ANN)
    back = FakeBack()
    params = {"_meta": {"progressToken": "p", RELATED: {"taskId": name}}}
    outcome = await ask(pair, "result", name, back=back, params=params)
    assert isinstance(outcome, Answer)
    assert json.loads(outcome.raw)["_meta"][RELATED] == {"taskId": name}
    (progress,) = back.of("notifications/progress")
    assert progress["_meta"][RELATED] == {"taskId": name}


async def test_each_is_listed_its_own_from_every_page_of_every_server(pair: Supervisor) -> None:
    hers = [await made(pair, "one", ANN), await made(pair, "two", ANN)]
    his = [await made(pair, "one", BOB)]
    for caller, names in ((ANN, hers), (BOB, his), (Caller("eve"), [])):
        outcome = await put(pair, make_call("method", "tasks/list", caller=caller, client=CLIENT))
        assert isinstance(outcome, Answer)
        assert [one["taskId"] for one in json.loads(outcome.raw)["tasks"]] == names


@pytest.mark.parametrize(("others", "shown"), [(1500, True), (12_000, False)])
async def test_a_crowded_list_of_one_server_hides_no_task_of_another(
    tmp_path: Path, others: int, shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    crowded = worker(tmp_path, "one", "--crowded", str(others))
    async with running(crowded, worker(tmp_path, "two")) as supervisor:
        names = [await made(supervisor, "one", ANN), await made(supervisor, "two", ANN)]
        call = make_call("method", "tasks/list", caller=ANN, client=CLIENT)
        outcome = await put(supervisor, call)
    assert isinstance(outcome, Answer)
    found = [one["taskId"] for one in json.loads(outcome.raw)["tasks"]]
    assert found == (names if shown else names[1:])
    assert ("the tasks of server one cannot be read" in caplog.text) is not shown


async def test_a_name_that_is_anothers_is_refused_and_one_without_a_wish_is_none(
    pair: Supervisor,
) -> None:
    assert isinstance(await make(pair, "one", ANN, "same"), Answer)
    taken = await make(pair, "one", BOB, "same")
    assert isinstance(taken, Failure)
    assert "another caller's task" in taken.message
    plain = await put(pair, tool_call(pair, "one/work", caller=BOB, client=CLIENT))
    assert isinstance(plain, Answer)
    assert json.loads(plain.raw)["task"] == {"taskId": "T-1"}  # any member of any result
    assert isinstance(await ask(pair, "get", "T-1", BOB), Failure)


async def test_how_a_task_stands_is_told_to_its_caller_alone(pair: Supervisor) -> None:
    """At the door and in the profile where it was made."""
    heard: list[tuple[str, str, str, Any]] = []
    for who, profile, door in product((ANN, BOB), ("", "other"), ("test", "http", "")):

        def take(_: str, method: str, params: Any, where: Any = (who.id, profile, door)) -> None:
            heard.append((*where, params))

        pair.watch(who, profile, take, door=door)
    name = await made(pair, "one", ANN)
    await ask(pair, "get", name)
    assert heard == [("ann", "", "test", {"taskId": name, "status": "odd"})]


async def test_a_task_of_a_connection_that_is_gone_is_gone(pair: Supervisor) -> None:
    name = await made(pair, "one", ANN)
    link = pair.fleet.servers["one"].link
    assert link is not None
    link.close("the test wants another one")
    await within(pair.fleet.servers["one"]._main.ready(20.0))
    assert isinstance(await ask(pair, "get", name), Failure)
    assert isinstance(await made(pair, "one", BOB), str)  # which counts from one again


async def test_a_task_is_asked_for_where_it_was_made_from_every_session(tmp_path: Path) -> None:
    async with running(worker(tmp_path, "one", share="session")) as supervisor:
        first = await made(supervisor, "one", ANN, "s1")
        second = await made(supervisor, "one", ANN, "s2")
        assert first != second
        for name in (first, second):
            found = await ask(supervisor, "get", name, session="s2")
            assert isinstance(found, Answer)
        supervisor.forget("s1")
        assert isinstance(await ask(supervisor, "get", first, session="s2"), Failure)
        assert isinstance(await ask(supervisor, "get", second, session="s2"), Answer)


async def test_a_task_that_its_server_does_not_know_any_more_is_forgotten(pair: Supervisor) -> None:
    name = await made(pair, "one", ANN)
    assert isinstance(await ask(pair, "cancel", name), Answer)
    gone = await ask(pair, "get", name)
    assert isinstance(gone, Failure)
    assert gone.error is not None
    again = await ask(pair, "get", name)
    assert isinstance(again, Failure)
    assert again.error is None
