"""How an MGP server hears that a call is off, and how every other one does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.mcp.client import link as link_module
from gatewright.mcp.client import stream_cancels
from gatewright.mcp.protocol.negotiate import Face
from tests.servers.scripted import Scripted, linked, start

FACE = Face(("streaming",))
REPLY = {"experimental": {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}}


async def cancelled(server: Scripted, call: asyncio.Future[Any]) -> int:
    """The id of a call that was given up."""
    ident: int = (await server.next())["id"]
    call.cancel()
    await asyncio.wait([call])
    return ident


async def test_a_server_that_streams_is_asked_to_cancel_and_not_told_twice() -> None:
    async with linked(face=FACE, capabilities=REPLY) as (link, server):
        ident = await cancelled(server, start(link))
        asked = await server.next()
        assert (asked["method"], asked["params"]["request_id"]) == ("mgp/stream/cancel", ident)
        server.say(id=asked["id"], result={"cancelled": True, "partial_result": {"content": "a"}})
        await asyncio.sleep(0.05)
        assert server.idle()


@pytest.mark.parametrize(
    "said",
    [
        {"result": {"cancelled": False}},
        {"error": {"code": -32601, "message": "no such method"}},
        {"result": []},
        {},
    ],
)
async def test_one_that_does_not_say_so_is_told_in_mcps_words(
    said: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_cancels, "CANCEL_S", 0.05)
    async with linked(face=FACE, capabilities=REPLY) as (link, server):
        ident = await cancelled(server, start(link))
        asked = await server.next()
        if said:
            server.say(id=asked["id"], **said)
        heard = [await server.next()]
        if not said:  # that nobody waits for the answer to this one either
            heard.append(await server.next())
        of = [one["params"]["requestId"] for one in heard]
        assert {one["method"] for one in heard} == {"notifications/cancelled"}
        assert ident in of


async def test_one_that_does_not_stream_is_told_at_once() -> None:
    async with linked() as (link, server):
        ident = await cancelled(server, start(link))
        told = await server.next()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", ident)


async def test_of_a_long_answer_nothing_is_read_and_its_server_is_told_in_mcps_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with linked(face=FACE, capabilities=REPLY) as (link, server):
        ident = await cancelled(server, start(link))
        asked = await server.next()
        monkeypatch.setattr(link_module, "read_large", None)  # which would break
        server.say(id=asked["id"], result={"cancelled": True, "more": ["x"] * 200_000})
        told = await server.next()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", ident)
