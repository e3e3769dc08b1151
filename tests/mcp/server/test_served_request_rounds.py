"""Rounds of a modern server with a modern client: they pass through, with the state sealed for one caller."""

from __future__ import annotations

import asyncio
from typing import Any

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES
from tests.dialects.client import modern, rpc
from tests.dialects.house import House, text
from tests.dialects.steps import CALL
from tests.mcp.server.test_duplex import NAME, connected

INTERIM = {
    "resultType": "input_required",
    "inputRequests": {"user_name": {"method": "elicitation/create", "params": {"m": 2**60}}},
    "requestState": "inner",
    "x": None,
}


def again(state: Any, answers: Any) -> Any:
    params = {**CALL, "requestState": state, "inputResponses": answers}
    return modern("tools/call", params, ident=2)


async def first(house: House) -> Any:
    return (await house.modern("tools/call", CALL)).json["result"]


async def test_the_state_of_a_modern_server_is_sealed_and_comes_back_as_it_was() -> None:
    async with House() as house:
        house.script.does("echo", Answer(jsonrpc.encode(INTERIM), modern=True))
        asked = await first(house)
        sealed = asked["requestState"]
        assert asked == {**INTERIM, "requestState": sealed}
        assert "inner" not in sealed
        house.script.does("echo", Answer(b'{"resultType":"complete"}', modern=True))
        await house.post(again(sealed, {"user_name": {"a": 1}}))
        params = house.script.calls[-1].params
        assert params["requestState"] == "inner"
        assert params["inputResponses"] == {"user_name": {"a": 1}}
        foreign = await house.post(again(sealed, {}), key="key-bob")
        assert foreign.status == 400
        assert foreign.json["error"] == {
            "code": -32602,
            "message": "requestState was not given out by this gateway to this caller at this endpoint",
        }


async def test_a_server_that_gives_no_state_gets_none() -> None:
    async with House() as house:
        stateless = {name: value for name, value in INTERIM.items() if name != "requestState"}
        house.script.does("echo", Answer(jsonrpc.encode(stateless), modern=True))
        assert await first(house) == stateless
        await house.modern("tools/call", {**CALL, "inputResponses": {"wrong_key": {}}})
        assert house.script.calls[-1].params["inputResponses"] == {"wrong_key": {}}
        assert "requestState" not in house.script.calls[-1].params


async def test_who_gives_up_a_repetition_too_many_gives_up_nothing_else() -> None:
    """It has the state of a call that another request waits for, and is refused; cancelled before that, it is not that request."""
    async with House() as house:
        goes = asyncio.Event()

        async def tool(call: Call, back: Back) -> Outcome:
            await back.ask(NAME)
            await goes.wait()
            return text("done")

        house.script.does("echo", tool)
        host = await connected(house)
        able: dict[str, Any] = {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
        host.modern("tools/call", CALL, **able)
        state = (await host.next())["result"]["requestState"]
        repeated = {**CALL, "requestState": state, "inputResponses": {"q1": {}}}
        waits = host.modern("tools/call", repeated, **able)
        await host.ask("ping")
        extra = host.modern("tools/call", repeated, **able)
        host.send(rpc("notifications/cancelled", {"requestId": extra}))
        heard: dict[Any, Any] = {}
        while extra not in heard:
            heard |= {one["id"]: one for one in [await host.next()]}
        goes.set()
        while waits not in heard:
            heard |= {one["id"]: one for one in [await host.next()]}
        assert heard[extra]["error"]["code"] == -32600
        assert heard[waits]["result"]["content"] == [{"type": "text", "text": "done"}]
        assert house.script.cancelled == []
