"""Ten thousand malformed frames on each transport: answered or closed, never a crash, nothing kept."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests import fork_streams
from tests.behaviour.gateway import COMMAND, ROOT, Gateway, config, running, server, write
from tests.behaviour.hosts import host
from tests.behaviour.test_whole import rss

pytestmark = pytest.mark.timeout(600)

FRAMES = 10_000
DATA = ROOT.parent / "shared" / "data" / "security"
GOOD = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "echo__echo", "arguments": {"message": "x", "n": [1, {"a": None}]}},
    }
).encode()
PIECES = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\x00",
    b"\xff",
    b"1e999",
    b"null",
    b"\\u",
    b"-",
)


def labelled() -> list[bytes]:
    """The torture data, as frames and as params."""
    found = []
    for name in ("json.jsonl", "jsonrpc.jsonl"):
        path = DATA / name
        for line in path.read_text().splitlines() if path.exists() else ():
            given = json.loads(line)["input"]
            raw = (
                base64.b64decode(given["b64"])
                if "b64" in given
                else given["repeat"][0].encode() * given["repeat"][1]
            )
            found.append(raw)
            found.append(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + raw + b"}")
    return found


def hostile(count: int, seed: int, good: bytes = GOOD) -> Iterator[bytes]:
    """The data, then a good frame damaged in one to four places; no line breaks, at most 100 KB."""
    rng = random.Random(seed)
    given = [one for one in labelled() if len(one) < 100_000]
    for number in range(count):
        if number < len(given):
            frame = given[number]
        else:
            body = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(body))
                body[at : at + rng.randint(0, 6)] = rng.choice(PIECES)
            frame = bytes(body)
        yield frame.replace(b"\n", b" ").replace(b"\r", b" ") or b" "


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with running(tmp_path, config(server("echo"))) as one:
        yield one


async def settled_rss(pid: int) -> int:
    """Memory once it stops to shrink."""
    last = rss(pid)
    for _ in range(20):
        await asyncio.sleep(0.2)
        now = rss(pid)
        if now >= last:
            return now
        last = now
    return last


async def comes_back(pid: int, flood: Callable[[], Awaitable[None]]) -> bool:
    """Whether a flood leaves memory as it was, within 5 %. What is kept for good is kept by each of
    three floods; buffers that grew to what a busy machine once needed grow no second time."""
    before = await settled_rss(pid)
    for _ in range(3):
        await flood()
        after = await settled_rss(pid)
        if after <= before * 1.05:
            return True
        before = after
    return False


async def post_all(url: str, frames: list[bytes], headers: dict[str, str]) -> dict[int, int]:
    """Status → how often."""
    seen: dict[int, int] = {}
    queue = iter(frames)

    async def worker(http: aiohttp.ClientSession) -> None:
        for frame in queue:
            async with http.post(url, data=frame, headers=headers) as answer:
                body = await answer.read()
                seen[answer.status] = seen.get(answer.status, 0) + 1
                assert answer.status in (200, 202, 400, 404, 413), (frame, body)
                if answer.status != 202:
                    json.loads(body)

    async with aiohttp.ClientSession() as http:
        await asyncio.gather(*(worker(http) for _ in range(8)))
    return seen


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_http_survives_ten_thousand_hostile_frames(gateway: Gateway, version: str) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers |= {"mcp-protocol-version": version}
    frames = list(hostile(FRAMES, 1))
    await post_all(gateway.url, frames[:2000], headers)

    async def flood() -> None:
        seen = await post_all(gateway.url, frames, headers)
        assert sum(seen.values()) == FRAMES
        assert seen.get(400, 0) > FRAMES / 4

    assert await comes_back(gateway.pid, flood)
    async with host(gateway) as client:
        assert await client.text("echo__echo", message="alive") == "alive"


async def test_a_websocket_survives_ten_thousand_hostile_frames(gateway: Gateway) -> None:
    async def round_(frames: list[bytes]) -> int:
        answers = 0
        async with aiohttp.ClientSession() as http:
            for start in range(0, len(frames), 500):
                async with http.ws_connect(gateway.urls["websocket"], protocols=("mcp",)) as socket:
                    for frame in frames[start : start + 500]:
                        await socket.send_str(frame.decode("utf-8", "replace"))
                    await socket.send_str('{"jsonrpc":"2.0","id":"last","method":"ping"}')
                    async with asyncio.timeout(60):
                        async for message in socket:
                            answers += 1
                            if '"last"' in message.data:
                                break
        return answers

    frames = list(hostile(FRAMES, 2))
    await round_(frames[:2000])

    async def flood() -> None:
        assert await round_(frames) > FRAMES / 2

    assert await comes_back(gateway.pid, flood)
    async with host(gateway, "websocket 2025-11-25") as client:
        assert await client.text("echo__echo", message="alive") == "alive"


async def test_stdio_survives_ten_thousand_hostile_frames(tmp_path: Path) -> None:
    path = write(tmp_path, config(server("echo")))
    with (tmp_path / "gateway.log").open("wb") as log:
        command = [*COMMAND, "serve", "--stdio", "--config", str(path)]
        process = await fork_streams.started(command, log, limit=16 * 1024 * 1024)
        try:
            frames = list(hostile(FRAMES, 3))
            await through(process, frames[:2000])

            async def flood() -> None:
                assert await through(process, frames) > FRAMES / 2

            assert await comes_back(process.pid, flood)
        finally:
            process.stdin.close()
            await asyncio.wait_for(process.wait(), 60)
        assert process.returncode == 0


async def through(process: fork_streams.Streamed, frames: list[bytes]) -> int:
    """Send frames and a last good one; how many answers came up to its answer."""
    stdout = process.stdout

    async def read() -> int:
        answers = 0
        while b'"last"' not in (line := await stdout.readline()):
            assert line
            json.loads(line)
            answers += 1
        return answers

    reading = asyncio.create_task(read())
    for frame in [*frames, b'{"jsonrpc":"2.0","id":"last","method":"ping"}']:
        process.stdin.write(frame + b"\n")
        await process.stdin.drain()
    return await asyncio.wait_for(reading, 120)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"not json", -32700),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', -32602),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
            + b"[" * 200
            + b"]" * 200
            + b"}",
            -32600,
        ),
    ],
)
@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25", "stdio 2025-11-25"])
async def test_each_fault_has_its_code(
    gateway: Gateway, door: str, frame: bytes, code: int
) -> None:
    """MGP-14.2-1: the codes of JSON-RPC for protocol errors."""
    async with host(gateway, door) as client:
        if door.startswith("http"):
            headers = client.wire.head(client, {"method": "x"})  # type: ignore[attr-defined]
            async with (
                aiohttp.ClientSession() as http,
                http.post(gateway.url, data=frame, headers=headers) as answer,
            ):
                error: dict[str, Any] = (await answer.json())["error"]
        else:
            before = len(client.frames)
            await client.wire.send(frame, client)
            async with asyncio.timeout(20):
                while len(client.frames) == before:
                    await asyncio.sleep(0)
            error = json.loads(client.frames[before])["error"]
        assert error["code"] == code
        assert error["message"]


async def test_a_message_over_the_limit_is_refused_by_name(gateway: Gateway) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(
            gateway.url,
            data=io.BytesIO(b"x" * (1024 * 1024 + 1)),
            headers={"content-type": "application/json"},
        ) as answer,
    ):
        assert answer.status == 413
        assert "1048576" in await answer.text()
