"""Legacy sessions: handles bound to their caller, with an end."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from gatewright.mcp.protocol import replay
from gatewright.mcp.server import http_sessions as module
from gatewright.mcp.server.http_sessions import IDLE_S
from gatewright.transport import slices
from tests.dialects.client import Answered, rpc, within
from tests.dialects.house import ANN, BOB, House, Session, text
from tests.dialects.steps import CALL, Hang


def ids(house: House) -> set[str]:
    return set(house.front.owners)


async def test_a_session_has_an_id_of_visible_characters_and_is_known_to_policy() -> None:
    async with House() as house:
        session = await house.session(key="key-ann")
        assert re.fullmatch(r"[\x21-\x7e]{32,}", session.ident)
        assert house.front.owners == {session.ident: ("agent", "ann")}
        house.script.does("echo", text("hi"))
        await session.ask("tools/call", CALL)
        assert house.script.calls[0].session == session.ident


@pytest.mark.parametrize("key", ["key-bob", None])
async def test_a_foreign_session_is_answered_like_one_that_never_was(key: str | None) -> None:
    async with House() as house:
        session = await house.session(key="key-ann")
        bodies = []
        for ident in (session.ident, "f" * 64):
            headers: dict[str, str | None] = {"mcp-session-id": ident}
            answered = await house.post(rpc("ping", None, 9), key=key, headers=headers)
            assert answered.status == 404
            streams: dict[str, str | None] = {**headers, "accept": "text/event-stream"}
            got = await house.open(method="GET", key=key, headers=streams).whole()
            ended = await house.open(method="DELETE", key=key, headers=headers).whole()
            assert (got.status, ended.status) == (404, 404)
            bodies.append((answered.body, got.body, ended.body))
        assert bodies[0] == bodies[1]
        assert (await house.post(rpc("ping", None, 9), headers=headers)).json["id"] == 9
        assert (await session.ask("ping"))["result"] == {}


async def test_a_session_ends_when_its_client_says_so() -> None:
    async with House() as house:
        session = await house.session()
        stream = session.get()
        await stream.head()
        house.script.does("echo", hang := Hang())
        running = session.open("tools/call", CALL)
        await within(hang.began.wait())
        assert (await session.delete()).status == 200
        await within(running.task)
        await within(stream.task)
        assert house.script.cancelled == ["echo"]
        answered = await session.send(rpc("tools/list", None, 1))
        assert (answered.status, answered.json["id"]) == (404, 1)
        assert (await session.delete()).status == 404
        assert house.upstream.forgotten == [session.ident]
        assert (house.upstream.watching, ids(house)) == ({}, set())


async def test_a_session_ends_when_an_operator_says_so() -> None:
    """As if its client had ended it: what runs is cancelled, and it is unknown from then on."""
    async with House() as house:
        session, other = await house.session(), await house.session()
        house.script.does("echo", hang := Hang())
        running = session.open("tools/call", CALL)
        await within(hang.began.wait())
        house.front.standing[session.ident].end()
        await within(running.task)
        assert house.script.cancelled == ["echo"]
        assert (await session.send(rpc("tools/list", None, 1))).status == 404
        assert (await other.send(rpc("tools/list", None, 2))).status == 200
        assert ids(house) == {other.ident}


async def test_a_session_that_nobody_used_for_an_hour_ends() -> None:
    async with House() as house:
        unused, used, listening = [await house.session() for _ in range(3)]
        stream = listening.get()
        await stream.head()
        house.now += IDLE_S - 1
        await used.ask("ping")
        house.now += 2
        house.app.streamable.sessions.sweep()
        assert ids(house) == {used.ident, listening.ident}
        assert (await unused.send(rpc("ping", None, 1))).status == 404


async def each_turn(house: House) -> list[int]:
    """How many sessions end in each turn of the loop from now on, until none does for a while."""
    left, found = len(ids(house)), list[int]()
    while any(found[-9:]) or len(found) < 9:
        await asyncio.sleep(0)
        found.append(left - len(ids(house)))
        left -= found[-1]
    return found


async def test_many_that_nobody_used_end_one_a_step_and_none_that_is_used_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten thousand of them ended in one step, and every caller waited for it."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    async with House() as house:
        opened = [await house.session() for _ in range(8)]
        house.now += IDLE_S + 1
        house.app.streamable.sessions.sweep()
        assert len(ids(house)) == 7
        house.front.standing[opened[-1].ident].used = house.now
        assert max(await each_turn(house)) == 1
        assert ids(house) == {opened[-1].ident}


async def test_all_sessions_are_told_goodbye_and_end_one_a_step_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    async with House() as house:
        for _ in range(8):
            await house.session()
        sessions = house.app.streamable.sessions
        own = [one.streams.own for one in sessions.by_id.values()]
        sessions.farewell()
        assert sum(one.ended for one in own) == 1
        closing = asyncio.ensure_future(sessions.close_all())
        assert max(await each_turn(house)) == 1
        await within(closing)
        assert all(one.ended for one in own)
        assert ids(house) == set()


async def test_an_expired_session_is_refused_before_anybody_sweeps() -> None:
    """GRH-sec-2: like one that never was, at the very moment, and others may see until when it lasts."""
    async with House() as house:
        session = await house.session(key="key-ann")
        standing = house.front.standing[session.ident]
        assert (standing.caller.id, standing.door, standing.idle_s) == ("ann", "http", IDLE_S)
        house.now += IDLE_S
        await session.ask("ping")
        assert standing.used == house.now
        house.now += IDLE_S + 0.001
        late = await session.send(rpc("ping", None, 9))
        headers: dict[str, str | None] = {"mcp-session-id": "f" * 64}
        never = await house.post(rpc("ping", None, 9), key="key-ann", headers=headers)
        assert (late.status, late.body) == (never.status, never.body)
        assert house.front.standing == {}


async def test_a_session_with_a_call_that_runs_does_not_end() -> None:
    async with House() as house:
        session = await house.session()
        house.script.does("echo", hang := Hang())
        wire = session.open("tools/call", CALL)
        await within(hang.began.wait())
        house.now += IDLE_S + 1
        house.app.streamable.sessions.sweep()
        hang.end.set()
        assert (await wire.whole()).status == 200
        assert ids(house) == {session.ident}


async def test_one_caller_has_only_so_many_sessions_and_ends_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SESSIONS_EACH", 3)
    async with House() as house:
        foreign = await house.session(key="key-bob")
        own = [await house.session(key="key-ann") for _ in range(3)]
        await own[0].ask("ping")
        newest = await house.session(key="key-ann")
        assert ids(house) == {one.ident for one in (foreign, own[0], own[2], newest)}
        await own[2].delete()
        last = await house.session(key="key-ann")
        assert ids(house) == {one.ident for one in (foreign, own[0], newest, last)}


async def test_beyond_the_limit_the_session_unused_for_longest_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SESSIONS", 3)
    async with House() as house:
        own: list[Session] = [await house.session() for _ in range(3)]
        await own[0].ask("ping")
        newest = await house.session()
        assert ids(house) == {one.ident for one in (own[0], own[2], newest)}
        assert len(house.app.streamable.sessions) == 3


async def test_calls_of_a_session_carry_the_credential_that_came_with_them() -> None:
    """A key that was replaced does not end the sessions of its owner."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session(key="key-ann")
        headers: dict[str, str | None] = {"authorization": "Bearer key-ann-2"}
        await session.ask("tools/call", CALL)
        await session.ask("tools/call", CALL, headers=headers)
        assert [(call.caller, call.credential) for call in house.script.calls] == [
            (ANN, "key-ann"),
            (ANN, "key-ann-2"),
        ]


