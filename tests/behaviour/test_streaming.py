"""MGP §12 from outside: chunks, what ends them, progress and cancellation, in front of a foreign MGP server and of a plain one."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.access_house import House
from tests.behaviour.event_house import EVERY
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.gateway import server as entry
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.wires import HttpWire

pytestmark = pytest.mark.timeout(180)

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
STREAM = {"stream": True}
CHUNK = "notifications/mgp.stream.chunk"
PROGRESS = "notifications/mgp.stream.progress"
HANDLE = "dev.gatewright/stream"
SECRET = "ghp_" + "x7Kq2Wm9Zt" * 3 + "Ab12Cd"
TOOLS = '''
import asyncio
from collections.abc import AsyncIterator, Iterator

from gatewright.sdk import Context, mcp_tool


@mcp_tool(prefix="")
async def later(words: str) -> AsyncIterator[str]:
    """Say the words, one after the other."""
    for word in words.split():
        yield word + " "
        await asyncio.sleep(0.01)


@mcp_tool(prefix="")
def plainly(words: str) -> Iterator[str]:
    """The same in a thread."""
    for word in words.split():
        yield word + " "


@mcp_tool(prefix="")
async def by_hand(context: Context) -> str:
    """Sends pieces ahead."""
    context.stream("one ")
    context.stream("two ")
    context.progress(1, 2, "half")
    return "one two "


@mcp_tool(prefix="")
async def for_ever() -> AsyncIterator[str]:
    """Ends when it is cancelled."""
    while True:
        yield "again and "
        await asyncio.sleep(0.01)
'''


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a foreign MGP server that streams, of a plain server, and of Python tools that yield."""
    folder: Path = tmp_path_factory.mktemp("streaming")
    tools = folder / "tools"
    tools.mkdir()
    (tools / "mcp_tools.py").write_text(TOOLS)
    content = config(
        entry("streaming", "far", mgp={"extensions": ["streaming"]}),
        entry("streaming", "deaf", mgp={"extensions": ["security"]}),
        entry("streaming", "plain", "--plain"),
        {"id": "own", "python": str(tools)},
    )
    with running(folder, content) as gateway:
        yield gateway


