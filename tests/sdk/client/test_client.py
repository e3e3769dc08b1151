"""A client against real servers of both eras, and against one whose every word the test writes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.sdk import Server
from gatewright.sdk.client import Client, Options, Progress
from gatewright.sdk.client.connection import Target
from gatewright.sdk.errors import (
    InternalError,
    SchemaError,
    SdkError,
    TransportError,
    ValidationError,
)
from tests.sdk.client.scripted import MGP, Scripted, broken, text, within
from tests.servers.rig import SERVERS
from tests.servers.web import web

WAYS = ["asker", "modern_asker", "http asker", "http modern_asker"]


def yes(params: dict[str, Any]) -> dict[str, Any]:
    """A user who agrees to everything."""
    return {"action": "accept", "content": {"name": "Ann"}}


def model(params: dict[str, Any]) -> dict[str, Any]:
    """A model that says one word."""
    return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "word"}}


@asynccontextmanager
async def server(way: str) -> AsyncIterator[Target]:
    """A test server, and how to reach it."""
    transport, _, name = way.rpartition(" ")
    if transport == "http":
        async with web(name) as url:
            yield url
    else:
        yield [sys.executable, str(SERVERS / f"{name}.py")]


@pytest.mark.parametrize("way", WAYS)
async def test_a_client_works_with_servers_of_both_eras_over_both_transports(way: str) -> None:
    """CDM-pai-1, CDM-pai-4: list, call, questions in the middle, progress, errors, resources, prompts."""
    heard: list[Progress] = []
    options = Options(elicit=yes, sample=model, roots=["file:///home"])
    async with server(way) as target, Client(target, options) as client:
        names = [one.name for one in await within(client.list_tools())]
        assert {"ask_elicitation", "progress", "slow"} <= set(names)
        progressed = await within(
            client.call_tool("progress", {"steps": 3}, on_progress=heard.append)
        )
        assert progressed.text == "3 steps"
        assert [(one.progress, one.total) for one in heard] == [(1, 3), (2, 3), (3, 3)]
        asked = await within(client.call_tool("ask_elicitation"))
        assert '"content": {"name": "Ann"}' in asked.text
        sampled = await within(client.call_tool("ask_sampling"))
        assert '"text": "word"' in sampled.text
        rooted = await within(client.call_tool("ask_roots"))
        assert '{"roots": [{"uri": "file:///home"}]}' in rooted.text
        failed = await within(client.call_tool("tool_error"))
        assert (failed.is_error, failed.text) == (True, "it did not work")
        with pytest.raises(InternalError) as caught:
            await within(client.call_tool("fail"))
        assert caught.value.details["data"]["why"] == "because"
        resources = await within(client.list_resources())
        assert (await within(client.read_resource(resources[0].uri))).contents
        assert "plain" in [one.name for one in await within(client.list_prompts())]
        assert (await within(client.get_prompt("plain"))).messages
        await within(client.ping())


@pytest.mark.parametrize("way", WAYS)
async def test_a_time_limit_and_a_cancellation_end_the_call_on_the_server(way: str) -> None:
    """CDM-err-6."""
    began = asyncio.Event()
    async with server(way) as target, Client(target) as client:
        with pytest.raises(TimeoutError):
            await within(client.call_tool("slow", {"seconds": 60}, timeout_s=0.3))
        running = asyncio.create_task(
            client.call_tool("slow", {"seconds": 60}, on_progress=lambda _: began.set())
        )
        await within(began.wait())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        async with asyncio.timeout(20):
            while len((await client.call_tool("cancelled_ids")).value["cancelled"]) < 2:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", WAYS)
async def test_changes_are_heard_of_once_they_are_watched(way: str) -> None:
    heard: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
    options = Options(on_event=lambda method, params: heard.put_nowait((method, params)))
    async with server(way) as target, Client(target, options) as client:
        uri = (await within(client.list_resources()))[0].uri
        await within(client.watch(uri))
        before = {one.name for one in await within(client.list_tools())}
        await within(client.call_tool("grow"))
        assert (await within(heard.get()))[0] == "notifications/tools/list_changed"
        assert {one.name for one in await within(client.list_tools())} > before
        await within(client.call_tool("touch", {"uri": uri}))
        method, params = await within(heard.get())
        assert (method, params["uri"]) == ("notifications/resources/updated", uri)


@pytest.mark.parametrize("way", WAYS)
async def test_log_lines_come_from_the_severity_that_is_wanted(way: str) -> None:
    heard: list[str] = []
    options = Options(on_event=lambda method, params: heard.append(params.get("level", "")))
    async with server(way) as target, Client(target, options) as client:
        await within(client.set_log_level("error"))
        await within(client.call_tool("log"))
    assert heard
    assert set(heard) <= {"error", "critical", "alert", "emergency"}


@pytest.mark.parametrize("place", ["mgp", "experimental", "extensions"])
async def test_mgp_is_offered_in_all_three_places_and_agreed_in_any(place: str) -> None:
    """MGP-2.2-1, MGP-2.4-1, MGP-2.4-6, C-50."""
    scripted = Scripted(MGP, place, tools_list={"tools": []})
    async with Client(scripted, Options(mgp=["security", "audit", "streaming"])) as client:
        mgp = client.mgp
    offer = {"version": "0.2.0", "extensions": ["security", "audit", "streaming"]}
    said = scripted.params("initialize")[0]["capabilities"]
    assert (
        said["mgp"] == said["experimental"]["mgp"] == said["extensions"]["dev.cloto/mgp"] == offer
    )
    assert mgp is not None
    assert (mgp.version, mgp.extensions) == ("0.2.0", ("security", "audit"))


async def test_a_plain_server_hears_no_word_of_mgp_where_it_is_turned_off() -> None:
    """MGP-2.2-2."""
    scripted = Scripted(tools_list={"tools": []})
    async with Client(scripted, Options(mgp=None)) as client:
        await within(client.list_tools())
        assert client.mgp is None
    assert b"mgp" not in json.dumps(scripted.seen).encode()


async def test_a_trace_goes_to_servers_that_negotiated_audit() -> None:
    """MGP-6.5-1."""
    for mgp, traced in ((MGP, True), (None, False)):
        scripted = Scripted(mgp, tools_call=text("x"))
        async with Client(scripted) as client:
            await within(client.call_tool("t"))
        assert ("trace_id" in scripted.params("tools/call")[0]) == traced


async def test_lists_are_read_to_their_last_page() -> None:
    pages = {
        None: {"tools": [{"name": "a"}], "nextCursor": "2"},
        "2": {"tools": [{"name": "b"}, "odd"], "nextCursor": "3"},
        "3": {"tools": []},
    }
    scripted = Scripted(tools_list=lambda params: pages[params.get("cursor")])
    async with Client(scripted) as client:
        assert [one.name for one in await within(client.list_tools())] == ["a", "b"]


async def test_a_list_without_an_end_is_given_up() -> None:
    scripted = Scripted(tools_list={"tools": [], "nextCursor": "again"})
    async with Client(scripted) as client:
        with pytest.raises(Exception, match="more than 1000 pages"):
            await within(client.list_tools())


async def test_any_method_can_be_asked_and_its_result_comes_whole() -> None:
    scripted = Scripted(MGP)
    scripted.on["mgp/health/ping"] = {"status": "ok", "new": [1]}
    async with Client(scripted) as client:
        found = await within(client.request("mgp/health/ping"))
        assert found.raw == {"status": "ok", "new": [1]}
        await client.notify("notifications/mine", {"a": 1})
        await scripted.until(lambda: scripted.params("notifications/mine") == [{"a": 1}])


async def test_a_result_that_is_no_object_is_named() -> None:
    scripted = Scripted(tools_call=lambda _: [1])
    async with Client(scripted) as client:
        with pytest.raises(Exception, match="not an object"):
            await within(client.call_tool("t"))
    scripted = Scripted()
    scripted.on["x/y"] = lambda _: [1]
    async with Client(scripted) as client:
        with pytest.raises(ValidationError, match="no object"):
            await within(client.request("x/y"))


async def test_a_server_may_ask_for_the_roots_outside_any_call() -> None:
    scripted = Scripted(tools_list={"tools": []})
    async with Client(scripted, Options(roots=["file:///r"])) as client:
        scripted.say("roots/list", {}, ident=0)
        reply = await within(scripted.replies.get())
        assert (reply["id"], reply["result"]) == (0, {"roots": [{"uri": "file:///r"}]})
        scripted.say("sampling/createMessage", {}, ident="s")
        assert (await within(scripted.replies.get()))["error"]["code"] == -32601
        assert client.mgp is None


async def test_arguments_that_a_modern_server_wants_as_headers_are_sent_as_headers() -> None:
    """MCP 2026-07-28, x-mcp-header: learned from the list, also when the call came first."""
    async with web("modern_asker") as url, Client(url) as client:
        result = await within(client.call_tool("located", {"region": "eu"}))
        assert not result.is_error


async def test_a_tool_with_broken_header_annotations_is_not_offered_over_modern_http() -> None:
    server = Server("s")
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}
    server.tool(name="broken", input_schema=schema)(lambda a="": a)
    server.tool(name="fine")(_nothing)
    served = await server.serve_http()
    try:
        for era, names in (("modern", ["fine"]), ("legacy", ["broken", "fine"])):
            async with Client(served.url, Options(era=era)) as client:  # type: ignore[arg-type]
                assert [one.name for one in await within(client.list_tools())] == names
    finally:
        await served.stop()


def _nothing() -> None:
    """Do nothing."""


async def test_wrong_arguments_are_a_schema_error_of_the_clients() -> None:
    """CDM-err-3."""

    def refuse(params: dict[str, Any]) -> None:
        raise broken(-32602, "a: no number")

    scripted = Scripted(tools_call=refuse)
    async with Client(scripted) as client:
        with pytest.raises(SchemaError, match="a: no number"):
            await within(client.call_tool("t", {"a": "x"}))


async def test_a_subscription_that_nobody_agrees_to_ends_with_an_error_of_the_sdk() -> None:
    async with Client(Server("quiet"), Options(era="modern", timeout_s=1e-9)) as client:
        with pytest.raises(SdkError, match="did not agree to the subscription"):
            await within(client.watch())


async def test_a_later_watch_takes_the_place_of_one_that_still_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client(["none"])
    begun: dict[str, asyncio.Future[None]] = {}

    async def connect() -> Any:
        return SimpleNamespace(revision="2026-07-28")

    async def listen(uris: list[str], told: asyncio.Future[None]) -> None:
        begun[uris[0]] = told
        await asyncio.Event().wait()

    monkeypatch.setattr(client, "connect", connect)
    monkeypatch.setattr(client, "_listen", listen)
    first = asyncio.create_task(client.watch("a"))
    while "a" not in begun:
        await asyncio.sleep(0)
    second = asyncio.create_task(client.watch("b"))
    while "b" not in begun:
        await asyncio.sleep(0)
    await within(first)
    assert not second.done()
    begun["b"].set_result(None)
    await within(second)
    assert client._watching is not None
    client._watching.cancel()


async def test_a_subscription_that_ends_later_is_told_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(["none"])
    end = asyncio.Event()

    async def connect() -> Any:
        return SimpleNamespace(revision="2026-07-28")

    async def listen(_: list[str], told: asyncio.Future[None]) -> None:
        told.set_result(None)
        await end.wait()
        raise TransportError("the server ended the subscription: gone")

    monkeypatch.setattr(client, "connect", connect)
    monkeypatch.setattr(client, "_listen", listen)
    await within(client.watch())
    end.set()
    assert client._watching is not None
    await asyncio.wait([client._watching])
    await asyncio.sleep(0)
    assert "ended the subscription: gone" in caplog.text
