"""MGP beside MCP: the same conversation with and without it, every extension at work at once, and what a pair agrees on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.protocol.negotiate import EXTENSIONS
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import EVERY_DOOR, Host, RpcError, host
from tests.behaviour.test_mgp_negotiation import PLACES, answered, offer

ALL = {"mgp": {"version": "0.2.0", "extensions": list(EXTENSIONS)}}
ANSWERS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ana", "age": 7}},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "word"},
        "model": "m",
    },
    "roots/list": {"roots": [{"uri": "file:///home/ana", "name": "home"}]},
}
CAN = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}


def _tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": f"asker__{name}", "arguments": arguments}


PROGRESS = _tool("progress", steps=2)[1] | {"_meta": {"progressToken": "p"}}
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("ping", {}),
    ("tools/list", {}),
    _tool("structured", a=2, b=3),
    _tool("tool_error"),
    _tool("fail"),
    _tool("ask_elicitation"),
    _tool("ask_sampling"),
    _tool("ask_roots"),
    _tool("large", bytes=100_000),
    ("tools/call", PROGRESS),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "asker:///alpha"}),
    ("resources/read", {"uri": "asker:///nobody"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "asker__greet", "arguments": {"who": "Ana"}}),
    ("prompts/get", {"name": "asker__nobody"}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "asker__greet"},
            "argument": {"name": "who", "value": "A"},
        },
    ),
    ("logging/setLevel", {"level": "info"}),
    _tool("log"),
    ("resources/subscribe", {"uri": "asker:///alpha"}),
    _tool("touch", uri="asker:///alpha"),
    ("resources/unsubscribe", {"uri": "asker:///alpha"}),
    _tool("touch", uri="asker:///alpha"),
    ("no/such", {}),
]


def _plain(value: Any) -> Any:
    """A message without what MGP adds to it."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {
        name: _plain(one) for name, one in value.items() if name not in {"_mgp", "security", "mgp"}
    }
    if "_meta" in found:
        found["_meta"] = {
            name: one for name, one in found["_meta"].items() if not name.startswith("dev.cloto/")
        }
        if not found["_meta"]:
            del found["_meta"]
    return found


async def _conversation(gateway: Gateway, door: str, can: dict[str, Any]) -> list[Any]:
    """Every answer, every question and every notification of it, in order of the requests that they belong to."""
    asked: list[Any] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        asked.append([method, params])
        return ANSWERS[method]

    async with host(gateway, door, can=can, answer=answer) as client:
        said: list[Any] = [client.hello]
        for method, params in STEPS:
            before = len(client.notes)
            try:
                found: Any = await client.request(method, params)
            except RpcError as problem:
                found = [problem.code, problem.message, problem.data]
            if method == "tools/call" and params["name"] == "asker__touch":
                await client.request("tools/list")  # what is told beside the answer is there by now
            told = [one for one in client.notes[before:] if "mgp" not in one["method"]]
            said.append([method, found, asked.copy(), told])
            asked.clear()
    plain = json.dumps(_plain(said))
    return json.loads(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", plain))  # type: ignore[no-any-return]


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_whole_conversation_of_mcp_is_the_same_with_all_of_mgp(
    several: Gateway, door: str
) -> None:
    """MGP-1.2-1: answers, errors, questions and notifications; nothing is changed and nothing left out. To the data of an error there is
    something added."""
    without = await _conversation(several, door, CAN)
    extended = await _conversation(several, door, {**CAN, **ALL})
    assert len(without) == len(extended) == len(STEPS) + 1
    assert without[0] == extended[0]
    for one, other in zip(without[1:], extended[1:], strict=True):
        if isinstance(one[1], list):
            added = other[1].pop()
            kept = one[1].pop()
            assert kept is None or {name: added.get(name) for name in kept} == kept
        assert one == other
    answers = [found for _, found, _, _ in without[1:]]
    assert sum(isinstance(one, dict) for one in answers) >= 14


# -- everything at once

TOOLS = {"echo": {"validator": "code_safety", "validator_options": {"level": "strict"}}}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of servers that speak MGP, each with a part of it."""
    content = config(
        server(
            "mgp_server",
            "governed",
            mgp={"extensions": ["security", "audit", "lifecycle"], "trust_level": "trusted"},
        ),
        server("streaming", "far", mgp={"extensions": ["streaming"]}),
        server("eventful", mgp={"extensions": ["security", "bidirectional"]}),
        server("echo", "checked", tools=TOOLS),
    )
    with running(tmp_path_factory.mktemp("full"), content) as gateway:
        yield gateway


async def _security(client: Host) -> None:
    listed = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
    assert listed["governed__hello"]["security"]["risk_level"] == "safe"


async def _access_control(client: Host) -> None:
    asked = {"agent_id": "somebody-else", "server_id": "governed", "tool_name": "hello"}
    with pytest.raises(RpcError) as refused:  # it is there, and an operator's
        await client.request("mgp/access/query", asked)
    assert refused.value.code in {1000, 1001}


async def _audit(client: Host) -> None:
    if client.modern:
        await client.start("subscriptions/listen", {"notifications": {"dev.cloto/audit": True}})
        await client.note("notifications/subscriptions/acknowledged")
    await client.call("governed__annotated")
    told = await client.note(
        "notifications/mgp.audit",
        lambda one: one["params"].get("target", {}).get("tool_name") == "annotated",
    )
    assert told["params"]["result"] == "SUCCESS"


async def _code_safety(client: Host) -> None:
    with pytest.raises(RpcError) as refused:
        await client.call("checked__echo", message="import socket")
    assert refused.value.data["_mgp"]["category"] in {"validation", "security"}
    assert await client.text("checked__echo", message="import json") == "import json"


async def _lifecycle(client: Host) -> None:
    assert (await client.request("mgp/health/ping", {}))["server_id"] == "gatewright"


async def _streaming(client: Host) -> None:
    params = {"name": "far__think", "arguments": {"text": "a b c"}, "_mgp": {"stream": True}}
    result = await client.request("tools/call", params)
    assert (await client.note("notifications/mgp.stream.chunk"))["params"]["index"] == 0
    said = result["_mgp"]
    assert (said["streamed"], said["chunks_sent"], said["duration_ms"] >= 0) == (True, 3, True)
    stopped = await client.request("mgp/stream/cancel", {"request_id": "nothing"})
    assert stopped == {"cancelled": False, "reason": "not_active"} | _modern(client, stopped)


def _modern(client: Host, result: dict[str, Any]) -> dict[str, Any]:
    """What the modern revision adds to every result."""
    return {one: result[one] for one in ("resultType", "_meta") if client.modern and one in result}


async def _bidirectional(client: Host) -> None:
    if client.modern:
        wanted = {"channels": ["model.*"]}
        await client.start("subscriptions/listen", {"notifications": {"dev.cloto/events": wanted}})
        await client.note("notifications/subscriptions/acknowledged")
    else:
        found = await client.request("mgp/events/subscribe", {"channels": ["model.*"]})
        assert found["subscribed"] == ["model.*"]
    await client.call("eventful__emit", channel="model.token_usage", data={"tokens_used": 1})
    assert (await client.note("notifications/mgp.event"))["params"]["data"] == {"tokens_used": 1}


async def _discovery(client: Host) -> None:
    found = (await client.request("mgp/discovery/list"))["servers"]
    governed = next(one for one in found if one["id"] == "governed")
    assert set(governed["extensions"]) == {"security", "audit", "lifecycle"}


async def _tool_discovery(client: Host) -> None:
    found = await client.request("mgp/tools/discover", {"query": "echo", "max_results": 3})
    assert "echo" in json.dumps(found["tools"])


WORK = {
    "security": _security,
    "access_control": _access_control,
    "audit": _audit,
    "code_safety": _code_safety,
    "lifecycle": _lifecycle,
    "streaming": _streaming,
    "bidirectional": _bidirectional,
    "discovery": _discovery,
    "tool_discovery": _tool_discovery,
}
LASTING = [one for one in EVERY_DOOR if one != "http 2026-07-28"]
"""Doors at which somebody without a name can be told something."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", LASTING)
async def test_each_extension_that_was_agreed_on_is_at_work_in_one_session(
    full: Gateway, door: str, place: str
) -> None:
    """MGP-1.3-4: the handshake says all nine, and the messages of each of them work, one after the other."""
    assert set(WORK) == set(EXTENSIONS)
    async with host(full, door, can=offer(place, list(EXTENSIONS))) as client:
        assert answered(client.hello) == {
            place: {"version": "0.2.0", "extensions": list(EXTENSIONS)}
        }
        for name, work in WORK.items():
            try:
                await work(client)
            except (AssertionError, TimeoutError, RpcError) as problem:
                raise AssertionError(f"{name}: {problem!r}") from problem


