"""The whole, in front of several servers: what a host may expect of any MCP server, and more."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, Host, RpcError, host
from tests.behaviour.wires import MODERN

every_door = pytest.mark.parametrize("door", EVERY_DOOR)
each_kind = pytest.mark.parametrize("door", DOORS)
CAN = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}


def friendly(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """A user who answers everything."""
    if method == "elicitation/create":
        return {"action": "accept", "content": {"name": "Ada", "age": 36}}
    if method == "sampling/createMessage":
        word = {"type": "text", "text": "word"}
        return {"role": "assistant", "content": word, "model": "m", "stopReason": "endTurn"}
    if method == "roots/list":
        return {"roots": [{"uri": "file:///home/ada", "name": "home"}]}
    return None


@every_door
async def test_discovery_tells_capabilities_and_instructions(several: Gateway, door: str) -> None:
    async with host(several, door) as client:
        assert {"tools", "prompts", "resources", "completions", "logging"} <= set(
            client.hello["capabilities"]
        )
        assert "Keep éverything" in client.hello["instructions"]
        if client.modern:
            assert MODERN in client.hello["supportedVersions"]
        else:
            assert client.hello["protocolVersion"] == client.revision
            assert client.hello["serverInfo"]["name"] == "gatewright"


@every_door
async def test_results_of_every_kind_arrive(several: Gateway, door: str) -> None:
    async with host(several, door) as client:
        both = await client.call("asker__structured", a=2, b=40)
        assert both["structuredContent"] == {"sum": 42}
        large = await client.text("asker__large", bytes=1024 * 1024)
        assert large == "x" * 1024 * 1024
        failed = await client.call("asker__tool_error")
        assert failed["isError"] is True
        with pytest.raises(RpcError) as caught:
            await client.call("asker__fail")
        assert (caught.value.code, caught.value.message) == (-31001, "refused")
        assert caught.value.data == {"why": "because", "number": 7, "list": [None, "é"]}


@each_kind
@pytest.mark.parametrize("token", ["text", 7])
async def test_progress_comes_before_the_answer_with_the_hosts_own_token(
    several: Gateway, door: str, token: Any
) -> None:
    async with host(several, door) as client:
        await client.request(
            "tools/call",
            {
                "name": "asker__progress",
                "arguments": {"steps": 3},
                "_meta": {"progressToken": token},
            },
        )
        seen = [json.loads(one) for one in client.frames]
        kinds = [one.get("method", "answer") for one in seen if one.get("id", 99) != 1]
        assert kinds[-4:] == ["notifications/progress"] * 3 + ["answer"]
        notes = [one["params"] for one in client.notes if one["method"] == "notifications/progress"]
        assert [one["progress"] for one in notes] == [1, 2, 3]
        assert [one["progressToken"] for one in notes] == [token] * 3


async def cancel(client: Host, ident: Any) -> None:
    """Give up on a request as the revision and the wire have it."""
    if client.modern and hasattr(client.wire, "posts"):
        client.wire.posts[ident].cancel()
    else:
        params = {"requestId": ident, "reason": "no longer needed"}
        await client.say({"method": "notifications/cancelled", "params": params})


@each_kind
async def test_cancelling_reaches_the_server_under_its_own_id(tmp_path: Path, door: str) -> None:
    with running(tmp_path, config(server("asker"))) as several:
        async with host(several, door) as client, host(several, door) as other:
            meta = {"progressToken": "slow"}
            before = await other.call("asker__cancelled_ids")
            ident = await client.start(
                "tools/call", {"name": "asker__slow", "arguments": {"seconds": 30}, "_meta": meta}
            )
            await client.note("notifications/progress")
            await cancel(client, ident)
            watcher = client if door.startswith("stdio") else other
            async with asyncio.timeout(15):
                while True:
                    told = (await watcher.call("asker__cancelled_ids"))["structuredContent"]
                    gone = len(told["cancelled"]) - len(before["structuredContent"]["cancelled"])
                    if gone or (door.startswith("stdio") and told["cancelled"]):
                        break
            assert set(told["cancelled"]) <= set(told["asked"])
            assert not set(told["cancelled"]) & set(told["finished"])


@every_door
@pytest.mark.parametrize(
    ("tool", "method"),
    [
        ("asker__ask_elicitation", "elicitation/create"),
        ("asker__ask_sampling", "sampling/createMessage"),
        ("asker__ask_roots", "roots/list"),
    ],
)
async def test_a_servers_question_reaches_the_host_and_its_answer_the_server(
    several: Gateway, door: str, tool: str, method: str
) -> None:
    """A legacy server's question before hosts of both eras."""
    asked: list[str] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(method)
        return friendly(method, params)

    async with host(several, door, can=CAN, answer=answer) as client:
        got = json.loads(await client.text(tool))
    assert got == friendly(method, {})
    assert method in asked


