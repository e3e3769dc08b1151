"""The door to rooms where it touches the transport: frames in, frames out, and how a connection ends. What rooms are,
`tests/behaviour/test_rooms_*.py` says."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace
from websockets.asyncio.client import connect

from gatewright.call import Refusal
from gatewright.rooms.endpoint import PATHS, SUBPROTOCOL, RoomsEndpoint, _asked, _Chair
from gatewright.rooms.policy import Identity
from gatewright.transport.base import Limits
from gatewright.transport.slices import AT_ONCE
from tests.rooms.hall import FULL, Hall, token_of

UPGRADE = (
    b"GET /ws?topic=lobby HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nauthorization: Bearer %b\r\nsec-websocket-key: %b\r\n\r\n"
)


def masked(opcode: int, data: bytes) -> bytes:
    """A frame of a client, masked with zeros."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes([opcode]) + size + bytes(4) + data


async def test_what_comes_with_the_upgrade_is_heard() -> None:
    """The first frame may stand in the same packet as the request."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        b = await hall.guest("b")
        reader, writer = await asyncio.open_connection("127.0.0.1", hall.server.port)
        key = base64.b64encode(os.urandom(16))
        body = {"protocol": "mcpx/v0.1", "id": "1", "from": "a", "kind": "chat", "payload": {}}
        early = masked(0x81, json.dumps(body).encode())
        writer.write(UPGRADE % (token_of("a").encode(), key) + early)
        assert (await b.next("chat"))["from"] == "a"
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        assert head.startswith(b"HTTP/1.1 101 ")
        writer.close()
        assert (await b.next("system/presence"))["payload"]["event"] == "leave"


@pytest.mark.parametrize(
    ("frame", "code"), [(b"{}", 1003), ("x" * 3000, 1009)], ids=["binary", "too long"]
)
async def test_a_frame_that_cannot_be_ends_the_connection(frame: str | bytes, code: int) -> None:
    async with Hall({"a": FULL}, limits=Limits(frame_bytes=2000)) as hall:
        a = await hall.guest("a")
        await a.raw(frame)
        assert (await a.over())[0] == code
        await hall.gone()


async def test_a_message_longer_than_rooms_take_is_answered() -> None:
    """Decision C-31, `payload_too_large`: below the limit of a frame the connection goes on."""
    async with Hall({"a": FULL}, message_bytes=1000) as hall:
        a = await hall.guest("a")
        await a.chat("x" * 2000)
        assert (await a.error())["payload"]["error"] == "payload_too_large"
        assert await a.fence() == []


async def test_text_that_is_not_utf8_ends_the_connection() -> None:
    async with Hall({"a": FULL}) as hall:
        a = await hall.guest("a")
        a.socket.transport.write(masked(0x81, b"\xff\xfe"))
        assert (await a.over())[0] == 1007


async def test_a_message_in_fragments_is_one_message() -> None:
    async with Hall({"a": FULL}) as hall:
        a = await hall.guest("a")
        text = json.dumps(a.envelope("chat", {"text": "é"}))
        await a.socket.send([text[:20], text[20:40], text[40:]])
        assert (await a.next("chat"))["payload"] == {"text": "é"}


async def test_a_gateway_that_stops_says_so() -> None:
    async with Hall({"a": FULL}) as hall:
        a = await hall.guest("a")
        hall.hub.close()
        assert await a.over() == (1001, "the gateway stops")


async def test_a_token_that_was_taken_back_or_has_expired_ends_its_connection() -> None:
    """The next look closes it; nobody else notices."""
    async with Hall({"a": FULL}) as hall:
        a = await hall.guest("a")
        ann = await hall.guest(None, token="key-ann")
        door = hall.door
        door.look(1, 100.0)
        assert len(await ann.fence()) == 0
        hall.revoked.add("key-ann")
        door.look(1, 100.2)
        assert len(await ann.fence()) == 0
        door.look(2, 100.2)
        assert await ann.over() == (1008, "its token is not good any more")
        bob = await hall.guest(None, token="key-bob")
        hall.revoked.add("key-bob")
        door.look(2, 107.0)
        assert (await bob.over())[0] == 1008
        place = next(iter(hall.hub.places()))
        place.identity = replace(place.identity, expires_at=120.0)
        door.look(2, 119.0)
        assert a.closed is None
        door.look(2, 125.0)
        assert (await a.over())[0] == 1008


async def test_pings_are_answered_and_asked() -> None:
    async with Hall({"a": FULL}, limits=Limits(ping_interval_s=0.05)) as hall:
        a = await hall.guest("a")
        assert await asyncio.wait_for(await a.socket.ping(), 20) >= 0
        b = await connect(
            hall.url + "?topic=other",
            additional_headers={"Authorization": f"Bearer {token_of('a')}"},
            proxy=None,
            ping_interval=None,
        )
        b.protocol.recv_ping = lambda frame: None  # type: ignore[attr-defined]
        assert json.loads(await b.recv())["kind"] == "system/welcome"
        await b.close()
        assert await a.fence() == []


async def test_rooms_are_where_they_are_said_to_be_and_only_where_there_are_any() -> None:
    assert {"/ws", "/v0/ws"} == PATHS
    async with Hall({"a": FULL}) as hall:
        headers = {"Authorization": f"Bearer {token_of('a')}"}
        url = hall.url.replace("/ws", "/wss")
        with pytest.raises(Exception, match="HTTP 404"):
            await connect(url, additional_headers=headers, proxy=None)
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session,
            session.get(hall.server.url + "/ws?topic=t") as plain,
        ):
            assert (plain.status, plain.headers["upgrade"]) == (426, "websocket")
            assert (await plain.json())["error"] == "upgrade_required"
        a = await hall.guest("a", subprotocols=[SUBPROTOCOL])
        assert a.socket.subprotocol == SUBPROTOCOL


@pytest.mark.parametrize("fields", [b"&a=1", b"&a", b"&topic=b"])
def test_a_query_of_thousands_of_fields_is_refused(fields: bytes) -> None:
    scope = {"query_string": b"topic=a" + fields * 9000}
    asked = _asked(scope, {}, token_in_query=False)
    assert isinstance(asked, Refusal)
    assert (asked.reason, asked.message) == ("invalid_request", "the query cannot be read")


async def test_thousands_of_keys_are_verified_anew_a_few_in_each_turn() -> None:
    """The verifications are counted: two digests each, and the loop stands still for all of one turn."""
    verified: list[str] = []

    def of(token: str) -> Refusal:
        verified.append(token)
        return Refusal("auth_failed", "taken back")

    direct: Any = SimpleNamespace(outlet=None)
    places = [
        SimpleNamespace(
            member=SimpleNamespace(seat=_Chair(direct), is_here=number != 7),
            token=f"key-{number}",
            identity=Identity(f"p{number}", FULL),
        )
        for number in range(1000)
    ]
    ended: list[object] = []
    hub: Any = SimpleNamespace(
        places=lambda: iter(places), end=lambda place, *_: ended.append(place)
    )
    identities: Any = SimpleNamespace(of=of)
    admin: Any = None
    door = RoomsEndpoint(hub, identities, admin)
    door.look(1, 0.0)
    counts = [len(verified)]
    while len(verified) < 999:
        await asyncio.sleep(0)
        counts.append(len(verified))
    assert max(after - before for before, after in pairwise([0, *counts])) <= AT_ONCE
    assert ended == [*places[:7], *places[8:]]
