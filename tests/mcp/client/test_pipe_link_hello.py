"""Answers to the handshake that are broken end it at once; what may be anything else does not."""

from __future__ import annotations

import pytest

from gatewright.mcp.client.link import LinkClosed
from tests.mcp.client.test_pipe_link import greeted
from tests.servers.rig import within


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"own words"}}', "own words"),
        (b'{"jsonrpc":"2.0","error":{"code":-1,"message":"own words"}}', "own words"),
        (b'{"jsonrpc":"1.0","id":1,"error":{"code":-1,"message":"own words"}}', "own words"),
        (b'{"id":1,"result":{}}', "is broken"),
        (b'{"jsonrpc":"2.0","id":1}', "is broken"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"own words"}}', "own"),
        (b'{"jsonrpc":"2.0","id":"1","result":{}}', "text as id"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025', "is broken"),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "revision None"),
        (b'{"jsonrpc":"2.0","id":1,"error":"no"}', "refused initialize"),
    ],
)
async def test_a_broken_answer_to_the_handshake_ends_it_at_once_in_the_servers_own_words(
    line: bytes, words: str
) -> None:
    """All the time of a start would be waited out, and its reason be that nobody answered."""
    _, server, greeting = greeted(era="legacy")
    assert (await server.next())["id"] == 1
    server.pipe.send(line)
    with pytest.raises(LinkClosed, match=words):
        await within(greeting)


@pytest.mark.parametrize(
    "line",
    [
        b"{'jsonrpc': 'no JSON, but a line of a log'}",
        b"starting ...",
        b'{"level":"info","id":1,"method":"a log of JSON"}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"lev',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
    ],
)
async def test_what_may_be_anything_else_ends_no_handshake(line: bytes) -> None:
    _, server, greeting = greeted(era="legacy")
    asked = await server.next()
    server.pipe.send(line)
    server.say(id=asked["id"], result={"protocolVersion": "2024-11-05", "capabilities": {}})
    assert (await within(greeting)).revision == "2024-11-05"


async def test_a_broken_answer_to_the_probe_is_followed_by_the_old_way() -> None:
    _, server, greeting = greeted()
    assert (await server.next())["method"] == "server/discover"
    server.pipe.send(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"what?"}}')
    asked = await server.next()
    assert asked["method"] == "initialize"
    server.say(id=asked["id"], result={"protocolVersion": "2024-11-05", "capabilities": {}})
    assert (await within(greeting)).revision == "2024-11-05"
