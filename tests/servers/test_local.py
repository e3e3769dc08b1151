"""Tools that are functions of this process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import KERNEL, Answer, Back, Call, Caller, Event, Failure, Refusal
from gatewright.mcp.wire.codes import reason_of
from gatewright.servers.listing import Listing
from gatewright.servers.local import LocalServer
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import FakeBack, ask, make_call, result, running, text, tool_call, within

OBJECT = {"inputSchema": {"type": "object"}}


async def greet(arguments: dict[str, Any], call: Call, back: Back) -> str:
    back.emit(Event("notifications/progress", {"progress": 1}))
    return f"hello {arguments['name']}"


def add(arguments: dict[str, Any], call: Call, back: Back) -> dict[str, int]:
    return {"sum": arguments["a"] + arguments["b"]}


def refuse(arguments: dict[str, Any], call: Call, back: Back) -> dict[str, Any]:
    return {"content": [], "isError": True}


async def hang(arguments: dict[str, Any], call: Call, back: Back) -> None:
    await asyncio.get_running_loop().create_future()


def count(arguments: dict[str, Any], call: Call, back: Back) -> list[int]:
    return [1, 2]


def local() -> LocalServer:
    tools = {one.__name__: (OBJECT, one) for one in (greet, add, refuse, hang, count)}
    return LocalServer(ServerSpec(id="here"), tools, "Use me.")


async def put(supervisor: Supervisor, name: str, **arguments: Any) -> Any:
    return await ask(supervisor, f"here/{name}", arguments)


async def test_functions_are_tools_like_any_other() -> None:
    async with running(local=[local()]) as supervisor:
        back = FakeBack()
        outcome = await ask(supervisor, "here/greet", {"name": "Ann"}, back=back)
        assert text(outcome) == "hello Ann"
        assert back.of("notifications/progress") == [{"progress": 1}]
        assert "here__add" in supervisor.catalogue.view("").tools
        described = await within(supervisor.describe("", tool_call(supervisor, "here/add").caller))
        assert described[1] == "## here\n\n> Use me."
        assert supervisor.states == {"here": "connected"}
        assert supervisor.status()[0].tools == 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "add",
            {
                "content": [{"type": "text", "text": '{"sum":3}'}],
                "structuredContent": {"sum": 3},
            },
        ),
        (
            "count",
            {
                "content": [{"type": "text", "text": "[1,2]"}],
                "structuredContent": {"result": [1, 2]},
            },
        ),
    ],
)
async def test_a_value_becomes_structured_content_with_a_text_copy(
    name: str, expected: dict[str, Any]
) -> None:
    async with running(local=[local()]) as supervisor:
        assert result(await put(supervisor, name, a=1, b=2)) == expected


async def test_a_result_object_passes_as_it_is() -> None:
    async with running(local=[local()]) as supervisor:
        assert await put(supervisor, "refuse") == Answer(b'{"content":[],"isError":true}', True)


async def test_a_function_that_raises_is_a_tool_that_failed() -> None:
    async with running(local=[local()]) as supervisor:
        outcome = await put(supervisor, "add", a=1)
        assert isinstance(outcome, Answer)
        assert outcome.tool_error
        assert text(outcome) == "KeyError: 'b'"


async def test_a_function_ends_at_the_calls_time_limit() -> None:
    """MGP-14.3-13: `timeout` is 3003 TIMEOUT in the table of reasons."""
    async with running(local=[local()]) as supervisor:
        deadline = asyncio.get_running_loop().time() + 0.02
        outcome = await ask(supervisor, "here/hang", deadline=deadline)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "timeout"
        assert reason_of("timeout").mgp_code == 3003


async def test_what_is_not_there_is_not_found() -> None:
    server = local()
    call = make_call("tool", "tools/call", {"name": "none"})
    missing = await within(server.call("tools/call", call.params, call, FakeBack()))
    assert isinstance(missing, Failure)
    assert missing.reason == "tool_not_found"
    other = await within(server.call("vendor/thing", {}, call, FakeBack()))
    assert isinstance(other, Failure)
    assert other.reason == "method_not_found"


async def test_a_function_may_end_its_call_with_an_outcome() -> None:
    def no(arguments: dict[str, Any], call: Call, back: Back) -> Refusal:
        return Refusal("permission_denied", "not you")

    server = LocalServer(ServerSpec(id="here"), {"no": (OBJECT, no)})
    async with running(local=[server]) as supervisor:
        assert await put(supervisor, "no") == Refusal("permission_denied", "not you")


async def test_the_kernels_tools_are_no_server_to_operators() -> None:
    server = LocalServer(ServerSpec(id=KERNEL), {"add": (OBJECT, add)})
    async with running(local=[local(), server]) as supervisor:
        assert supervisor.states == {"here": "connected"}
        assert [one.id for one in supervisor.status()] == ["here"]
        assert "mgp_add" in supervisor.catalogue.view("").tools


async def test_what_it_offers_anew_is_listed_and_told_where_it_is_something_else() -> None:
    server, heard = local(), list[tuple[str, str]]()
    async with running(local=[server]) as supervisor:
        end = supervisor.watch(Caller("ann"), "", lambda *one: heard.append((one[0], one[1])))
        fewer = Listing(server.hello, {"tools": server.listing.of("tools")[:1]})
        for _ in range(2):
            server.changed.send(fewer)
        end()
        assert [one.target.name for one in supervisor.catalogue.shelf("here").tools] == ["greet"]
        assert heard == [("here", "notifications/tools/list_changed")]
