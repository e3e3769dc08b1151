"""A long output in pieces, at every door that has pieces: chunks of a stream, and chunks of HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.ggen_house import chunks
from tests.behaviour.hosts import EVERY_DOOR, host

TEN = 10 * 1024 * 1024
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
PIECE, PIECES = 64 * 1024, 64
TOOL = f'''
import asyncio
from collections.abc import AsyncIterator

from gatewright.sdk import mcp_tool


@mcp_tool(prefix="")
async def report() -> AsyncIterator[str]:
    """Four megabytes, a piece at a time."""
    for number in range({PIECES}):
        yield f"{{number:0>{PIECE}}}"
        await asyncio.sleep(0.02)


@mcp_tool(prefix="")
def whole() -> str:
    """Ten megabytes in one piece."""
    return "x" * {TEN}
'''
WHOLE = "".join(f"{number:0>{PIECE}}" for number in range(PIECES))


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a tool that says much."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "tools").mkdir()
    (folder / "tools" / "mcp_tools.py").write_text(TOOL)
    with running(folder, config({"id": "own", "python": str(folder / "tools")})) as gateway:
        yield gateway


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_long_output_comes_in_chunks_ahead_of_the_answer_that_has_them_all(
    long: Gateway, door: str
) -> None:
    """GGEN-p4-1: what a chunk leaves out for a slow reader is said; chunks and gaps together are the whole."""
    async with host(long, door, can=OFFER) as client:
        params = {"name": "own__report", "arguments": {}, "_mgp": {"stream": True}}
        ident = await client.start("tools/call", params)
        result = await client.finish(ident)
        bodies = [json.loads(frame) for frame in client.frames]
    assert result["content"][0]["text"] == WHOLE
    answer = next(n for n, one in enumerate(bodies) if one.get("id") == ident)
    told = [
        (n, one["params"])
        for n, one in enumerate(bodies)
        if one.get("method", "").startswith("notifications/mgp.stream.")
    ]
    assert all(n < answer for n, _ in told)
    pieces = [one["content"]["text"] for _, one in told if "content" in one]
    missing = sum(one["chars"] for _, one in told if "chars" in one)
    assert len(pieces) > 20
    assert sum(map(len, pieces)) + missing == len(WHOLE)
    assert max(map(len, pieces)) <= len(WHOLE) // 8
    assert pieces[0] == WHOLE[: len(pieces[0])]
    if not missing:
        assert "".join(pieces) == WHOLE


@pytest.mark.parametrize("door", ["rpc", "rest"])
async def test_ten_megabytes_of_json_are_sent_in_chunks(long: Gateway, door: str) -> None:
    """GGEN-p4-1."""
    params = {"name": "own__whole", "arguments": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    url = long.urls[door] + ("/own__whole" if door == "rest" else "")
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json={} if door == "rest" else call) as answer,
    ):
        assert answer.status == 200, await answer.text()
        sizes = await chunks(answer)
    assert len(sizes) > 20
    assert max(sizes) <= 512 * 1024
    assert sum(sizes) > TEN