async def start(client: Host, tool: str, /, stream: bool = True, **arguments: Any) -> Any:
    """Start a call of a tool; its id."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    return await client.start("tools/call", {**params, "_mgp": STREAM} if stream else params)


async def seen(client: Host, server: str) -> list[dict[str, Any]]:
    """All that a server has been sent so far."""
    found: list[dict[str, Any]] = json.loads(await client.text(f"{server}__seen"))
    return found


async def heard(client: Host, server: str, text: str) -> list[dict[str, Any]]:
    """The calls with this text that a server has been sent."""
    found = await seen(client, server)
    return [one for one in found if text in str(one["params"].get("arguments"))]


def stops(method: str, sent: list[dict[str, Any]]) -> int:
    """How many calls a server was told to stop. Its log is that of all doors, so what counts is what came to it since."""
    return sum(one["method"] == method for one in sent)


def chunks(client: Host, ident: Any) -> list[dict[str, Any]]:
    """The chunks of a call so far."""
    said = [one["params"] for one in client.notes if one["method"] == CHUNK]
    return [one for one in said if one["request_id"] == ident]


def joined(found: list[dict[str, Any]]) -> str:
    return "".join(one["content"]["text"] for one in found)


def in_order(client: Host, ident: Any) -> None:
    """All that goes before the answer has arrived before it (MGP-12.4-1)."""
    bodies = [json.loads(frame) for frame in client.frames]
    answer = next(n for n, one in enumerate(bodies) if one.get("id") == ident)
    sent = [n for n, one in enumerate(bodies) if one.get("params", {}).get("request_id") == ident]
    assert all(n < answer for n in sent)


async def name_of(client: Host, ident: Any) -> Any:
    """What a client calls an open call by: the id of its request, or without a session the handle that it was told."""
    if not (client.modern and isinstance(client.wire, HttpWire)):
        return ident
    note = await client.note(
        PROGRESS, lambda one: of(ident)(one) and HANDLE in one["params"].get("_meta", {})
    )
    return note["params"]["_meta"][HANDLE]


def of(ident: Any) -> Callable[[dict[str, Any]], bool]:
    """Whether a notification belongs to a call."""
    return lambda one: bool(one["params"].get("request_id") == ident)


@pytest.mark.parametrize("door", EVERY)
async def test_a_result_comes_in_chunks_and_whole_at_the_end(streaming: Gateway, door: str) -> None:
    """MGP-12.2-1, MGP-12.3-1, MGP-12.4-1, MGP-12.4-2, MGP-12.5-1, MGP-12.5-2 and MGP-12.7-5."""
    text = "Quantum computing is a paradigm that uses qubits"
    async with host(streaming, door, can=OFFER) as client:
        assert client.hello["capabilities"]["mgp"]["extensions"] == ["streaming"]
        ident = await start(client, "far__think", text=text)
        result = await client.finish(ident)
        found = chunks(client, ident)
        assert [one["index"] for one in found] == list(range(8))
        assert [one["done"] for one in found] == [False] * 7 + [True]
        assert all(one["content"]["type"] == "text" for one in found)
        assert joined(found) == text
        in_order(client, ident)
        # What this server says at the end is a JSON text, which arrives as it is.
        assert json.loads(result["content"][0]["text"])["text"] == text
        told = result["_mgp"]
        assert (told["streamed"], told["chunks_sent"]) == (True, 8)
        assert told["duration_ms"] >= 0
        assert result["_meta"]["dev.cloto/mgp"] == told


@pytest.mark.parametrize("door", EVERY)
async def test_who_did_not_negotiate_it_is_answered_plainly(streaming: Gateway, door: str) -> None:
    """MGP-12.2-1: and its server never hears of the wish, nor does one that did not negotiate it (MGP-12.3-2)."""
    plain: dict[str, Any] = {}
    for can in (plain, {"mgp": {"version": "0.2.0", "extensions": ["security"]}}):
        text = f"a b {uuid.uuid4()}"
        async with host(streaming, door, can=can) as client:
            result = await client.finish(await start(client, "far__think", text=text))
            (sent,) = await heard(client, "far", text)
            assert "stream" not in (sent["params"].get("_mgp") or {})
            assert "stream" not in json.dumps(sent["params"].get("_meta") or {})
            assert "_mgp" not in result
            assert [one for one in client.notes if "mgp" in one["method"]] == []
            with pytest.raises(RpcError) as unknown:
                await client.request("mgp/stream/cancel", {"request_id": 1})
            assert unknown.value.code == -32601


@pytest.mark.parametrize("door", EVERY)
async def test_a_server_without_streams_answers_as_ever(streaming: Gateway, door: str) -> None:
    """MGP-12.3-2: a plain server, and one that did not negotiate `streaming`, are sent no such wish."""
    async with host(streaming, door, can=OFFER) as client:
        for name in ("plain", "deaf"):
            ident = await start(client, f"{name}__think", text="a b c")
            result = await client.finish(ident)
            assert json.loads(result["content"][0]["text"]) == {"text": "a b c"}
            assert chunks(client, ident) == []
            assert result["_mgp"]["streamed"] is False
            assert result["_mgp"]["chunks_sent"] == 0
            calls = [
                one["params"] for one in await seen(client, name) if one["method"] == "tools/call"
            ]
            assert calls
            assert all("stream" not in (one.get("_mgp") or {}) for one in calls)
            assert name == "deaf" or all("_mgp" not in one for one in calls)


@pytest.mark.parametrize("door", EVERY)
async def test_progress_is_a_fraction_that_never_falls(streaming: Gateway, door: str) -> None:
    """MGP-12.6-1: of an MGP server (which says it wrongly twice), and translated from a plain one's."""
    async with host(streaming, door, can=OFFER) as client:
        for name, far in (("far", [0.25, 0.25, 0.25, 1.0]), ("plain", [0.25, 0.5, 0.75, 1.0])):
            ident = await start(client, f"{name}__slow", stream=False)
            await client.finish(ident)
            said = [one["params"] for one in client.notes if one["method"] == PROGRESS]
            mine = [one for one in said if one["request_id"] == ident]
            assert [one["progress"] for one in mine] == far
            assert [one["message"] for one in mine] == [f"step {n}" for n in range(1, 5)]
            in_order(client, ident)
        assert all(one["estimated_remaining_ms"] >= 0 for one in mine)
        assert [one for one in client.notes if one["method"] == "notifications/progress"] == []


