from __future__ import annotations

import asyncio
import json
from os import urandom
from typing import Any

import pytest

from gatewright.call import CannotAsk
from gatewright.dialects.groundhog.client_requests import ClientRequests
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.base import Closed


class Wire:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def __call__(self, frame: bytes) -> None:
        self.sent.append(json.loads(frame))


async def begun(asking: ClientRequests) -> asyncio.Task[Any]:
    task = asyncio.create_task(asking("tools/invoke", {"tool_id": "t"}))
    await asyncio.sleep(0)
    return task


async def test_an_answer_finds_its_question_by_the_id() -> None:
    wire = Wire()
    asking = ClientRequests(wire, urandom)
    one, two = await begun(asking), await begun(asking)
    assert [message["method"] for message in wire.sent] == ["tools/invoke"] * 2
    first, second = (json.dumps(message["id"]).encode() for message in wire.sent)
    asking.answered(jsonrpc.Response(second, b'"two"'))
    asking.answered(jsonrpc.Response(first, b'"one"'))
    assert (await one, await two) == ("one", "two")
    asking.answered(jsonrpc.Response(first, b'"late"'))
    asking.answered(jsonrpc.Response(b'"made up"', b"1"))


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (
            jsonrpc.Response(b'"gw-0000000000000000"', error=b'{"code":1,"message":"broken"}'),
            "broken",
        ),
        (jsonrpc.Response(b'"gw-0000000000000000"', error=b"7"), "it failed"),
        (jsonrpc.Response(b'"gw-0000000000000000"', result=b"{"), "its answer cannot be read"),
    ],
)
async def test_an_error_or_nonsense_ends_the_question(response: Any, words: str) -> None:
    asking = ClientRequests(Wire(), bytes)
    task = await begun(asking)
    asking.answered(response)
    with pytest.raises(CannotAsk, match=words):
        await task


async def test_nobody_waits_for_a_connection_that_is_gone() -> None:
    asking = ClientRequests(Wire(), bytes)
    task = await begun(asking)
    asking.close()
    with pytest.raises(CannotAsk, match="closed"):
        await task

    def closed(frame: bytes) -> None:
        raise Closed("closed by the peer")

    with pytest.raises(CannotAsk, match="closed by the peer"):
        await ClientRequests(closed, bytes)("tools/invoke", {})
