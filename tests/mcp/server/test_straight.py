"""Which messages go straight."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_sessions import IDLE_S
from tests.prepared_house import RawClient, prepared_house

TELL = "obedient__tell"
USUAL = {"name": TELL, "arguments": {"text": "so"}}


def _message(**more: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": USUAL, **more}
    return json.dumps(message).encode()


async def test_what_is_unusual_is_left_to_the_walk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And nobody's log is filled by it."""
    bodies = [
        _message(method="tools/list"),
        _message(params={**USUAL, "name": 7}),
        _message(params={**USUAL, "name": [TELL]}),
        _message(params={"arguments": {}}),
        _message(params={**USUAL, "_meta": {}}),
        _message(params={**USUAL, "Name": "y"}),
        _message(params=[TELL]),
        _message(trace_id="t"),
        _message(id='"\\'),
        _message(more=1),
        _message(params={**USUAL, "arguments": {"text": "x" * 5000}}),
        b"[]",
        b"no",
    ]
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        served = house.prepared.served
        for body in bodies:
            client.post_raw(body, client.head({}))
            await client.receive()
        assert house.prepared.served == served
        client.close()
    assert not [one for one in caplog.records if one.name == "gatewright.mcp.server"]


async def test_what_is_usual(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        served = house.prepared.served
        for ident in (7, "a", -1, 12345678901234567890):
            client.post_raw(_message(id=ident), client.head({}))
            said = json.loads((await client.receive())[1])
            assert (said["id"], said["result"]["content"][0]["text"]) == (ident, "so")
        assert house.prepared.served == served + 4
        client.close()


async def _statuses(client: RawClient, *more: str, path: str = "/mcp") -> list[str]:
    """Those of four equal calls, of which the last ones come under a head that is known."""
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{client._port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        *client.head({}),
        *more,
        f"Content-Length: {len(_message())}",
    ]
    found = []
    for _ in range(4):
        client.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + _message())
        found.append((await client.receive())[0]["status"])
    return found


async def test_a_session_is_served_under_the_path_of_its_own_profile_alone(tmp_path: Path) -> None:
    profiles = {"small": {"servers": ["obedient"]}}
    async with prepared_house(tmp_path, profiles=profiles) as house:
        client = await house.client()
        await house.warm(client)
        assert await _statuses(client, path="/mcp/small") == ["404"] * 4
        served = house.prepared.served
        assert await _statuses(client) == ["200"] * 4
        assert house.prepared.served > served
        client.close()


async def test_a_session_that_nobody_used_for_an_hour_is_over(tmp_path: Path) -> None:
    """And one whose calls are all prepared is used by them."""
    async with prepared_house(tmp_path) as house:
        client, other = await house.client(), await house.client()
        await house.warm(client)
        await house.warm(other)
        front, sessions = house.gateway.front, house.gateway.app.streamable.sessions
        for hours in (0.9, 1.8):
            now = time.monotonic() + hours * IDLE_S
            front.clock = partial(float, now)
            assert await house.served(client, "obedient__tell", "so") == ("so", True)
            assert front.standing[client.session].used == now
        assert list(sessions.by_id) == [other.session, client.session]
        assert (await other.post({"id": 5, "method": "tools/call", "params": USUAL}))[0][
            "status"
        ] == "404"
        sessions.sweep()
        assert list(sessions.by_id) == [client.session]
        client.close()
        other.close()


async def test_a_name_that_is_ours_no_more_is_refused_under_a_head_that_was_served(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        app = house.gateway.app
        page = "Origin: http://page.example"
        app.adopt(Guard(origins=("http://page.example",)), app.ours[1])
        served = house.prepared.served
        assert await _statuses(client, page) == ["200"] * 4
        assert house.prepared.served > served
        app.adopt(Guard(), app.ours[1])
        assert await _statuses(client, page) == ["403"] * 4
        client.close()


async def test_who_gives_up_on_large_events_has_no_prepared_calls_where_answers_are_streams(
    tmp_path: Path,
) -> None:
    """The same head, in a session whose streams can be taken up again and in one whose cannot."""
    async with prepared_house(tmp_path) as house:
        for revision, prepared in (("2025-11-25", False), ("2025-06-18", True)):
            client = await house.client(revision=revision)
            await house.warm(client)
            served = house.prepared.served
            assert await _statuses(client, "User-Agent: python-httpx2/1") == ["200"] * 4
            assert (house.prepared.served > served) is prepared
            client.close()


async def test_of_two_calls_of_one_id_in_one_session_the_first_is_made(tmp_path: Path) -> None:
    """Also where both are read in one turn. Once it is answered, its id is free."""
    async with prepared_house(tmp_path) as house:
        client, other = await house.client(), await house.client()
        other._session = client.session
        await house.warm(client)
        await house.warm(other)
        for how in ("plain", "late"):
            arguments = {"text": how, **({} if how == "plain" else {"how": how})}
            params = {"name": "obedient__tell", "arguments": arguments}
            for ident in (7, "7"):
                for one in (client, other):
                    one.send({"id": ident, "method": "tools/call", "params": params})
                said = [json.loads((await one.receive())[1]) for one in (client, other)]
                assert sorted("result" in one for one in said) == [False, True]
                assert [one["error"]["code"] for one in said if "error" in one] == [-32600]
            assert await house.served(client, "obedient__tell", "so") == ("so", True)
        client.close()
        other.close()