async def test_a_plain_client_hears_an_mgp_servers_progress_in_its_own_words(
    streaming: Gateway,
) -> None:
    async with host(streaming) as client:
        meta = {"progressToken": "mine"}
        params = {"name": "far__slow", "arguments": {"steps": 1}, "_meta": meta}
        await client.finish(await client.start("tools/call", params))
        note = await client.note("notifications/progress")
        said = {"progressToken": "mine", "progress": 1.0, "total": 1, "message": "step 1"}
        assert note["params"] == said


@pytest.mark.parametrize("door", EVERY)
async def test_a_stream_is_cancelled_and_what_there_was_is_returned(
    streaming: Gateway, door: str
) -> None:
    """MGP-12.7-1, MGP-12.7-2 and MGP-12.7-5: the tool is stopped, though its server says in its own way what came of it."""
    async with host(streaming, door, can=OFFER) as client:
        text = " ".join(f"{door.replace(' ', '-')}-{n}" for n in range(500))
        ident = await start(client, "far__think", text=text, pause=0.02)
        name = await name_of(client, ident)
        before = stops("mgp/stream/cancel", await seen(client, "far"))
        while len(chunks(client, ident)) < 3:
            await asyncio.sleep(0.01)
        answer = await client.request(
            "mgp/stream/cancel", {"request_id": name, "reason": "user_cancelled"}
        )
        with pytest.raises(RpcError) as over:
            await client.finish(ident)
        assert over.value.code == 2099
        assert over.value.data["reason"] == "cancelled"
        found = chunks(client, ident)
        assert answer["cancelled"] is True
        assert answer["partial_result"] == {"content": [{"type": "text", "text": joined(found)}]}
        # Once more: it is over.
        again = await client.request("mgp/stream/cancel", {"request_id": name})
        assert (again["cancelled"], again["reason"]) == (False, "not_active")
        (mine,) = await heard(client, "far", text)
        assert mine["params"]["_mgp"] == STREAM
        assert stops("mgp/stream/cancel", await seen(client, "far")) == before + 1
        assert len(chunks(client, ident)) == len(found)


@pytest.mark.parametrize("door", EVERY)
async def test_a_long_call_without_a_stream_is_cancelled_as_well(
    streaming: Gateway, door: str
) -> None:
    """MGP-12.7-3: whatever its server speaks. Over HTTP of 2026-07-28 its progress tells what it is called by."""
    async with host(streaming, door, can=OFFER) as client:
        for server, stop in (("far", "mgp/stream/cancel"), ("plain", "notifications/cancelled")):
            before = stops(stop, await seen(client, server))
            ident = await start(client, f"{server}__slow", stream=False, steps=100, pause=0.2)
            name = await name_of(client, ident)
            if name == ident:
                await client.note(PROGRESS, of(ident))
            answer = await client.request("mgp/stream/cancel", {"request_id": name})
            assert answer["cancelled"] is True
            assert answer["partial_result"] == {"content": []}
            with pytest.raises(RpcError):
                await client.finish(ident)
            assert stops(stop, await seen(client, server)) == before + 1


@pytest.mark.parametrize("door", EVERY)
async def test_what_is_not_open_cannot_be_cancelled_and_breaks_nothing(
    streaming: Gateway, door: str
) -> None:
    """MGP-12.7-4: unknown ids, finished ones, and what is no id at all."""
    async with host(streaming, door, can=OFFER) as client:
        ident = await start(client, "far__think", text="a b")
        await client.finish(ident)
        for unknown in (ident, 4711, "nobody", -1, "", 10**30):
            answer = await client.request("mgp/stream/cancel", {"request_id": unknown})
            assert (answer["cancelled"], answer["reason"]) == (False, "not_active")
        for strange in ({}, {"request_id": None}, {"request_id": [1]}, {"request_id": True}):
            with pytest.raises(RpcError):
                await client.request("mgp/stream/cancel", strange)
        result = await client.finish(await start(client, "far__think", text="c d"))
        assert result["_mgp"]["streamed"] is True


async def test_nobody_cancels_another_ones_call(streaming: Gateway) -> None:
    """The same request id in another session, and a handle that is not known, name nothing."""
    async with (
        host(streaming, "http 2025-11-25", can=OFFER) as one,
        host(streaming, "websocket 2025-11-25", can=OFFER) as two,
        host(streaming, "http 2026-07-28", can=OFFER) as three,
    ):
        ident = await start(one, "far__think", text="a b c d e f g", pause=0.05)
        await one.note(CHUNK)
        for other in (two, three):
            for name in (ident, str(ident)):
                answer = await other.request("mgp/stream/cancel", {"request_id": name})
                assert answer["cancelled"] is False
        result = await one.finish(ident)
        assert json.loads(result["content"][0]["text"])["text"] == "a b c d e f g"


