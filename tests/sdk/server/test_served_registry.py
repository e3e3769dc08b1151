"""What connections ask of a server besides calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from gatewright.call import ANONYMOUS
from gatewright.sdk import Registry, mcp_tool
from gatewright.sdk.server.served_registry import ServedRegistry
from tests.sdk.client.scripted import within


async def test_changes_are_told_from_any_thread_until_nobody_watches() -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    behind = ServedRegistry(Registry(), dict, "")
    end = behind.watch(ANONYMOUS, "", lambda *said: heard.put_nowait(said))
    thread = threading.Thread(target=behind.tell, args=("m", {"a": 1}))
    thread.start()
    assert await within(heard.get()) == ("", "m", {"a": 1})
    thread.join()
    end()
    end()
    behind.tell("m", {})
    await asyncio.sleep(0)
    assert heard.empty()


async def test_header_annotations_are_those_of_the_tool_that_is_there_now() -> None:
    registry = Registry()
    behind = ServedRegistry(registry, dict, "how")
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }

    mcp_tool(registry=registry, name="t", input_schema=schema)(lambda **_: None)
    assert behind.annotations("", "t", ANONYMOUS) == {("region",): "Region"}
    assert behind.annotations("", "other", ANONYMOUS) == {}
    registry.unregister("t")
    behind.forget_tools()
    assert behind.annotations("", "t", ANONYMOUS) == {}
    assert await behind.describe("", ANONYMOUS) == ({}, "how")


async def test_nobody_waits_for_a_server_of_this_process() -> None:
    behind = ServedRegistry(Registry(), dict, "")
    assert await behind.settled()
    behind.forget("session")
    assert await behind.describe("", ANONYMOUS) == ({}, "")
