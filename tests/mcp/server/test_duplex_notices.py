"""What a host says on a pipe without waiting for an answer: led on as a call, or nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Question
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import rpc
from tests.dialects.house import ANN, House
from tests.dialects.steps import CALL
from tests.mcp.server.test_duplex import asks, connected


async def test_notifications_are_passed_on() -> None:
    async with House() as house:
        host = await connected(house)
        await host.hello()
        host.send(rpc("notifications/roots/list_changed", {"x": 1}))
        await host.ask("ping")
        (call,) = house.script.calls
        told = call.caller.id, call.kind, call.method, call.params, call.session
        assert told[:4] == ("ann", "method", "notifications/roots/list_changed", {"x": 1})
        assert house.front.owners == {told[4]: ("agent", "ann")}
        assert host.silent()


async def test_a_host_tells_how_far_it_is_under_a_token_of_ours() -> None:
    """Those of two servers may be one."""
    told: list[Any] = []
    params = {"message": "name?", "_meta": {"progressToken": 7, "k": 1}}
    question = Question("elicitation/create", params, progress=told.append)
    async with House() as house:
        house.script.does("echo", asks(question))
        host = await connected(house)
        await host.hello(elicitation={})
        ident = host.began("tools/call", CALL)
        asked = await host.next()
        assert asked["params"]["_meta"] == {"progressToken": asked["id"], "k": 1}
        host.send(rpc("notifications/progress", {"progressToken": asked["id"], "progress": 1}))
        host.send(rpc("notifications/progress", {"progressToken": 7, "progress": 2}))
        host.send(jsonrpc.encode({"jsonrpc": "2.0", "id": asked["id"], "result": {"n": 1}}))
        answered = await host.next()
        assert (answered["id"], answered["result"]["learned"]) == (ident, {"n": 1})
        host.send(rpc("notifications/progress", {"progressToken": asked["id"], "progress": 3}))
        await host.ask("ping")
    assert told == [{"progressToken": asked["id"], "progress": 1}]


@pytest.mark.parametrize(
    "method", ["tools/call", "initialize", "shutdown", "tasks/cancel", "Tools/Call"]
)
async def test_a_request_without_an_id_goes_nowhere(method: str) -> None:
    refused: list[Any] = []
    async with House(refused=lambda *told: refused.append(told)) as house:
        host = await connected(house)
        await host.hello()
        host.send(rpc(method, {"name": "echo", "arguments": {}}))
        await host.ask("ping")
        assert house.script.calls == []
        assert [one[:3] for one in refused] == [(ANN, "stdio", -32600)]
        assert host.silent()