async def test_a_handle_is_its_callers_alone(tmp_path: Path) -> None:
    """Who shows another key cannot use it, though it is told."""
    far = entry("streaming", "far", mgp={"extensions": ["streaming"]})
    with running(tmp_path, config(far, gateway={"anonymous": "deny"})) as gateway:
        house = House(gateway)
        keys = [house.agent()[1] for _ in range(2)]
        async with (
            house.host("http 2026-07-28", keys[0], OFFER) as ann,
            house.host("http 2026-07-28", keys[1], OFFER) as ben,
        ):
            ident = await start(ann, "far__think", text="a b c d e f g h", pause=0.2)
            name = await name_of(ann, ident)
            theirs = await ben.request("mgp/stream/cancel", {"request_id": name})
            assert theirs["cancelled"] is False
            mine = await ann.request("mgp/stream/cancel", {"request_id": name})
            assert mine["cancelled"] is True


@pytest.mark.parametrize("size", [1, 5, 13])
async def test_a_secret_is_taken_out_wherever_chunks_are_cut(streaming: Gateway, size: int) -> None:
    """In chunks, in the final answer, and in what a cancellation returns."""
    text = f"the token is {SECRET} and nothing else, as far as anybody knows "
    async with host(streaming, "http 2025-11-25", can=OFFER) as client:
        ident = await start(client, "far__think", text=text, size=size)
        result = await client.finish(ident)
        said = joined(chunks(client, ident))
        assert SECRET not in said
        assert "[REDACTED" in said
        assert said.endswith("as far as anybody knows ")
        assert SECRET not in json.dumps(result)
        assert result["_mgp"]["chunks_sent"] == len(chunks(client, ident))
        ident = await start(
            client, "far__think", text=text + "and so on " * 50, size=size, pause=0.01
        )
        while "nothing else" not in joined(chunks(client, ident)):
            await asyncio.sleep(0.01)
        answer = await client.request("mgp/stream/cancel", {"request_id": ident})
        assert "[REDACTED" in answer["partial_result"]["content"][0]["text"]
        assert SECRET not in json.dumps(answer)
    assert all(SECRET not in frame.decode() for frame in client.frames)


async def test_chunks_are_numbered_by_the_gateway(streaming: Gateway) -> None:
    """MGP-12.4-2: a server that counts in its own way does not confuse its client; what has no text is no chunk to merge."""
    async with host(streaming, can=OFFER) as client:
        ident = await start(client, "far__wrong")
        result = await client.finish(ident)
        found = chunks(client, ident)
        assert [one["index"] for one in found] == list(range(len(found)))
        assert joined(found[:3]) == "7 x None "
        assert result["_mgp"]["chunks_sent"] == len(found)


@pytest.mark.parametrize("door", EVERY)
async def test_python_tools_that_yield_stream(streaming: Gateway, door: str) -> None:
    """MGP-12.3-1 and MGP-12.5-1: generators of both kinds, and a tool that sends pieces by hand."""
    async with host(streaming, door, can=OFFER) as client:
        for tool in ("later", "plainly"):
            ident = await start(client, f"own__{tool}", words="one two three")
            result = await client.finish(ident)
            found = chunks(client, ident)
            assert result["content"] == [{"type": "text", "text": "one two three "}]
            assert joined(found) == "one two three "
            assert [one["content"]["text"] for one in found[:3]] == ["one ", "two ", "three "]
            assert [one["done"] for one in found] == [False, False, False, True]
            assert result["_mgp"]["chunks_sent"] == 4
        ident = await start(client, "own__by_hand")
        result = await client.finish(ident)
        assert joined(chunks(client, ident)) == result["content"][0]["text"] == "one two "
        # Without the wish there is the result alone.
        ident = await start(client, "own__later", stream=False, words="a b")
        result = await client.finish(ident)
        assert chunks(client, ident) == []
        assert result["content"][0]["text"] == "a b "
        ident = await start(client, "own__for_ever")
        name = await name_of(client, ident)
        while len(chunks(client, ident)) < 3:
            await asyncio.sleep(0.01)
        answer = await client.request("mgp/stream/cancel", {"request_id": name})
        assert answer["partial_result"]["content"][0]["text"] == joined(chunks(client, ident))
