"""The stateless server refuses what it has to, carries its state in sealed rounds, and is listened to."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import aiohttp
import pytest

from tests.tool_servers.drive import DEADLINE, Child, listening, started

PREFIX = "io.modelcontextprotocol/"
CAN_ALL: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
WHO = {"action": "accept", "content": {"name": "Ada"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "word"}, "model": "m"}
PLACES = {"roots": [{"uri": "file:///x"}]}


def _with_meta(params: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    fields = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": CAN_ALL}
    return {**(params or {}), "_meta": {**fields, **meta}}


async def _call(child: Child, tool: str, **params: Any) -> Any:
    return await child.request("tools/call", _with_meta({"name": tool, **params}))


async def test_discovery_names_the_only_version_and_carries_caching_hints() -> None:
    async with started("modern_asker") as child:
        told = await child.request("server/discover", _with_meta())
        assert told["supportedVersions"] == ["2026-07-28"]
        assert (told["resultType"], told["ttlMs"], told["cacheScope"]) == (
            "complete",
            60000,
            "public",
        )
        assert told["_meta"][PREFIX + "serverInfo"]["name"] == "modern_asker"


async def test_a_handshake_is_refused_with_the_versions_that_are_spoken() -> None:
    async with started("modern_asker") as child:
        error = await child.refused("initialize", {"protocolVersion": "2025-11-25"})
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "vendor/x"])
async def test_removed_and_unknown_methods_are_not_found(method: str) -> None:
    async with started("modern_asker") as child:
        assert (await child.refused(method, _with_meta()))["code"] == -32601


async def test_a_request_without_its_fields_or_with_another_version_is_refused() -> None:
    async with started("modern_asker") as child:
        assert (await child.refused("tools/list", {}))["code"] == -32602
        later = _with_meta(None, **{PREFIX + "protocolVersion": "2027-01-01"})
        assert (await child.refused("tools/list", later))["code"] == -32022
        poor = _with_meta({"name": "ask_sampling"}, **{PREFIX + "clientCapabilities": {}})
        error = await child.refused("tools/call", poor)
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("ask_elicitation", {"who": WHO}),
        ("ask_sampling", {"word": SAID}),
        ("ask_roots", {"places": PLACES}),
        ("ask_three", {"who": WHO, "word": SAID, "places": PLACES}),
    ],
)
async def test_one_round_asks_and_the_retry_completes(tool: str, given: dict[str, Any]) -> None:
    async with started("modern_asker") as child:
        first = await _call(child, tool)
        assert first["resultType"] == "input_required"
        assert set(first["inputRequests"]) == set(given)
        state = first["requestState"]
        again = await _call(child, tool, requestState=state, inputResponses={})
        assert again["resultType"] == "input_required"
        last = await _call(child, tool, requestState=state, inputResponses=given)
        assert last["resultType"] == "complete"
        assert json.loads(last["content"][0]["text"]) == given


async def test_two_rounds_carry_the_first_answer_in_a_new_state() -> None:
    async with started("modern_asker") as child:
        first = await _call(child, "ask_twice")
        second = await _call(
            child,
            "ask_twice",
            requestState=first["requestState"],
            inputResponses={"who": WHO},
        )
        assert set(second["inputRequests"]) == {"word"}
        assert second["requestState"] != first["requestState"]
        last = await _call(
            child,
            "ask_twice",
            requestState=second["requestState"],
            inputResponses={"word": SAID},
        )
        assert json.loads(last["content"][0]["text"]) == {"first": WHO, "second": SAID}


async def test_a_round_may_ask_for_nothing_but_another_call() -> None:
    async with started("modern_asker") as child:
        first = await _call(child, "come_again")
        assert "inputRequests" not in first
        last = await _call(child, "come_again", requestState=first["requestState"])
        assert last["content"][0]["text"] == "welcome back"


async def test_a_changed_or_borrowed_state_is_refused() -> None:
    async with started("modern_asker") as child:
        state = (await _call(child, "ask_elicitation"))["requestState"]
        for tool, sent in (("ask_elicitation", state + "x"), ("ask_roots", state)):
            error = await child.refused(
                "tools/call", _with_meta({"name": tool, "requestState": sent})
            )
            assert error["code"] == -32602


async def test_prompts_and_resources_ask_as_well() -> None:
    async with started("modern_asker") as child:
        for method, named in (
            ("prompts/get", {"name": "asks"}),
            ("resources/read", {"uri": "modern:///asks"}),
        ):
            first = await child.request(method, _with_meta(named))
            back = {"requestState": first["requestState"], "inputResponses": {"who": WHO}}
            last = await child.request(method, _with_meta({**named, **back}))
            assert last["resultType"] == "complete"
        error = await child.refused("resources/read", _with_meta({"uri": "modern:///none"}))
        assert (error["code"], error["data"]) == (-32602, {"uri": "modern:///none"})


async def test_listeners_are_acknowledged_first_and_hear_only_what_they_asked_for() -> None:
    async with started("modern_asker") as child:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["modern:///alpha"]}
        key = await child.ask("subscriptions/listen", _with_meta({"notifications": wanted}))
        first = await child.next_call("notifications/subscriptions/acknowledged")
        assert first["params"]["notifications"] == wanted
        await _call(child, "change_prompts")
        await _call(child, "grow")
        await _call(child, "touch", arguments={"uri": "modern:///beta"})
        await _call(child, "touch", arguments={"uri": "modern:///alpha"})
        heard = [each for each in child.seen if "method" in each]
        assert [each["method"] for each in heard] == [
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ]
        tags = [each["params"]["_meta"][PREFIX + "subscriptionId"] for each in [first, *heard]]
        assert tags == [key, key, key]
        await _call(child, "end_listening")
        assert (await child.answer_to(key))["result"]["resultType"] == "complete"


async def test_cancelling_a_listener_over_a_pipe_ends_it_without_an_answer() -> None:
    async with started("modern_asker") as child:
        key = await child.ask("subscriptions/listen", _with_meta({"notifications": {}}))
        await child.next_call("notifications/subscriptions/acknowledged")
        gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": key}}
        await child.send(gone)
        assert (await _call(child, "end_listening"))["content"][0]["text"] == "0"
        assert child.seen == []


async def test_log_lines_come_only_when_the_request_wants_them() -> None:
    async with started("modern_asker") as child:
        await _call(child, "log")
        assert child.seen == []
        asked = _with_meta({"name": "log"}, **{PREFIX + "logLevel": "alert"})
        await child.request("tools/call", asked)
        assert [each["params"]["level"] for each in child.seen] == ["alert", "emergency"]


def _headers(method: str, name: str | None = None, **more: str) -> dict[str, str]:
    told = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        **more,
    }
    return told if name is None else {**told, "Mcp-Name": name}


async def _post(
    http: aiohttp.ClientSession, url: str, headers: dict[str, str], method: str, params: Any
) -> tuple[int, dict[str, Any]]:
    body = {"jsonrpc": "2.0", "id": 9, "method": method, "params": params}
    async with asyncio.timeout(DEADLINE), http.post(url, json=body, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_over_http_error_codes_decide_the_status() -> None:
    async with listening("modern_asker") as url, aiohttp.ClientSession() as http:
        good = _headers("tools/list")
        assert (await _post(http, url, good, "tools/list", _with_meta()))[0] == 200
        assert (await _post(http, url, good, "tools/list", {}))[0] == 400
        status, body = await _post(http, url, _headers("x/y"), "x/y", _with_meta())
        assert (status, body["error"]["code"], body["id"]) == (404, -32601, 9)
        status, body = await _post(http, url, _headers("tools/call"), "tools/list", _with_meta())
        assert (status, body["error"]["code"]) == (400, -32020)
        older = _headers("tools/list", **{"MCP-Protocol-Version": "2025-11-25"})
        status, body = await _post(http, url, older, "tools/list", _with_meta())
        assert (status, body["error"]["code"]) == (400, -32020)


async def test_over_http_names_and_annotated_arguments_have_to_stand_in_the_headers() -> None:
    async with listening("modern_asker") as url, aiohttp.ClientSession() as http:
        params = _with_meta({"name": "located", "arguments": {"region": "süd"}})
        packed = "=?base64?" + base64.b64encode("süd".encode()).decode() + "?="
        good = _headers("tools/call", "located", **{"Mcp-Param-Region": packed})
        assert (await _post(http, url, good, "tools/call", params))[0] == 200
        for bad in (
            _headers("tools/call", "located"),
            _headers("tools/call", "echo", **{"Mcp-Param-Region": packed}),
            _headers("tools/call", "located", **{"Mcp-Param-Region": "=?base64?!?="}),
        ):
            status, body = await _post(http, url, bad, "tools/call", params)
            assert (status, body["error"]["code"]) == (400, -32020)
        told = _with_meta({"name": "headers"})
        _, body = await _post(http, url, _headers("tools/call", "headers"), "tools/call", told)
        seen = json.loads(body["result"]["content"][0]["text"])
        assert seen["mcp-name"] == "headers"


async def test_over_http_closing_the_connection_cancels_the_call() -> None:
    async with listening("modern_asker") as url, aiohttp.ClientSession() as http:
        slow = {"name": "slow", "arguments": {"seconds": 60}}
        asked = {
            "jsonrpc": "2.0",
            "id": 9,
            "method": "tools/call",
            "params": _with_meta(slow, progressToken="p"),
        }
        told = _with_meta({"name": "cancelled_ids"})
        headers = _headers("tools/call", "cancelled_ids")
        async with asyncio.timeout(DEADLINE):
            async with http.post(url, json=asked, headers=_headers("tools/call", "slow")) as answer:
                # The progress shows that the call has begun; then this caller hangs up.
                assert await answer.content.readline() == b"event: message\n"
                answer.close()
            seen: list[Any] = []
            while not seen:
                _, body = await _post(http, url, headers, "tools/call", told)
                seen = body["result"]["structuredContent"]["cancelled"]
        assert seen == [9]