# -- the pair of the specification

PAIR = '''
import sys
from gatewright.mcp.protocol.negotiate import Face
from gatewright.sdk import Server

server = Server("pair", face=Face(("security", "audit")))


@server.tool
def hello() -> str:
    """Say hello."""
    return "hello"


server.run() if sys.argv[1] == "stdio" else server.run_http(port=0)
'''
THREE = ["security", "access_control", "audit"]


def _hello(place: str) -> bytes:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": offer(place, THREE, "0.1.0"),
        "clientInfo": {"name": "t", "version": "1"},
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    ).encode()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_the_pair_of_the_specification_agrees_on_security_and_audit_alone(
    tmp_path: Path, wire: str, place: str
) -> None:
    """MGP-2.3-4: the client offers three, the server has two of them; the reply stands in the place of the offer, at the lower version."""
    script = tmp_path / "pair.py"
    script.write_text(PAIR, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), wire], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            if wire == "stdio":
                process.stdin.write(_hello(place) + b"\n")
                process.stdin.flush()
                said = process.stdout.readline()
            else:
                url = process.stdout.readline().decode().split()[-1]
                head = {
                    "content-type": "application/json",
                    "accept": "application/json, text/event-stream",
                }
                request = urllib.request.Request(url, _hello(place), head)  # noqa: S310 - our own
                with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own
                    said = answer.read()
        finally:
            process.terminate()
    found = answered(json.loads(said)["result"])
    assert found == {place: {"version": "0.1.0", "extensions": ["security", "audit"]}}


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_gateway_asks_a_server_for_no_more_than_both_have(full: Gateway, door: str) -> None:
    """MGP-2.3-4 from the other side: of four extensions that this server has, three were wanted of it, whatever its callers offer."""
    async with host(full, door, can=offer("mgp", THREE)) as client:
        assert answered(client.hello)["mgp"]["extensions"] == THREE
        agreed = json.loads(await client.text("governed__hello"))["extensions"]
        assert agreed == ["security", "audit", "lifecycle"]
        seen = json.loads(await client.text("governed__requests"))
    assert not [
        one for one in seen if one["method"].startswith("mgp/") and "health" not in one["method"]
    ]
