"""Questions of the gateway's own: no more is read of an answer than may be."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatewright.mcp.client import answers
from gatewright.mcp.client import link as link_module
from gatewright.mcp.client.failures import AnswerTooLong
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.short_answers import SHORT_BYTES, fetch_short
from gatewright.mcp.wire import jsonrpc
from tests.servers.rig import within
from tests.servers.scripted import Scripted, linked


async def _asked(link: Link, server: Scripted, result: bytes) -> Any:
    asking = asyncio.ensure_future(fetch_short(link, "mgp/health/ping", {}, 5.0))
    ident = (await server.next())["id"]
    server.write(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (ident, result))
    return await within(asking)


async def test_an_answer_as_long_as_may_be_is_read() -> None:
    text = "x" * (SHORT_BYTES - 8)
    async with linked() as (link, server):
        found = await _asked(link, server, json.dumps({"a": text}, separators=(",", ":")).encode())
    assert found == {"a": text}


@pytest.mark.parametrize("more", [b'\\"', b"\\\\", b"\\u0000", b" ", b"x"])
@pytest.mark.parametrize("size", [SHORT_BYTES, 1_000_000])
async def test_of_a_longer_one_nothing_is_decoded_and_a_large_one_is_not_looked_at(
    more: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = b'{"a":"%b"}' % (more * (size // len(more)))
    read = list[int]()

    def watched(data: Any, *_: Any, **__: Any) -> Any:
        read.append(len(data))

    async with linked() as (link, server):
        for module, name in (
            (jsonrpc, "decode"),
            (jsonrpc, "heavy"),
            (answers, "is_utf8"),
            (link_module, "read_large"),
        ):
            monkeypatch.setattr(module, name, watched)
        with pytest.raises(AnswerTooLong):
            await _asked(link, server, raw)
        monkeypatch.undo()
    assert read == []


@pytest.mark.parametrize("more", [b"1e1", b"[]", b"123456789012345678901.5"])
async def test_one_that_is_short_and_dear_is_not_decoded(
    more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = b'{"a":[%b]}' % b",".join([more] * (60_000 // (len(more) + 1)))
    decode, read = jsonrpc.decode, list[int]()
    monkeypatch.setattr(
        jsonrpc, "decode", lambda data: (read.__iadd__([len(data)]), decode(data))[1]
    )
    async with linked() as (link, server):
        with pytest.raises(AnswerTooLong, match="more values"):
            await _asked(link, server, raw)
    assert max(read, default=0) < 1000


@pytest.mark.parametrize("result", [b'{"a":"\\u00"}', b'{"a":tru}'])
async def test_what_is_no_json_is_named(result: bytes) -> None:
    async with linked() as (link, server):
        asking = asyncio.ensure_future(fetch_short(link, "x", {}, 5.0))
        ident = (await server.next())["id"]
        link._pending[ident].settle(jsonrpc.Response(b"%d" % ident, result))
        with pytest.raises(ValueError, match=r"\w"):
            await within(asking)


async def test_what_else_is_fetched_may_be_long() -> None:
    """Lists are read in other ways."""
    async with linked() as (link, server):
        asking = asyncio.ensure_future(link.fetch("tools/list", {}, 5.0))
        ident = (await server.next())["id"]
        server.say(id=ident, result={"tools": ["x" * 1_000_000]})
        assert len(await within(asking)) > 1_000_000
