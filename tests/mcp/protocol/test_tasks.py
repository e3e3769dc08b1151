"""Tasks of MCP, both dialects: what is asked for, what is declared, how one is spelled."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gatewright.call import Call, Client
from gatewright.mcp.protocol import tasks
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.tasks import EXTENSION, Task
from tests.gate_parts import a_call

CORE = Client("2025-11-25")
EARLIER = Client("2025-06-18")
DECLARED = Client("2026-07-28", {"extensions": {EXTENSION: {}, "other": {}}})
SILENT = Client("2026-07-28")
INFO = {"name": "gw", "version": "1"}
MADE = Task(
    id="t1", message="it waits", created=0.0, updated=1.5, ends=60.0, poll_s=5.0, status="working"
)
RESULT = Spelled(b'{"content":[],"isError":false}')
TOOL_ERROR = Spelled(b'{"content":[],"isError":true}')
ERROR = Spelled(error=b'{"code":-32603,"message":"no"}')


def asked(client: Client, **params: Any) -> Call:
    call = a_call(client=client, arguments={"a": 1})
    return msgspec.structs.replace(call, params={**call.params, **params})


@pytest.mark.parametrize(
    ("call", "takes"),
    [
        (asked(CORE, task={}), True),
        (asked(CORE, task={"ttl": 1}), True),
        (asked(CORE, task=True), False),
        (asked(CORE), False),
        (asked(EARLIER, task={}), False),
        (asked(DECLARED), True),
        (asked(SILENT, task={}), False),
        (asked(Client("2025-11-25", DECLARED.capabilities)), False),
        (asked(Client("2026-07-28", {"extensions": [EXTENSION]})), False),
    ],
)
def test_who_takes_a_task_says_so_in_its_own_dialect(call: Call, takes: bool) -> None:
    assert tasks.wanted(call) is takes
    assert not tasks.wanted(tasks.plain(call))


def test_a_plain_call_asks_for_the_same_without_a_task() -> None:
    assert tasks.plain(asked(CORE, task={}, x=1)).params == asked(CORE, x=1).params
    assert tasks.plain(asked(DECLARED)).client.capabilities == {"extensions": {"other": {}}}
    assert tasks.plain(asked(SILENT)).params == asked(SILENT).params


def test_only_modern_clients_have_to_declare_anything() -> None:
    assert tasks.undeclared(CORE) is None
    assert tasks.undeclared(DECLARED) is None
    missing = json.loads(tasks.undeclared(SILENT) or b"null")
    assert missing["code"] == -32021
    assert missing["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


@pytest.mark.parametrize(
    ("said", "own"),
    [
        (b'{"taskSupport":"optional"}', True),
        (b'{"taskSupport":"required"}', True),
        (b'{"taskSupport":"forbidden"}', False),
        (b"[]", False),
        (b"{", False),
    ],
)
def test_a_server_says_which_tools_it_runs_as_tasks_itself(said: bytes, own: bool) -> None:
    assert tasks.runs_as_task({"execution": msgspec.Raw(said)}) is own
    assert not tasks.runs_as_task({})


def test_what_is_announced_leaves_what_servers_announce() -> None:
    offers: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert tasks.announced({"tools": {}}, CORE) == {"tools": {}, "tasks": offers}
    theirs: dict[str, Any] = {"tasks": {"x": 1, "requests": {"y": {}}}}
    requests: dict[str, Any] = {"y": {}, "tools": {"call": {}}}
    assert tasks.announced(theirs, CORE) == {"tasks": {"x": 1, **offers, "requests": requests}}
    odd: dict[str, Any] = {"tasks": {"requests": []}}
    assert tasks.announced(odd, CORE) == {"tasks": offers}
    assert tasks.announced({"extensions": {"o": {}}}, SILENT) == {
        "extensions": {EXTENSION: {}, "o": {}}
    }
    assert tasks.announced({"tools": {}}, EARLIER) == {"tools": {}}


def test_a_task_is_spelled_as_its_reader_knows_it() -> None:
    times = {"createdAt": "1970-01-01T00:00:00.000Z", "lastUpdatedAt": "1970-01-01T00:00:01.500Z"}
    body = {"taskId": "t1", "status": "working", "statusMessage": "it waits", **times}
    core = {**body, "ttl": 60_000, "pollInterval": 5000}
    modern = {**body, "ttlMs": 60_000, "pollIntervalMs": 5000}
    assert json.loads(tasks.shown(MADE, CORE, None)) == core
    assert json.loads(tasks.shown(MADE, DECLARED, None)) == {"resultType": "complete", **modern}
    made = json.loads(tasks.created(MADE, CORE, INFO))
    assert made["task"] == core
    made = json.loads(tasks.created(MADE, DECLARED, INFO))
    assert made.pop("_meta")["io.modelcontextprotocol/serverInfo"] == INFO
    assert made == {"resultType": "task", **modern}


@pytest.mark.parametrize(
    ("end", "core", "modern"),
    [
        (RESULT, "completed", "completed"),
        (TOOL_ERROR, "failed", "completed"),
        (ERROR, "failed", "failed"),
    ],
)
def test_dialects_differ_in_what_they_call_a_failure(end: Spelled, core: str, modern: str) -> None:
    over = msgspec.structs.replace(MADE, status="ended")
    failed = end is not RESULT
    assert json.loads(tasks.shown(over, CORE, None, failed=failed))["status"] == core
    found = json.loads(tasks.shown(over, DECLARED, end))
    assert found["status"] == modern
    assert found.get("result") == (json.loads(end.result) if end.result else None)
    assert found.get("error") == (json.loads(end.error) if end.error else None)


def test_a_cancelled_task_has_no_result() -> None:
    over = msgspec.structs.replace(MADE, status="cancelled")
    found = json.loads(tasks.shown(over, DECLARED, TOOL_ERROR))
    assert (found["status"], "result" in found) == ("cancelled", False)


def test_a_list_has_our_own_and_behind_them_what_a_server_lists() -> None:
    mine = [b'{"taskId":"a"}', b'{"taskId":"b"}']
    for page, found in (
        (b"", {}),
        (b"[1]", {}),
        (b'{"nextCursor":"c"}', {"nextCursor": "c"}),
        (b'{"tasks":5}', {}),
        (b'{"tasks":[1,2,3,4]}', {}),
    ):
        ours = [{"taskId": "a"}, {"taskId": "b"}]
        assert json.loads(tasks.listed(mine, page, most=3)) == {**found, "tasks": ours}
    both = json.loads(tasks.listed(mine[:1], b'{"x":1,"tasks":[{"taskId":"c"},2]}', most=3))
    assert both == {"x": 1, "tasks": [{"taskId": "a"}, {"taskId": "c"}, 2]}


def test_a_result_says_whose_it_is_and_stays_what_it_was() -> None:
    found = json.loads(tasks.related(b'{"content":[1.50],"_meta":{"k":1}}', "t1"))
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t1"}}
    assert found == {"content": [1.5], "_meta": {"k": 1, **related}}
    assert b"1.50" in tasks.related(b'{"content":[1.50]}', "t1")
    assert json.loads(tasks.related(b'{"_meta":null}', "t1"))["_meta"] == related
