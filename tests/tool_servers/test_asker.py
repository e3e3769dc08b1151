"""The asking server does what a server of the handshake era may do, over a pipe and over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.tool_servers.drive import DEADLINE, Child, listening, started

CAN_ALL = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "word"}, "model": "m"}


async def _reply(child: Child, question: dict[str, Any], result: Any) -> None:
    await child.send({"jsonrpc": "2.0", "id": question["id"], "result": result})


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_version_that_is_asked_for_is_the_one_that_is_spoken(version: str) -> None:
    async with started("asker") as child:
        answer = await child.hello(version)
        assert answer["protocolVersion"] == version
        assert answer["instructions"] == "Ask before you answer."


async def test_an_elicitation_reaches_the_client_and_its_answer_the_tool() -> None:
    async with started("asker") as child:
        await child.hello(can=CAN_ALL)
        key = await child.ask("tools/call", {"name": "ask_elicitation", "arguments": {}})
        question = await child.next_call("elicitation/create")
        assert question["params"]["requestedSchema"]["properties"]["name"]["default"] == "nobody"
        await _reply(child, question, {"action": "accept", "content": {"name": "Ada"}})
        answer = await child.answer_to(key)
        assert json.loads(answer["result"]["content"][0]["text"])["content"] == {"name": "Ada"}


async def test_a_client_that_declared_nothing_is_not_asked() -> None:
    async with started("asker") as child:
        await child.hello()
        for tool in ("ask_elicitation", "ask_sampling", "ask_roots"):
            assert (await child.refused("tools/call", {"name": tool}))["code"] == -32602


async def test_two_questions_come_one_after_the_other_with_progress_between() -> None:
    async with started("asker") as child:
        await child.hello(can=CAN_ALL)
        asked = {"name": "ask_twice", "_meta": {"progressToken": "t"}}
        key = await child.ask("tools/call", asked)
        first = await child.next_call("elicitation/create")
        await _reply(child, first, {"action": "decline"})
        second = await child.next_call("sampling/createMessage")
        await _reply(child, second, SAID)
        answer = json.loads((await child.answer_to(key))["result"]["content"][0]["text"])
        assert answer == {"first": {"action": "decline"}, "second": SAID}
        told = [each["params"]["progress"] for each in child.seen]
        assert told == [0, 1, 2]


async def test_roots_are_asked_for_and_an_error_of_the_client_fails_the_call() -> None:
    async with started("asker") as child:
        await child.hello(can=CAN_ALL)
        key = await child.ask("tools/call", {"name": "ask_roots"})
        question = await child.next_call("roots/list")
        error = {"code": -1, "message": "user rejected"}
        await child.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
        assert (await child.answer_to(key))["error"] == error


async def test_a_cancelled_call_is_not_answered_and_is_remembered() -> None:
    async with started("asker") as child:
        await child.hello()
        asked = {"name": "slow", "arguments": {"seconds": 60}}
        key = await child.ask("tools/call", asked, key="c-1")
        gone = {"requestId": key, "reason": "changed my mind"}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone}
        await child.send(note)
        told = (await child.call("cancelled_ids"))["structuredContent"]
        assert told == {"cancelled": ["c-1"], "asked": ["c-1"], "finished": []}
        assert [each for each in child.seen if each.get("id") == "c-1"] == []


async def test_slow_calls_run_side_by_side() -> None:
    async with started("asker") as child:
        await child.hello()
        late = await child.ask("tools/call", {"name": "slow", "arguments": {"seconds": 0.3}})
        soon = await child.ask("tools/call", {"name": "slow", "arguments": {"seconds": 0}})
        first = await child.read()
        second = await child.read()
        assert [first["id"], second["id"]] == [soon, late]


async def test_a_grown_tool_is_announced_listed_and_works() -> None:
    async with started("asker") as child:
        await child.hello()
        before = len((await child.request("tools/list"))["tools"])
        name = await child.text("grow")
        await child.next_call("notifications/tools/list_changed")
        tools = (await child.request("tools/list"))["tools"]
        assert len(tools) == before + 1
        assert await child.text(name) == f"I am {name}"
        await child.call("shrink")
        assert len((await child.request("tools/list"))["tools"]) == before


async def test_only_subscribers_hear_of_a_touched_resource() -> None:
    async with started("asker") as child:
        await child.hello()
        assert await child.text("touch") == "False"
        await child.request("resources/subscribe", {"uri": "asker:///alpha"})
        assert await child.text("touch") == "True"
        told = await child.next_call("notifications/resources/updated")
        assert told["params"] == {"uri": "asker:///alpha"}
        await child.request("resources/unsubscribe", {"uri": "asker:///alpha"})
        assert await child.text("touch") == "False"


async def test_resources_come_in_pages_and_can_be_read() -> None:
    async with started("asker") as child:
        await child.hello()
        first = await child.request("resources/list")
        second = await child.request("resources/list", {"cursor": first["nextCursor"]})
        assert "nextCursor" not in second
        uris = [each["uri"] for each in first["resources"] + second["resources"]]
        assert uris == ["asker:///alpha", "asker:///beta", "asker:///gamma"]
        read = await child.request("resources/read", {"uri": "asker:///made/up"})
        assert read["contents"][0]["text"] == "This is asker:///made/up"
        error = await child.refused("resources/read", {"uri": "asker:///none"})
        assert (error["code"], error["data"]) == (-32002, {"uri": "asker:///none"})


async def test_prompts_and_completions_answer() -> None:
    async with started("asker") as child:
        await child.hello()
        assert len((await child.request("prompts/list"))["prompts"]) == 2
        prompt = await child.request("prompts/get", {"name": "greet", "arguments": {"who": "Eve"}})
        assert prompt["messages"][0]["content"]["text"] == "Hello Eve"
        asked = {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "who", "value": "al"},
        }
        done = await child.request("completion/complete", asked)
        assert done["completion"]["values"] == ["alice", "albert"]


async def test_log_lines_below_the_level_are_kept_back() -> None:
    async with started("asker") as child:
        await child.hello()
        assert await child.request("logging/setLevel", {"level": "critical"}) == {}
        await child.call("log")
        levels = [each["params"]["level"] for each in child.seen]
        assert levels == ["critical", "alert", "emergency"]


async def test_failures_come_as_tool_errors_and_as_errors_with_data() -> None:
    async with started("asker") as child:
        await child.hello()
        assert (await child.call("tool_error"))["isError"] is True
        error = await child.refused("tools/call", {"name": "fail"})
        assert error["data"] == {"why": "because", "number": 7, "list": [None, "é"]}
        assert len(await child.text("large")) == 1024 * 1024
        assert (await child.call("structured", a=2, b=3))["structuredContent"] == {"sum": 5}
        assert (await child.refused("server/discover"))["code"] == -32601


async def test_what_the_client_declared_and_sent_can_be_read_back() -> None:
    async with started("asker") as child:
        await child.hello(can=CAN_ALL)
        facts = json.loads(await child.text("facts"))
        assert facts["capabilities"] == CAN_ALL
        assert facts["methods"][:2] == ["initialize", "notifications/initialized"]
        asked = {"name": "meta", "arguments": {}, "_meta": {"traceparent": "00-1-2-01"}}
        got = await child.request("tools/call", asked)
        assert got["_meta"]["asker/got"] == {"traceparent": "00-1-2-01"}


BOTH = {"Accept": "application/json, text/event-stream"}


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.content:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


async def _open(http: aiohttp.ClientSession, url: str) -> dict[str, str]:
    body = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": CAN_ALL},
    }
    async with http.post(url, json=body) as answer:
        return {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}


async def test_over_http_a_question_rides_the_stream_of_its_call() -> None:
    async with (
        asyncio.timeout(DEADLINE),
        listening("asker") as url,
        aiohttp.ClientSession(headers=BOTH) as http,
    ):
        ours = await _open(http, url)
        params = {"name": "ask_sampling", "arguments": {}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with http.post(url, json=asked, headers=ours) as answer:
            assert answer.content_type == "text/event-stream"
            stream = _events(answer)
            question = await anext(stream)
            assert question["method"] == "sampling/createMessage"
            back = {"jsonrpc": "2.0", "id": question["id"], "result": SAID}
            async with http.post(url, json=back, headers=ours) as accepted:
                assert accepted.status == 202
            assert (await anext(stream))["id"] == 1
            assert [each async for each in stream] == []


async def test_over_http_unasked_news_ride_the_standing_stream() -> None:
    async with (
        asyncio.timeout(DEADLINE),
        listening("asker") as url,
        aiohttp.ClientSession(headers=BOTH) as http,
    ):
        ours = await _open(http, url)
        async with http.get(url, headers=ours) as standing:
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "grow"}}
            async with http.post(url, json=asked, headers=ours) as answer:
                assert answer.content_type == "application/json"
            news = await anext(_events(standing))
            assert news["method"] == "notifications/tools/list_changed"


async def test_the_transport_of_2024_is_there_too() -> None:
    async with (
        asyncio.timeout(DEADLINE),
        listening("asker") as url,
        aiohttp.ClientSession(headers=BOTH) as http,
        http.get(url.replace("/mcp", "/sse")) as standing,
    ):
        assert await standing.content.readline() == b"event: endpoint\n"
        where = (await standing.content.readline()).decode().removeprefix("data: ").strip()
        body = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
        async with http.post(url.replace("/mcp", where), json=body) as accepted:
            assert accepted.status == 202
        assert await anext(_events(standing)) == {"jsonrpc": "2.0", "id": 5, "result": {}}