@each_kind
async def test_two_questions_with_progress_between(several: Gateway, door: str) -> None:
    async with host(several, door, can=CAN, answer=friendly) as client:
        got = json.loads(await client.text("asker__ask_twice"))
        assert got["first"]["content"] == {"name": "Ada", "age": 36}
        assert got["second"]["model"] == "m"


@each_kind
async def test_a_host_that_cannot_be_asked_gets_a_clear_error(several: Gateway, door: str) -> None:
    async with host(several, door) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("asker__ask_elicitation")
        assert "elicitation" in caught.value.message


@each_kind
async def test_log_lines_come_from_the_level_on_that_was_asked_for(
    several: Gateway, door: str
) -> None:
    async with host(several, door) as client:
        params: dict[str, Any] = {"name": "asker__log", "arguments": {}}
        if client.modern:
            params["_meta"] = {"io.modelcontextprotocol/logLevel": "error"}
        else:
            assert await client.request("logging/setLevel", {"level": "error"}) == {}
        await client.request("tools/call", params)
        await client.note("notifications/message", lambda one: one["params"]["data"] == "emergency")
        levels = [
            one["params"]["level"] for one in client.notes if one["method"].endswith("/message")
        ]
        assert set(levels) <= {"error", "critical", "alert"}
        assert levels[:1] == ["error"]


@every_door
async def test_meta_and_completion_pass(several: Gateway, door: str) -> None:
    async with host(several, door) as client:
        result = await client.request(
            "tools/call",
            {"name": "asker__meta", "arguments": {}, "_meta": {"com.example/x": [1, None]}},
        )
        assert result["_meta"]["asker/got"] == {"com.example/x": [1, None]}
        ref = {"type": "ref/prompt", "name": "asker__greet"}
        done = await client.request(
            "completion/complete", {"ref": ref, "argument": {"name": "who", "value": "a"}}
        )
        assert isinstance(done["completion"]["values"], list)


@each_kind
async def test_a_change_of_lists_is_told_and_listed(tmp_path: Path, door: str) -> None:
    with running(tmp_path, config(server("asker"), server("echo"))) as gateway:
        async with host(gateway, door) as client:
            listen = None
            if client.modern:
                wanted = {"notifications": {"toolsListChanged": True}}
                listen = await client.start("subscriptions/listen", wanted)
                ack = await client.note("notifications/subscriptions/acknowledged")
                assert ack["params"]["notifications"] == {"toolsListChanged": True}
            name = await client.text("asker__grow")
            told = await client.note("notifications/tools/list_changed")
            assert f"asker__{name}" in await client.tools()
            if client.modern:
                meta = told["params"]["_meta"]
                assert meta["io.modelcontextprotocol/subscriptionId"] == listen


@each_kind
async def test_a_change_of_a_resource_is_told_to_who_subscribed(tmp_path: Path, door: str) -> None:
    uri = "asker:///alpha"
    with running(tmp_path, config(server("asker"), server("echo"))) as gateway:
        async with host(gateway, door) as client:
            if client.modern:
                await client.start(
                    "subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}}
                )
                await client.note("notifications/subscriptions/acknowledged")
                async with asyncio.timeout(10):
                    while await client.text("asker__touch", uri=uri) != "True":
                        pass
            else:
                await client.request("resources/subscribe", {"uri": uri})
                assert await client.text("asker__touch", uri=uri) == "True"
            told = await client.note("notifications/resources/updated")
            assert told["params"]["uri"] == uri
            if not client.modern:
                await client.request("resources/unsubscribe", {"uri": uri})
                assert await client.text("asker__touch", uri=uri) == "False"


@each_kind
async def test_eight_slow_calls_of_one_host_run_at_the_same_time(
    several: Gateway, door: str
) -> None:
    """Never queued behind each other: all eight are at work before any of them has ended."""
    async with host(several, door) as client:
        called = {"name": "asker__slow", "arguments": {"seconds": 300}}
        started = [
            await client.start("tools/call", {**called, "_meta": {"progressToken": number}})
            for number in range(8)
        ]
        for _ in started:
            await client.note("notifications/progress")
        assert not any(json.loads(frame).get("id") in started for frame in client.frames)
        for ident in started:
            await cancel(client, ident)


