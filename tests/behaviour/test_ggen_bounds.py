"""ggen's time limits at every door: what a hostile pattern may cost, and a list while one of the sources does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.ggen_house import Client
from tests.behaviour.hosts import DOORS, Host, RpcError, host

EVERY = ("rpc http", "rpc websocket", "rest", *DOORS)
PATTERNS = {
    "nested": "^(a+)+$",
    "alternatives": "^(a|a)*$",
    "twice": "^(a*)*b$",
    "looking": "^(?=a)(a+)+$",
    "referring": "^(a+)\\\\1+$",
}
"""On a text of so many a's with something else at its end, an engine that goes back tries 2 to the power of its length."""
TOOLS = """
from gatewright.sdk import mcp_tool

@mcp_tool(prefix="")
def fine(text: str) -> str:
    return text
""" + "".join(
    f'''
@mcp_tool(prefix="", input_schema={{"type": "object", "properties": {{"text": {{"type": "string", "pattern": "{pattern}"}}}}}})
def {name}(text: str) -> str:
    return text
'''
    for name, pattern in PATTERNS.items()
)
LONG = "a" * 60 + "!"
STARTUP_S = 1.0
LISTS = 20


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with tools whose arguments have such patterns, and a server that does not even say hello."""
    folder = tmp_path_factory.mktemp("bounds")
    (folder / "tools").mkdir()
    (folder / "tools" / "mcp_tools.py").write_text(TOOLS)
    content = config(
        {"id": "own", "python": str(folder / "tools")},
        server("bad", "silent", "hang", connect_timeout_s=600.0),
        gateway={"startup_wait_s": STARTUP_S},
    )
    with running(folder, content) as gateway:
        yield gateway


class Rpc:
    """Lists names of tools, and calls one: whether it ran."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def listed(self) -> list[str]:
        found = await self.client.ask("tools/list")
        return [one["name"] for one in found["result"]["tools"]]

    async def called(self, name: str, text: str) -> bool:
        return "result" in await self.client.call(name, text=text)


class Rest:
    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http, self.base = http, base

    async def listed(self) -> list[str]:
        async with self.http.get(self.base) as answer:
            return [one["name"] for one in (await answer.json())["tools"]]

    async def called(self, name: str, text: str) -> bool:
        async with self.http.post(f"{self.base}/{name}", json={"text": text}) as answer:
            assert answer.status in {200, 400, 422}
            return answer.status == 200


class Mcp:
    def __init__(self, client: Host) -> None:
        self.client = client

    async def listed(self) -> list[str]:
        return await self.client.tools()

    async def called(self, name: str, text: str) -> bool:
        try:
            return not (await self.client.call(name, text=text)).get("isError")
        except RpcError:
            return False


@asynccontextmanager
async def _speaking(gateway: Gateway, door: str) -> AsyncIterator[Rpc | Rest | Mcp]:
    if door.startswith("rpc"):
        async with Client(gateway, door.split()[1], None) as rpc:
            yield Rpc(rpc)
    elif door == "rest":
        async with aiohttp.ClientSession() as http:
            yield Rest(http, gateway.urls["rest"])
    else:
        async with host(gateway, door) as mcp:
            yield Mcp(mcp)


@pytest.mark.parametrize("door", EVERY)
async def test_a_hostile_pattern_is_refused_or_judged_and_holds_nobody_up(
    house: Gateway, door: str
) -> None:
    """GGEN-to-2: sixty characters are refused; a tool whose pattern no such engine can judge is not there, and refuses everything."""
    async with _speaking(house, door) as one, asyncio.timeout(60):
        names = await one.listed()
        for name in PATTERNS:
            assert not await one.called(f"own__{name}", LONG), name
            assert await one.called("own__fine", LONG), name
            if f"own__{name}" in names and name in {"nested", "alternatives"}:
                assert await one.called(f"own__{name}", "aaaa"), name


@pytest.mark.parametrize("door", EVERY)
async def test_a_list_does_not_wait_for_a_source_that_does_not_answer(
    house: Gateway, door: str
) -> None:
    """GGEN-to-3: what is known is listed, and that nobody was waited for again shows in how long a score of lists takes together."""
    async with _speaking(house, door) as one:
        begun = time.monotonic()
        for _ in range(LISTS):
            assert "own__fine" in await one.listed()
        assert time.monotonic() - begun < STARTUP_S * LISTS / 2