async def test_a_handshake_that_fails_leaves_no_session() -> None:
    async with House() as house:
        flawed: list[Any] = [{}, {"protocolVersion": 5}, [], {"protocolVersion": "x", "_meta": 1}]
        for params in flawed:
            answered = await house.post(rpc("initialize", params, 3))
            assert (answered.json["id"], answered.json["error"]["code"]) == (3, -32602)
            assert "mcp-session-id" not in answered.headers
        assert ids(house) == set()


async def test_a_session_is_initialized_once() -> None:
    async with House() as house:
        session = await house.session()
        again: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
        answered = await session.ask("initialize", again)
        assert answered["error"]["code"] == -32600
        assert ids(house) == {session.ident}


async def test_every_session_ends_with_the_gateway() -> None:
    async with House() as house:
        sessions = [await house.session(key=key) for key in ("key-ann", "key-bob")]
        streams = [session.get() for session in sessions]
        for stream in streams:
            await stream.head()
        await house.app.close()
        await asyncio.wait_for(asyncio.gather(*(stream.task for stream in streams)), 5)
        assert ids(house) == set()
        assert sorted(house.upstream.forgotten) == sorted(one.ident for one in sessions)
        assert BOB.who not in house.front.owners.values()


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_is_unknown_on_the_path_of_another_profile(method: str) -> None:
    async with House() as house:
        session = await house.session(key="key-ann")
        headers = {"mcp-session-id": session.ident, "accept": "text/event-stream, application/json"}
        body = rpc("ping", ident=1) if method == "POST" else b""

        async def asked(ident: str, path: str) -> Answered:
            found = house.open(
                body,
                method=method,
                path=path,
                key="key-ann",
                headers={**headers, "mcp-session-id": ident},
            )
            return await found.whole()

        elsewhere, unknown = (
            await asked(session.ident, "/mcp/small"),
            await asked("0" * 64, "/mcp/small"),
        )
        assert (elsewhere.status, elsewhere.body) == (unknown.status, unknown.body)
        assert elsewhere.status == 404
        assert len(house.app.streamable.sessions) == 1


async def test_what_nobody_reads_in_many_sessions_of_one_caller_is_bounded_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "FINISHED_BYTES", 2000)
    async with House() as house:
        opened = [await house.session(key="key-ann") for _ in range(10)]
        other = await house.session(key="key-bob")
        for _ in range(5):
            house.upstream.tell("notifications/message", {"level": "error", "data": "x" * 300})
        sessions = house.app.streamable.sessions.by_id
        held = {one: sessions[one.ident].streams.own.held for one in (*opened, other)}
        assert 0 < sum(held[one] for one in opened) <= 2000
        assert held[other] > 1500
