"""Every kind of source behind one gateway: a program, a remote server, Python of one's own, an API, one that was registered; at every door."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.answered import answered
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import EVERY_DOOR, host
from tests.storage.parts import state_in
from tests.tool_servers.pets import pets

ROOT = Path(__file__).resolve().parents[2]
PYTHON = '''
from gatewright.sdk import mcp_tool


@mcp_tool(prefix="")
def double(n: int) -> int:
    """Twice as much."""
    return n * 2
'''
CUSTOM = '''
import asyncio

from gatewright.sdk import Registry, Server, Tool
from gatewright.sdk.providers import ask_providers


async def triple(n: int) -> int:
    return n * 3


async def source():
    """A source of one's own, which knows its tools when it is asked."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return [Tool(name="triple", description="Three times as much", function=triple, input_schema=schema)]


registry = Registry("custom")
assert asyncio.run(ask_providers(registry, {"mine": source})) == ()
Server("custom", registry=registry).run()
'''
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "program__echo": ({"message": "hello"}, "hello"),
    "far__echo": ({"message": "from afar"}, "from afar"),
    "python__double": ({"n": 4}, "8"),
    "custom__triple": ({"n": 4}, "12"),
    "api__getPet": ({"petId": 1}, "Tom"),
}
"""One tool of each source, with arguments, and what its answer has in it."""


class Bazaar(NamedTuple):
    """The gateway, and a key of who may use all of it."""

    gateway: Gateway
    key: str


@contextmanager
def _remote() -> Iterator[str]:
    """A server of its own, which nobody here has started, as its URL."""
    command = [sys.executable, str(ROOT / "tests" / "tool_servers" / "echo.py"), "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def bazaar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bazaar]:
    folder = tmp_path_factory.mktemp("bazaar")
    (folder / "tools").mkdir()
    (folder / "tools" / "mcp_tools.py").write_text(PYTHON)
    (folder / "custom.py").write_text(CUSTOM)
    with _remote() as far, pets() as api:
        content = config(
            server("echo", "program"),
            {"id": "far", "url": far},
            {"id": "python", "python": str(folder / "tools")},
            {"id": "custom", "command": sys.executable, "args": [str(folder / "custom.py")]},
            {
                "id": "api",
                "openapi": f"{api.url}/api.json",
                "base_url": f"{api.url}/v1",
                "credentials": {"key": "s3cret-of-the-operator"},
            },
            approvals={"approver": "caller"},
        )
        with running(folder, content) as gateway:
            callers = KeyStore(state_in(folder / "state"), clock=time.time, random=os.urandom)
            with closing(callers):
                key = callers.create("ann", by="test")[1]
            yield Bazaar(gateway, key)


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_tool_of_each_source_is_listed_and_called_at_every_door_of_mcp(
    bazaar: Bazaar, door: str
) -> None:
    """GGEN-core-7: local, remote and custom."""
    async with host(bazaar.gateway, door) as client:
        assert set(CALLS) <= set(await client.tools())
        for name, (arguments, words) in CALLS.items():
            result = await client.call(name, **arguments)
            assert not result.get("isError"), (name, result)
            assert words in result["content"][0]["text"], name


@pytest.mark.parametrize("way", ["rpc", "rpc batch", "rpc socket", "rest"])
async def test_and_at_every_door_of_ggen(bazaar: Bazaar, way: str) -> None:
    """GGEN-core-7."""
    async with answered(bazaar.gateway, way, bazaar.key) as client:
        (listed,) = await client.send({"id": 1, "method": "tools/list", "params": {}})
        for name, (arguments, words) in CALLS.items():
            assert name in str(listed["result"])
            params = {"name": name, "arguments": arguments}
            (said,) = await client.send({"id": 2, "method": "tools/call", "params": params})
            assert words in str(said["result"]), (name, said)


async def test_and_at_the_door_of_groundhog(bazaar: Bazaar) -> None:
    """GGEN-core-7."""
    async with connected(bazaar.gateway.urls["websocket"], bazaar.key) as client:
        listed = [one["tool_id"] for one in (await client.request("tools/list"))["tools"]]
        for name, (arguments, words) in CALLS.items():
            assert name in listed
            assert words in str((await client.invoke(name, arguments))["data"]), name
