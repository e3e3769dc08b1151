"""Which messages go straight; and prepared calls on their way: whose record fails, whose client leaves."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Failure, Unrecorded
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_sessions import IDLE_S
from gatewright.mcp.server.straight import StraightWay
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


async def test_a_call_whose_end_cannot_be_recorded_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        (made,) = house.prepared.known.values()
        told, heard = list[Any](), list[float]()
        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            patched.setattr(house.prepared, "ended", [lambda *one: told.append(one[1:])])
            patched.setattr(made, "_hear", (heard.append,))
            said, prepared = await house.served(client, TELL, "so")
        assert (said, prepared) == ("audit_unavailable", True)
        assert [(one.reason, spent_s) for one, spent_s in told] == [("audit_unavailable", None)]
        assert not heard
        record: Any = house.gateway.audit  # it ran: its intent is to become a record
        assert (record._calls.refused, len(record._intents._given_up)) == (1, 1)
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running()) == (0, [])
        assert await house.served(client, TELL, "and on") == ("and on", True)
        client.close()


async def test_the_same_of_several_that_end_in_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        clients = [await house.client() for _ in range(4)]
        for client in clients:
            await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        params = {"name": TELL, "arguments": {"text": "so"}}
        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            for client in clients:
                client.send({"id": 7, "method": "tools/call", "params": params})
            for client in clients:
                _, body = await client.receive()
                assert b"audit_unavailable" in body
        assert house.gateway.kernel.in_flight == 0
        for client in clients:
            assert await client.text(TELL, "so") == "so"
            client.close()


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
async def test_what_was_asked_is_let_go_of_once_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str
) -> None:
    """A connection that is kept has its last request for as long as it is idle: thousands of them need not keep what was said, too."""
    begun, wholes = StraightWay._going, list[Any]()

    def noted(way: StraightWay, whole: Any, *more: Any) -> Any:
        wholes.append(whole)
        return begun(way, whole, *more)

    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
        await house.warm(client)
        monkeypatch.setattr(StraightWay, "_going", noted)
        assert await house.served(client, TELL, "so") == ("so", True)
        (whole,) = wholes
        assert (whole.done, whole.body, whole.straight) == (True, b"", None)
        client.close()


async def test_what_was_asked_by_a_call_that_becomes_an_ordinary_one_is_read_by_nobody_again(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        params = {"name": TELL, "arguments": {"text": "so", "how": "never"}}
        client.send({"id": 7, "method": "tools/call", "params": params})
        forwarded: set[Any] = house.gateway.kernel._forwarded
        async with asyncio.timeout(5):
            while not forwarded:
                await asyncio.sleep(0.001)
        (going,) = forwarded
        whole: Any = going.whole
        going.promote()
        assert (whole.take_whole(), whole.body) == (None, b"")
        going.cancel()
        await client.receive()
        client.close()


async def _on_its_way(house: Any, client: Any) -> Any:
    """A prepared call that its server never answers."""
    await house.warm(client)
    forwarded: set[Any] = house.gateway.kernel._forwarded
    params = {"name": TELL, "arguments": {"text": "so", "how": "never"}}
    client.send({"id": 7, "method": "tools/call", "params": params})
    async with asyncio.timeout(5):
        while not forwarded:
            await asyncio.sleep(0.001)
    return next(iter(forwarded))


async def test_an_answer_that_cannot_be_written_at_once_keeps_its_id_until_it_is(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await _on_its_way(house, client)
        running, kernel = going.session.peer.running, house.gateway.kernel
        going.whole.unusual = True
        going.settle_plainly(going.ident, b'{"content":[]}')
        assert running == {b"7": going}
        async with asyncio.timeout(5):
            _, body = await client.receive()
        assert json.loads(body) == {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}
        assert (running, kernel.in_flight, kernel._forwarded) == ({}, 0, set())
        client.close()


async def test_calls_that_a_connection_gives_up_are_answered_and_their_server_is_told(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await _on_its_way(house, client)
        link = going.prepared.line._link
        link.give_up(Failure("upstream_unavailable", "it is moved"))
        async with asyncio.timeout(5):
            _, body = await client.receive()
        assert b"it is moved" in body
        kernel = house.gateway.kernel
        assert (link._pending, going.prepared.line._calls.count) == ({}, 0)
        assert (kernel.in_flight, kernel._forwarded) == (0, set())
        client.close()


async def test_what_breaks_behind_the_sending_of_a_call_makes_an_ordinary_one_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made once, and answered."""
    begun = StraightWay._going

    def noted(way: StraightWay, whole: Any, *more: Any) -> Any:
        held = way.sessions.overdue

        def breaks(one: object) -> None:
            way.sessions.overdue = held  # the walk's own reply asks for it, too
            raise RuntimeError("broken on purpose")

        monkeypatch.setattr(way.sessions, "overdue", breaks)
        return begun(way, whole, *more)

    async with prepared_house(tmp_path) as house:
        client = await house.client(revision="2025-11-25")
        await house.warm(client)
        (made,) = house.prepared.known.values()
        link = made.line._link
        sent = link._next
        monkeypatch.setattr(StraightWay, "_going", noted)
        async with asyncio.timeout(5):
            assert await house.served(client, TELL, "so") == ("so", True)
        assert (link._next - sent, link._pending, house.gateway.kernel.in_flight) == (1, {}, 0)
        assert made.odd == 1
        client.close()


async def test_all_who_hear_of_ends_hear_once_of_one_that_could_not_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those who hear of recorded ones in a shorter way. And the record counts it."""
    heard: list[tuple[str, float | None]] = []

    def full(bodies: Any) -> int:
        raise Unrecorded("full")

    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        kept, calls = house.prepared, house.gateway.audit._calls
        kept.ended = (lambda call, answer, spent_s: heard.append((type(answer).__name__, spent_s)),)
        refused = calls.refused
        with monkeypatch.context() as patched:
            patched.setattr(house.gateway.audit._journal, "append_all", full)
            said = await house.served(client, TELL, "so")
        assert said == ("audit_unavailable", True)
        assert (heard, calls.refused - refused) == ([("Refusal", None)], 1)
        client.close()
