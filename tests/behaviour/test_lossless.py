"""Nothing is lost: what a server says arrives as it was said, and what a client says likewise.

MGP-1.2-1: behaviour is extended, never modified or removed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway
from tests.behaviour.hosts import EVERY_DOOR, RpcError, host
from tests.behaviour.wires import MODERN
from tests.tool_servers.extras import ERROR_DATA, EVERYTHING, HARD, RESULTS, SPACED, TOOL_ERROR

pytestmark = pytest.mark.parametrize("door", EVERY_DOOR)


def numbers(text: str) -> Any:
    """JSON with every number as its text, so that nothing is rounded by the comparison."""
    return json.loads(text, parse_int=lambda t: ("int", t), parse_float=lambda t: ("float", t))


def members(frame: bytes) -> dict[str, Any]:
    found: dict[str, Any] = numbers(frame.decode())["result"]
    return found


def without_modern(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what the modern revision adds to every one."""
    for name in ("resultType", "ttlMs", "cacheScope"):
        result.pop(name, None)
    meta = result.get("_meta", {})
    meta.pop("io.modelcontextprotocol/serverInfo", None)
    if not meta:
        result.pop("_meta", None)
    return result


@pytest.mark.parametrize(
    ("tool", "sent"),
    [("everything", EVERYTHING), ("tool_error", TOOL_ERROR), ("spaced", SPACED)],
)
async def test_a_tool_result_arrives_with_every_member(
    bare: Gateway, door: str, tool: str, sent: str
) -> None:
    async with host(bare, door) as client:
        ident = await client.start("tools/call", {"name": tool, "arguments": {}})
        await client.finish(ident)
        frame = client.frame_of(ident)
        assert without_modern(members(frame)) == numbers(sent)
        if not client.modern:
            assert sent.encode() in frame


async def test_lists_reads_prompts_and_completions_arrive_with_every_member(
    bare: Gateway, door: str
) -> None:
    asked: dict[str, dict[str, Any]] = {
        "resources/list": {},
        "resources/templates/list": {},
        "prompts/list": {},
        "resources/read": {"uri": "extra:///a%20b?q=1#f"},
        "prompts/get": {"name": "p", "arguments": {}},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "x", "value": ""},
        },
    }
    async with host(bare, door) as client:
        for method, params in asked.items():
            ident = await client.start(method, params)
            await client.finish(ident)
            found = without_modern(members(client.frame_of(ident)))
            sent = numbers(RESULTS[method])
            if method.endswith("/list"):
                key = next(one for one in sent if isinstance(sent[one], list))
                assert found[key] == sent[key]
            else:
                assert found == sent


async def test_tool_definitions_arrive_with_every_member(bare: Gateway, door: str) -> None:
    async with host(bare, door) as client:
        ident = await client.start("tools/list")
        await client.finish(ident)
        found = members(client.frame_of(ident))["tools"]
        sent = numbers(RESULTS["tools/list"])["tools"]
        for one in sent:
            del one["security"]  # MGP's; unseen by a client that did not offer MGP
        assert found == sent


async def test_arguments_reach_the_server_with_every_member(bare: Gateway, door: str) -> None:
    meta = '"vendor/meta":' + HARD
    if door.endswith(MODERN):
        meta += (
            ',"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
            '"io.modelcontextprotocol/clientCapabilities":{}'
        )
    params = (
        f'{{"name":"mirror","arguments":{{"value":{HARD}}},"vendor":{HARD},"_meta":{{{meta}}}}}'
    )
    async with host(bare, door) as client:
        ident = await client.start("tools/call", params)
        await client.finish(ident)
        seen = members(client.frame_of(ident))["params"]
        sent = numbers(params.replace("-0,", "0,"))  # the integer zero has no sign
        sent["_meta"] = {"vendor/meta": sent["_meta"]["vendor/meta"]}
        assert seen == sent


async def test_a_declared_method_and_its_answer_pass(bare: Gateway, door: str) -> None:
    async with host(bare, door) as client:
        ident = await client.start("vendor/thing", {"odd": [None, {"deep": True}]})
        result = await client.finish(ident)
        assert result["odd"] == [None, {"deep": True}]


async def test_an_error_arrives_with_code_message_and_data(bare: Gateway, door: str) -> None:
    async with host(bare, door) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("fail")
        assert (caught.value.code, caught.value.message) == (-31999, "extra failure")
        frame = next(one for one in client.frames if b"-31999" in one)
        assert numbers(frame.decode())["error"]["data"] == numbers(ERROR_DATA)


async def test_capabilities_nobody_knows_are_advertised(bare: Gateway, door: str) -> None:
    async with host(bare, door) as client:
        assert client.hello["capabilities"]["vendor"]["z"] is None
        assert client.hello["capabilities"]["extensions"]["com.example/thing"] == {"level": 1.0}


async def test_declared_notifications_during_a_call_arrive(bare: Gateway, door: str) -> None:
    async with host(bare, door) as client:
        meta: dict[str, Any] = {"progressToken": "tok"}
        if client.modern:
            meta["io.modelcontextprotocol/logLevel"] = "debug"
        await client.request("tools/call", {"name": "chatter", "arguments": {}, "_meta": meta})
        progress = await client.note("notifications/progress")
        assert progress["params"]["progressToken"] == "tok"
        assert progress["params"]["vendor"]["z"] is None
        assert (await client.note("notifications/vendor.news"))["params"]["z"] is None
