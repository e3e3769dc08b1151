"""A server that comes back is looked at before a call goes there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.listing import Listing
from gatewright.servers.relisting import Relisting
from gatewright.servers.server_catalogue import Built, build_listing
from gatewright.servers.spec import ServerSpec
from tests.gate_parts import a_call, a_tool, a_tool_call

SAME = {"name": Raw(b'"echo"')}
NOTATION = {"name": Raw(b'"\\u0065cho"')}
OTHER = {"name": Raw(b'"echo"'), "description": Raw(b'"x"')}
BROKEN = {"name": Raw(b'"echo'), "x": Raw(b"1")}


def relisting(*tools: Any) -> Relisting:
    spec, said = ServerSpec(id="srv"), Listing(Hello("2025-11-25"), {"tools": list(tools)})
    built = Built(spec, said, build_listing(spec, said))
    return Relisting("srv", lambda: built)


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


class _Walked(tuple[Any, ...]):
    __slots__ = ()

    def __iter__(self) -> Any:
        pytest.fail("all tools are walked over for one call")


async def test_calls_that_waited_look_their_tool_up_however_many_there_are() -> None:
    """They go on in one turn, each of them for a tool of its own, and some that there are not any more."""
    tools = [{"name": Raw(b'"t%d"' % n)} for n in range(500)]
    spec, said = ServerSpec(id="srv"), Listing(Hello("2025-11-25"), {"tools": tools})
    shelf = build_listing(spec, said)
    built = Built(
        spec,
        replace(said, sections={"tools": _Walked(tools)}),
        replace(shelf, tools=_Walked(shelf.tools)),
    )
    found = Relisting("srv", lambda: built)
    found.begins()
    calls = [a_tool_call(a_tool(f"t{n}")) for n in range(495, 505)]
    waiting = [asyncio.ensure_future(found.objection(one, 0, 20)) for one in calls]
    with found.ends():
        pass
    assert [one is None for one in await asyncio.gather(*waiting)] == [True] * 5 + [False] * 5


async def test_to_a_server_that_never_listed_no_call_goes() -> None:
    found = Relisting("srv", lambda: None)
    found.begins()
    with found.ends():
        pass
    assert await found.objection(a_tool_call(a_tool("echo")), 0, 1) is not None
