"""MGP §4 and §7 of tools that servers declare themselves, or only name: listed as declared, and judged in front of the server.

The inputs are inert: the tools only say what they got.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "code_safety", "audit"]}}
DOORS = ("http 2025-11-25", "http 2026-07-28", "websocket 2025-11-25")
pytestmark = pytest.mark.timeout(180)

SERVER = """
import json, sys
tools = json.load(open(sys.argv[1]))
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident = asked["method"], asked.get("id")
    if method == "initialize":
        mgp = {"mgp": {"version": "0.2.0", "extensions": ["security", "code_safety"]}} if len(sys.argv) > 2 else {}
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, **mgp},
                               "serverInfo": {"name": "declaring", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": tools})
    elif method == "tools/call":
        got = json.dumps(asked["params"]["arguments"])
        send(id=ident, result={"content": [{"type": "text", "text": got}]})
    elif ident is not None:
        send(id=ident, error={"code": -32601, "message": "no"})
"""
CREATE = {
    "risk_level": "dangerous",
    "permissions_required": ["code_execution"],
    "validator": "code_safety",
    "code_safety": {
        "level": "standard",
        "language": "python",
        "max_code_size_bytes": 10000,
        "blocked_imports": ["subprocess", "shutil", "socket", "ctypes"],
        "blocked_patterns": ["eval(", "exec(", "__import__(", "os.system"],
        "allowed_imports": ["asyncio", "json", "httpx", "os", "datetime", "typing"],
    },
}
"""The example of §7.3."""
EXECUTE = {
    "risk_level": "dangerous",
    "permissions_required": ["shell.execute"],
    "side_effects": ["filesystem", "process"],
    "validator": "sandbox",
    "reversible": False,
    "confirmation_required": True,
}
"""The example of §4.2."""


def of_level(level: str, **more: Any) -> dict[str, Any]:
    return {
        "risk_level": "safe",
        "validator": "code_safety",
        "code_safety": {"level": level, **more},
    }


LEVELS = {level: of_level(level) for level in ("unrestricted", "standard", "strict", "readonly")}
DECLARED: dict[str, tuple[str, dict[str, Any]]] = {
    "create_mcp_server": ("code", CREATE),
    "execute_command": ("command", EXECUTE),
    "lenient": ("command", {"risk_level": "safe", "validator": "none"}),
    "safe": ("text", {"risk_level": "safe"}),
    "moderate": ("text", {"risk_level": "moderate"}),
    "asking": (
        "text",
        {"risk_level": "moderate", "confirmation_required": True, "reversible": False},
    ),
    "strange": ("text", {"risk_level": "harmless"}),
    "unknown": ("text", {"risk_level": "safe", "validator": "prayer"}),
    "own": (
        "code",
        of_level("standard", blocked_imports=["graphlib"], blocked_patterns=["print("]),
    ),
    "small": ("code", of_level("strict", max_code_size_bytes=20)),
    **{level: ("code", security) for level, security in LEVELS.items()},
}


def tool(name: str, argument: str, security: dict[str, Any] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}}
    found = {"name": name, "inputSchema": schema}
    return found if security is None else {**found, "security": security}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("declared")
    (folder / "server.py").write_text(SERVER)
    listed = {
        "declaring": [tool(name, *said) for name, said in DECLARED.items()],
        "plain": [tool("execute_command", "command"), tool("say", "command")],
    }
    for ident, tools in listed.items():
        (folder / f"{ident}.json").write_text(json.dumps(tools))

    def entry(ident: str, *arguments: str, **more: Any) -> dict[str, Any]:
        args = [str(folder / "server.py"), str(folder / f"{ident}.json"), *arguments]
        return {"id": ident, "command": sys.executable, "args": args, **more}

    approved = {"permissions_required": ["code_execution", "shell.execute"]}
    servers = [
        entry("declaring", "mgp", mgp=approved, tools={"lenient": {"validator": "sandbox"}}),
        entry("plain"),
    ]
    named = (
        "create_mcp_server",
        "execute_command",
    )  # so that nobody has to confirm a dangerous one
    grants = [{"agent": "*", "server": "declaring", "tool": one} for one in named]
    grants += [{"agent": "*", "server": ident} for ident in listed]
    with running(
        folder, config(*servers, grants=grants, approvals={"approver": "caller"})
    ) as gateway:
        yield gateway


async def blocked(client: Any, name: str, **arguments: str) -> int:
    """The code with which a call is refused."""
    with pytest.raises(RpcError) as caught:
        await client.call(name, **arguments)
    return caught.value.code


@pytest.mark.parametrize("door", DOORS)
async def test_what_servers_declare_is_listed_as_they_declare_it(house: Gateway, door: str) -> None:
    """MGP-4.2-1, MGP-7.3-1: every field of the examples, to who negotiated it."""
    async with host(house, door, can=OFFER) as client:
        listed = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
    assert listed["declaring__execute_command"]["security"] == EXECUTE
    assert listed["declaring__create_mcp_server"]["security"] == CREATE | {
        "confirmation_required": False
    }


@pytest.mark.parametrize("door", DOORS)
async def test_the_lists_that_a_tool_declares_are_enforced(house: Gateway, door: str) -> None:
    """MGP-7.3-1, MGP-14.3-6: each of its blocked imports and patterns, its size; what it does not name passes."""
    rules = CREATE["code_safety"]
    assert isinstance(rules, dict)
    name = "declaring__create_mcp_server"
    async with host(house, door, can=OFFER) as client:
        for module in rules["blocked_imports"]:
            assert await blocked(client, name, code=f"import {module}") == 1011
        for code in ("eval('1')", "exec('1')", "__import__('json')", "import os\nos.system('x')"):
            assert any(one in code for one in rules["blocked_patterns"])
            assert await blocked(client, name, code=code) == 1011
        assert await blocked(client, name, code="#" * 10_001) == 1011
        for code in ("import graphlib", "print(1)"):  # which no list but its own has
            assert await blocked(client, "declaring__own", code=code) == 1011
            assert await client.text("declaring__standard", code=code)
        for code in ("import json, yaml", "#" * 10_000):
            assert json.loads(await client.text(name, code=code)) == {"code": code}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("code", "passes"),
    [
        ("import socket", ["unrestricted"]),
        ("import yaml", ["unrestricted", "standard"]),
        ("import json", ["unrestricted", "standard", "strict", "readonly"]),
        ("open('a', 'w')", ["unrestricted", "standard"]),
        ("#" * 10_001, ["unrestricted"]),  # the default of every level that judges
        ("#" * 10_000, ["unrestricted", "standard", "strict", "readonly"]),
    ],
)
async def test_each_level_of_code_safety_passes_what_it_says(
    house: Gateway, door: str, code: str, passes: list[str]
) -> None:
    """MGP-7.2-1, MGP-7.2-2, MGP-7.2-3, MGP-7.2-4."""
    async with host(house, door, can=OFFER) as client:
        for level in LEVELS:
            if level in passes:
                assert json.loads(await client.text(f"declaring__{level}", code=code))
            else:
                assert await blocked(client, f"declaring__{level}", code=code) == 1011
        assert await blocked(client, "declaring__small", code="#" * 21) == 1011
        assert await client.text("declaring__small", code="#" * 20)


async def test_rejected_code_is_an_event_with_what_was_wrong(house: Gateway) -> None:
    """MGP-6.4-11: beside the end of the call, under its trace."""
    trace = "11111111-2222-4333-8444-666666666666"
    call = {
        "name": "declaring__standard",
        "arguments": {"code": "import socket"},
        "trace_id": trace,
    }
    async with host(house, can=OFFER) as client:
        with pytest.raises(RpcError):
            await client.request("tools/call", call)
    (rejected,) = (
        one for one in house.audit("--trace", trace) if one["event_type"] == "CODE_REJECTED"
    )
    assert rejected["details"]["violations"] == ["Blocked import: 'socket'"]
    assert rejected["target"] == {"server_id": "declaring", "tool_name": "standard"}


ASKS = {"safe": False, "moderate": False, "asking": True, "strange": True}
"""Tool → whether a person is asked before it runs."""


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
@pytest.mark.parametrize("door", DOORS)
async def test_who_is_asked_before_a_tool_runs_is_what_was_declared(
    house: Gateway, door: str, action: str
) -> None:
    """MGP-4.3-5, MGP-4.3-6, MGP-4.4-1, MGP-4.4-2: asked first and told of what cannot be undone; without a yes nothing runs."""
    asked: list[str] = []
    trace = str(uuid.uuid4())

    def ran() -> list[str]:
        found = house.audit("--trace", trace, "--event", "TOOL_EXECUTED")
        return [one["target"]["tool_name"] for one in found if one["outcome"] == "success"]

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": action, "content": {"confirm": True}}  # a form is no yes by itself

    async with host(house, door, can={"elicitation": {}, **OFFER}, answer=answer) as client:
        for tool, asks in ASKS.items():
            before = len(asked)
            call = {"name": f"declaring__{tool}", "arguments": {"text": "x"}, "trace_id": trace}
            if asks and action != "accept":
                with pytest.raises(RpcError) as caught:
                    await client.request("tools/call", call)
                assert caught.value.code == 1000
            else:
                assert "x" in json.dumps(await client.request("tools/call", call))
            assert len(asked) - before == asks
    assert sorted(ran()) == sorted(one for one in ASKS if not ASKS[one] or action == "accept")
    undone = [one for one in asked if "cannot be undone" in one]
    assert len(undone) == 1
    assert "asking" in undone[0]


@pytest.mark.parametrize("door", DOORS)
async def test_a_tool_that_is_only_named_like_a_shell_is_judged_as_one(
    house: Gateway, door: str
) -> None:
    """MGP-8.2-1: of a server without MGP, of which nobody says anything."""
    async with host(house, door, can=OFFER) as client:
        assert await client.text("plain__execute_command", command="ls")
        assert await blocked(client, "plain__execute_command", command="ls; id") == 1010
        assert "ls; id" in await client.text("plain__say", command="ls; id")


@pytest.mark.parametrize("door", DOORS)
async def test_the_word_of_a_server_weakens_nothing(house: Gateway, door: str) -> None:
    """MGP-4.5-7, MGP-4.3-4: neither its `none` against the operator's validator, nor a validator that there is not."""
    async with host(house, door, can=OFFER) as client:
        assert await client.text("declaring__lenient", command="ls")
        assert await blocked(client, "declaring__lenient", command="ls; id") == 1010
        assert await blocked(client, "declaring__unknown", text="anything") == 1010
