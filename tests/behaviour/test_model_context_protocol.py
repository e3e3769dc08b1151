"""Tools of seed 004 (model_context_protocol) and of the SDK in general, behind every kind of MCP door of a gateway.

The tools are a folder of `mcp_tools.py` modules that the gateway runs in its own process, governed like any server. They check nothing
themselves: what is refused is refused at the dispatch layer.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.sdk import MCPToolCall, MCPToolResult
from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import DOORS, RpcError, host

pytestmark = pytest.mark.timeout(180)

MEMORY = '''
"""Memory tools."""
from typing import Annotated, Any
from gatewright.sdk import Context, Length, ToolError, mcp_tool

_kept: dict[str, str] = {}

@mcp_tool
def put(key: Annotated[str, "what to keep it under", Length(1, 20)], value: str) -> dict[str, Any]:
    """Keep a value."""
    _kept[key] = value
    return {"stored": key, "length": len(value)}

@mcp_tool
async def get(key: str) -> str:
    """Give a value back."""
    if key not in _kept:
        raise ToolError(f"nothing is kept under {key}")
    return _kept[key]

@mcp_tool(destructive=True)
def wipe() -> str:
    """Forget everything. It has no check of its own."""
    _kept.clear()
    return "wiped"

@mcp_tool(timeout_s=0.2)
async def slow() -> str:
    """Never ends."""
    import asyncio
    await asyncio.Event().wait()
    return "over"

@mcp_tool
async def steps(context: Context, n: int) -> int:
    """Report each step."""
    for step in range(n):
        context.progress(step + 1, n)
    return n
'''
CEREBRUM = '''
from gatewright.sdk import mcp_tool

@mcp_tool(category="cerebrum")
def query_knowledge_base(query: str, limit: int = 5) -> dict[str, object]:
    """Retrieve cases.

    Args:
        query: What to look for.
        limit: How many cases at most.
    """
    return {"query": query, "cases": [query] * limit}

@mcp_tool
def thing() -> object:
    """Returns what has no JSON form."""
    return object()
'''


def folder_of_tools(home: Path) -> Path:
    for name, text in (
        ("memory", MEMORY),
        ("cerebrum", CEREBRUM),
        ("broken", "raise OSError('no disk')\n"),
    ):
        (home / "tools" / name).mkdir(parents=True)
        (home / "tools" / name / "mcp_tools.py").write_text(text)
    return home / "tools"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("python-tools")
    tools = str(folder_of_tools(home))
    content = config(
        {"id": "mine", "python": tools, "tools": {"memory_get": {"validator": "paths"}}},
        {"id": "trusting", "python": tools, "trust_gateway": "trusted"},
        {"id": "named", "python": tools},
        grants=[
            *({"agent": "*", "server": one} for one in ("mine", "trusting", "named")),
            {"agent": "*", "server": "named", "tool": "memory_wipe"},
        ],
        approvals={"approver": "caller"},
    )
    with running(home, content) as gateway:
        yield gateway


@pytest.mark.parametrize("door", DOORS)
async def test_the_phases_of_an_agent_work_at_every_door(house: Gateway, door: str) -> None:
    """CDM-pai-1, CDM-pai-2, CDM-pai-3, CDM-pai-4, CDM-con-3, CDM-mod-8, CDM-mod-12, CDM-api-3: observe, think, execute, verify;
    one tool over stdio, HTTP and WebSocket without a change; a broken module takes nothing along."""
    async with host(house, door) as client:
        tools = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
        mine = {name.removeprefix("mine__") for name in tools if name.startswith("mine__")}
        assert mine == {
            "cerebrum_query_knowledge_base",
            "cerebrum_thing",
            "memory_get",
            "memory_put",
            "memory_slow",
            "memory_steps",
            "memory_wipe",
        }
        schema = tools["mine__cerebrum_query_knowledge_base"]["inputSchema"]
        assert schema["required"] == ["query"]
        assert schema["properties"]["limit"] == {
            "type": "integer",
            "description": "How many cases at most.",
            "default": 5,
        }
        done = await client.call("mine__memory_put", key="a", value="hello")
        assert done.get("isError", False) is False
        assert done["content"][0]["type"] == "text"
        assert json.loads(done["content"][0]["text"]) == {"stored": "a", "length": 5}
        assert done["structuredContent"] == {"stored": "a", "length": 5}
        failed = await client.call("mine__memory_get", key="never")
        assert (failed["isError"], failed["content"][0]["type"]) == (True, "text")
        assert "nothing is kept under never" in failed["content"][0]["text"]


def agree(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    assert method == "elicitation/create"
    return {"action": "accept", "content": {"confirm": True}}


@pytest.mark.parametrize("door", DOORS)
async def test_a_destructive_tool_is_blocked_at_every_door_unless_trusted(
    house: Gateway, door: str
) -> None:
    """CDM-con-8, CDM-con-9, CDM-con-10, C-43: the tool has no check. It is dangerous, so a person is asked; who says yes meets
    the trust gateway at the dispatch layer."""
    async with host(house, door) as unasked:
        for server in ("mine", "trusting"):
            refused = await unasked.call(f"{server}__memory_wipe")
            assert refused["isError"] is True
            assert "needs confirmation" in refused["content"][0]["text"]
    async with host(house, door, can={"elicitation": {}}, answer=agree) as client:
        blocked = await client.call("mine__memory_wipe")
        assert blocked["isError"] is True
        assert "the trust gateway is UNTRUSTED" in blocked["content"][0]["text"]
        allowed = await client.call("trusting__memory_wipe")
        assert allowed["content"][0]["text"] == "wiped"


async def test_a_destructive_tool_is_blocked_at_the_doors_of_other_protocols_too(
    house: Gateway,
) -> None:
    """CDM-con-9: ggen, REST and Groundhog, of a tool that nobody has to confirm; one that destroys nothing passes at each of them."""
    fine, wipe = "named__memory_put", "named__memory_wipe"
    given = {"key": "a", "value": "b"}
    async with aiohttp.ClientSession() as http, connected(house.urls["websocket"]) as groundhog:

        async def ggen(tool: str, arguments: dict[str, str]) -> Any:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            body = call | {"params": {"name": tool, "arguments": arguments}}
            async with http.post(house.urls["rpc"], json=body) as answer:
                return await answer.json()

        async def rest(tool: str, arguments: dict[str, str]) -> Any:
            async with http.post(f"{house.urls['rest']}/{tool}", json=arguments) as answer:
                return answer.status

        assert (await ggen(fine, given))["result"]["stored"] == "a"
        assert (await ggen(wipe, {}))["error"]["code"] == -32005
        assert (await rest(fine, given), await rest(wipe, {})) == (200, 403)
        assert (await groundhog.invoke(fine, given))["data"]["stored"] == "a"
        refused = await groundhog.refusal("tools/invoke", {"tool_id": wipe, "parameters": {}})
        assert refused.data["error_type"] == "security_error"
    ran = house.audit("--tool", "memory_wipe", "--event", "TOOL_EXECUTED")
    assert not [
        one for one in ran if one["outcome"] == "success" and one["target"]["server_id"] == "named"
    ]


@pytest.mark.parametrize("door", DOORS)
async def test_every_fault_has_its_error_at_every_door(house: Gateway, door: str) -> None:
    """CDM-con-4, CDM-con-7, CDM-err-2, CDM-err-3, CDM-err-5, CDM-err-6, GGEN-to-1, GGEN-to-5, MGP-14.3-13: no fault is silent."""
    async with host(house, door, can=OFFER) as client:
        found: dict[str, Any] = {}
        for name, arguments in (
            ("mine__no_such_tool", {}),
            ("mine__memory_put", {"key": 3, "value": "x"}),
            ("mine__memory_put", {"key": "x" * 21, "value": "x"}),
            ("mine__memory_slow", {}),
            ("mine__cerebrum_thing", {}),
        ):
            try:
                result = await client.call(name, **arguments)
                found[name] = (result["isError"], result["content"][0]["text"])
            except RpcError as problem:
                found[name] = (problem.code, problem.message)
        assert found["mine__no_such_tool"][0] == 4001
        assert found["mine__memory_put"][0] == 4000
        assert found["mine__memory_slow"][0] == 3003
        assert "did not end within 0.2 s" in found["mine__memory_slow"][1]
        assert "has no JSON form" in found["mine__cerebrum_thing"][1]


def test_a_client_that_only_posts_json_is_understood(house: Gateway) -> None:
    """CDM-test-2, CDM-con-7, CDM-mod-2, CDM-mod-4: no session, no handshake, no event stream; the models of the SDK read what comes back.

    `pytest -k model_context_protocol` selects this file by its name.
    """

    def post(message: MCPToolCall) -> dict[str, Any]:
        head = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(house.url, message.to_text().encode(), head)  # noqa: S310 - our own
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own
            assert answer.headers["content-type"] == "application/json"
            found: dict[str, Any] = json.loads(answer.read())
            return found

    call = MCPToolCall(name="mine__memory_put", arguments={"key": "a", "value": "b"}, id="first")
    result = MCPToolResult.model_validate(post(call))
    assert (result.id, result.isError) == ("first", False)
    assert json.loads(result.content[0].text or "") == {"stored": "a", "length": 1}
    failed = post(MCPToolCall(name="mine__memory_get", arguments={"key": "never"}))
    assert MCPToolResult.model_validate(failed).isError is True
    unknown = post(MCPToolCall(name="mine__nothing"))["error"]
    assert -32603 <= unknown["code"] <= -32600 or -32099 <= unknown["code"] <= -32000


async def test_python_tools_are_governed_and_recorded_like_any_other(house: Gateway) -> None:
    """CDM-pai-5: who called what, how long it took and how it ended is in the record."""
    async with host(house) as client:
        await client.call("mine__memory_put", key="audited", value="x")
        refused = await client.call("mine__memory_get", key="/etc/../etc/shadow")
        assert refused["isError"] is True
    for tool in ("memory_put", "memory_get"):
        calls = [one for one in house.audit("--tool", tool) if "duration_ms" in one["details"]]
        assert calls


async def test_progress_of_a_python_tool_reaches_the_host(house: Gateway) -> None:
    async with host(house) as client:
        params = {
            "name": "mine__memory_steps",
            "arguments": {"n": 2},
            "_meta": {"progressToken": "p"},
        }
        assert (await client.request("tools/call", params))["structuredContent"] == {"result": 2}
        note = await client.note("notifications/progress")
        assert note["params"]["progressToken"] == "p"


async def test_a_new_module_is_announced_after_a_refresh(house: Gateway) -> None:
    """CDM-mod-11, CDM-api-3: notifications/tools/list_changed, and the tool is there."""
    more = house.folder / "tools" / "late"
    more.mkdir()
    (more / "mcp_tools.py").write_text(CEREBRUM)
    async with host(house) as client:
        house.cli("server", "restart", "mine")
        await client.note("notifications/tools/list_changed")
        while "mine__late_thing" not in await client.tools():
            await client.note("notifications/tools/list_changed")
        assert await client.text("mine__late_query_knowledge_base", query="q", limit=1)
    assert house.hears("left out: broken.mcp_tools: OSError: no disk")


def test_a_place_without_tools_keeps_its_server_down_and_says_why(tmp_path: Path) -> None:
    """CDM-con-4"""
    content = config({"id": "gone", "python": "./nowhere"}, {"id": "none", "python": "json"})
    with running(tmp_path, content) as gateway:
        listed = gateway.cli("server", "list", "--json")
    assert "there is no such file or folder" in listed
    assert "json has no @mcp_tool" in listed