@every_door
async def test_resources_and_prompts_are_valid_where_they_are_listed(
    several: Gateway, door: str
) -> None:
    async with host(several, door) as client:
        resources = (await client.request("resources/list"))["resources"]
        assert {one["uri"] for one in resources} >= {"asker:///alpha", "extra:///a%20b?q=1#f"}
        for one in resources:
            got = await client.request("resources/read", {"uri": one["uri"]})
            assert got["contents"][0]["uri"] == one["uri"]
        made = await client.request("resources/read", {"uri": "asker:///made/x"})
        assert made["contents"][0]["uri"] == "asker:///made/x"
        prompts = (await client.request("prompts/list"))["prompts"]
        assert {"asker__plain", "asker__greet", "extras__p"} <= {one["name"] for one in prompts}
        got = await client.request(
            "prompts/get", {"name": "asker__greet", "arguments": {"who": "Ada"}}
        )
        assert "Ada" in json.dumps(got)


def rss(pid: int) -> int:
    """Resident memory in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process is gone")


async def _twenty_come_and_go(several: Gateway, door: str) -> None:
    for _ in range(20):
        async with host(several, door) as client:
            called = {"name": "asker__slow", "arguments": {"seconds": 20}}
            await client.start("tools/call", called)


@pytest.mark.parametrize("door", ["http 2025-11-25", f"http {MODERN}", "websocket 2025-11-25"])
async def test_twenty_hosts_that_vanish_leave_nothing(tmp_path: Path, door: str) -> None:
    with running(tmp_path, config(server("asker"), server("echo")), own_children=True) as several:
        async with host(several, door) as first:
            await _twenty_come_and_go(several, door)  # what is made once is there
            assert await first.text("echo__echo", message="warm") == "warm"
            before, grown = several.children(), rss(several.pid)
            await _twenty_come_and_go(several, door)
            assert await first.text("echo__echo", message="on") == "on"
            assert several.children() == before
            assert rss(several.pid) - grown < 10 * 1024 * 1024


@pytest.mark.parametrize("door", ["http 2025-11-25", f"http {MODERN}", "websocket 2025-11-25"])
async def test_a_child_killed_in_a_call_is_back_within_a_second(tmp_path: Path, door: str) -> None:
    """MGP-6.4-8 and MGP-6.4-9: and both ends of it are in the record."""
    with running(tmp_path, config(server("asker")), own_children=True) as gateway:
        async with host(gateway, door) as client:
            meta = {"progressToken": 1}
            doomed = await client.start(
                "tools/call", {"name": "asker__slow", "arguments": {"seconds": 30}, "_meta": meta}
            )
            await client.note("notifications/progress")
            (child,) = gateway.children()
            os.kill(child, 9)
            lost = await client.finish(doomed)
            assert lost["isError"] is True
            assert "upstream_unavailable" in lost["content"][0]["text"]
            began = time.monotonic()
            assert (await client.call("asker__structured", a=1, b=1))["structuredContent"] == {
                "sum": 2
            }
            took = time.monotonic() - began
            began = time.monotonic()
            bare = [sys.executable, "-c", "import asyncio, json"]
            await asyncio.to_thread(subprocess.run, bare, check=True, timeout=30)
            assert took < 1 + 4 * (time.monotonic() - began)  # what a start takes on this machine
        events = [one["event_type"] for one in gateway.audit() if "SERVER" in one["event_type"]]
        assert sorted(events) == ["SERVER_CONNECTED", "SERVER_CONNECTED", "SERVER_DISCONNECTED"]


async def test_a_server_in_any_trouble_costs_the_others_nothing(tmp_path: Path) -> None:
    """One hangs, one ends at once, one floods, one does not exist: the rest goes on."""
    troubled = [
        server("bad", f"bad_{mode[:4]}", mode) for mode in ("hang", "exit-at-start", "flood")
    ]
    missing = {"id": "missing", "command": "/nonexistent/server"}
    content = config(server("echo"), *troubled, missing, gateway={"startup_wait_s": 2.0})
    with running(tmp_path, content) as gateway:
        async with host(gateway) as client:
            assert await client.text("echo__echo", message="fine") == "fine"
            assert "echo__echo" in await client.tools()
            for name in ("bad_hang", "missing"):
                refused = await client.call(f"{name}__anything")
                assert refused["isError"] is True
                assert name in refused["content"][0]["text"]
        states = dict(line.split("\t")[:2] for line in gateway.cli("server", "list").splitlines())
        assert states["echo"] == "connected"
        assert states["missing"] != "connected"
