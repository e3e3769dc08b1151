"""The echo server answers what it hears, in order, or side by side when it is slow."""

from __future__ import annotations

import asyncio
import time

import aiohttp

from tests.tool_servers.drive import DEADLINE, listening, started

HELLO = {
    "jsonrpc": "2.0",
    "id": "h",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "driver", "version": "1"},
    },
}
BOTH = {"Accept": "application/json, text/event-stream"}


async def test_echo_says_the_same_again_and_leaves_when_stdin_closes() -> None:
    async with started("echo") as child:
        assert (await child.hello("2024-11-05"))["protocolVersion"] == "2024-11-05"
        assert await child.text("echo", message="déjà vu") == "déjà vu"
        assert (await child.refused("tools/call", {"name": "nope"}))["code"] == -32602
        assert (await child.refused("vendor/x"))["code"] == -32601
        assert await child.end() == 0


async def test_an_unknown_protocol_version_is_answered_with_the_newest_known_one() -> None:
    async with started("echo") as child:
        assert (await child.hello("1999-01-01"))["protocolVersion"] == "2025-11-25"


async def test_delayed_calls_wait_side_by_side() -> None:
    async with started("echo", "--delay", "0.5") as child:
        await child.hello()
        begun = time.monotonic()
        keys = [
            await child.ask("tools/call", {"name": "echo", "arguments": {"message": str(number)}})
            for number in range(8)
        ]
        for key in keys:
            await child.answer_to(key)
        assert time.monotonic() - begun < 8 * 0.5


async def test_echo_over_http_keeps_sessions_and_answers_plain_json() -> None:
    async with listening("echo") as url, aiohttp.ClientSession(headers=BOTH) as http:
        async with asyncio.timeout(DEADLINE):
            async with http.post(url, json=HELLO) as answer:
                session = answer.headers["Mcp-Session-Id"]
                assert (await answer.json())["result"]["protocolVersion"] == "2025-06-18"
            ours = {"Mcp-Session-Id": session}
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            async with http.post(url, json=note, headers=ours) as answer:
                assert answer.status == 202
            asked = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"message": "hi"}},
            }
            async with http.post(url, json=asked, headers=ours) as answer:
                assert answer.content_type == "application/json"
                assert (await answer.json())["result"]["content"][0]["text"] == "hi"
            async with http.post(url, json=asked) as answer:
                assert answer.status == 400
            async with http.delete(url, headers=ours) as answer:
                assert answer.status == 200
            async with http.post(url, json=asked, headers=ours) as answer:
                assert answer.status == 404
