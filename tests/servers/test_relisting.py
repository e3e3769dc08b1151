"""A server that comes back is looked at before a call goes there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.listing import Listing
from gatewright.servers.relisting import Relisting
from tests.gate_parts import a_call, a_tool, a_tool_call

SAME = {"name": Raw(b'"echo"')}
NOTATION = {"name": Raw(b' "\\u0065cho"')}
OTHER = {"name": Raw(b'"echo"'), "description": Raw(b'"x"')}
BROKEN = {"name": Raw(b'"echo'), "x": Raw(b"1")}


def relisting(*tools: Any) -> Relisting:
    return Relisting("srv", lambda: Listing(Hello("2025-11-25"), {"tools": list(tools)}))


@pytest.mark.parametrize(
    ("now", "goes"),
    [
        ([SAME], True),
        ([OTHER, SAME], False),
        ([BROKEN, NOTATION], True),
        ([OTHER], False),
        ([], False),
    ],
)
async def test_a_call_goes_to_the_tool_that_was_judged_and_to_no_other(
    now: list[Any], goes: bool
) -> None:
    """MGP-4.5-7, after a reconnect."""
    found, call = relisting(*now), a_tool_call(a_tool("echo"))
    before = found.count
    assert await found.objection(call, before, 1) is None  # nothing was connected meanwhile
    found.begins()
    with found.ends():
        pass
    objection = await found.objection(call, before, 1)
    assert (objection is None) is goes
    if objection is not None:
        assert objection.reason == "restarting"
        assert "says something else of the tool echo now" in objection.message
    assert await found.objection(a_call("method"), before, 1) is None
    assert await found.objection(call, found.count, 1) is None
    found.begins()
    unknown = await found.objection(call, found.count, 0.01)
    assert unknown is not None, "a call that begins before the lists are known waits for them, too"
    assert "has not said yet what it offers" in unknown.message


async def test_a_call_waits_for_the_lists_and_not_for_ever() -> None:
    found, call = relisting(SAME), a_tool_call(a_tool("echo"))
    found.begins()
    late = await found.objection(call, 0, 0.01)
    assert late is not None
    assert "has not said yet what it offers" in late.message
    waiting = asyncio.ensure_future(found.objection(call, 0, 20))
    with found.ends():
        found.begins()  # and again, before it said anything
    for _ in range(2):  # those lists may be older than the second connection
        await asyncio.sleep(0)
        assert not waiting.done()
        assert found.unlisted
    found.begins()
    with pytest.raises(OSError, match="gone"), found.ends():
        raise OSError("gone")
    assert not found.unlisted, "lists that are asked for after several connections are those of all"
    assert await waiting is None
