"""Whom a notification is for that belongs to no call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Target
from gatewright.chunk_way import ChunkWay
from gatewright.mcp.client import link as link_module
from gatewright.mcp.client import notifications
from gatewright.mcp.client.pipe_link import GARBAGE
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION, OF_THE_SERVER, TASK_STATUS
from gatewright.mcp.wire.jsonrpc import Notification, parse
from gatewright.mcp.wire.methods import WORDS
from gatewright.secret_scanning.chunks import CHUNK
from tests.behaviour.task_places import (
    BOB,
    House,
    speaker,
    to,
)
from tests.mcp.client.test_http_link import DONE, begin, ended, scripted
from tests.servers.rig import FakeBack, running, within
from tests.servers.scripted import linked, start


@pytest.fixture
async def legacy(tmp_path: Path) -> AsyncIterator[House]:
    async with running(speaker(tmp_path, "one", "legacy")) as supervisor:
        yield House(supervisor, "legacy")


async def test_what_is_said_of_who_alone_spoke_is_told_to_that_one_alone(
    legacy: House,
) -> None:
    await legacy.put(
        to(
            legacy.method(BOB, "notifications/acme.said", {}),
            Target("one", "notifications/acme.said"),
        )
    )
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    note = parse(
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"his"}}'
    )
    assert isinstance(note, Notification)
    link._notified(note)
    assert any("his" in one for one in legacy.take("bob"))
    assert not any("his" in one for one in legacy.take("ann"))


def _progress(number: int, token: object) -> dict[str, Any]:
    return {
        "method": "notifications/progress",
        "params": {"progressToken": token, "progress": number},
    }


async def test_progress_is_for_the_call_that_has_its_token_by_the_name_that_its_caller_gave() -> (
    None
):
    async with linked() as (link, server):
        ann, bob = FakeBack(), FakeBack()
        params = {"name": "t", "_meta": {"progressToken": "hers"}}
        calls = [start(link, ann, params=params), start(link, bob)]
        hers, his = (await server.next())["id"], (await server.next())["id"]
        for number, token in enumerate((999, his, "hers", str(hers), None, hers)):
            server.say(**_progress(number, token))
        for ident in (hers, his):
            server.say(id=ident, result={"content": []})
        await within(asyncio.gather(*calls))
        assert ann.of("notifications/progress") == [{"progressToken": "hers", "progress": 5}]
        assert bob.events == []
        assert link.dropped == 5


@pytest.mark.parametrize("what", ["chunk", "progress", "gap"])
async def test_what_is_said_of_a_stream_is_of_the_call_that_it_names_or_nobodys(what: str) -> None:
    """A server that only one session ever spoke to tells that one of its other doings; of a stream that it has not got, nothing."""
    reply = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
    async with linked(face=Face(("streaming",)), capabilities=reply) as (link, server):
        back, other = FakeBack(), FakeBack()
        calls = [start(link, back), start(link, other)]
        hers, his = (await server.next())["id"], (await server.next())["id"]
        method = f"notifications/mgp.stream.{what}"
        for ident in (hers, 999, None, "x", str(hers)):
            server.say(method=method, params={"request_id": ident, "index": 0})
        server.say(method=method, params={"index": 0})
        server.say(id=hers, result={"content": []})
        await within(calls[0])
        server.say(method=method, params={"request_id": hers, "index": 1})
        server.say(id=his, result={"content": []})
        await within(calls[1])
        server.say(method=method, params={"request_id": his, "index": 1})
        await within(asyncio.sleep(0))
        assert len(back.of(method)) == 1
        assert other.events == []
        assert link.dropped >= 6


async def test_an_acknowledgement_says_what_the_server_honours() -> None:
    async with linked() as (link, _):
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        link._notes.listening["7"] = told
        for ident, honoured in (("8", {}), ("7", {"resourceSubscriptions": ["x:1"]})):
            params = {"notifications": honoured, "_meta": {META_SUBSCRIPTION: ident}}
            link._notes.take("notifications/subscriptions/acknowledged", params, None)
        assert await within(told) == {"resourceSubscriptions": ["x:1"]}


async def test_progress_on_the_stream_of_another_call_is_nobodys() -> None:
    async with scripted() as (supervisor, server):
        ann, bob = FakeBack(), FakeBack()
        first = begin(supervisor, ann, meta={"progressToken": "hers"})
        hers = await server.next("tools/call")
        second = begin(supervisor, bob, meta={"progressToken": "his"}, session="other")
        his = await server.next("tools/call")
        for asked in (hers, his):
            asked.stream()
        his.event(_progress(1, hers.body["id"]))
        his.event(_progress(2, his.body["id"]))
        his.event({"id": his.body["id"], "result": DONE})
        await ended(second)
        hers.event(_progress(3, hers.body["id"]))
        hers.event({"id": hers.body["id"], "result": DONE})
        await ended(first)
        assert ann.of("notifications/progress") == [{"progressToken": "hers", "progress": 3}]
        assert bob.of("notifications/progress") == [{"progressToken": "his", "progress": 2}]


# -- the table ----------------------------------------------------------------------------------------

_OF_A_CALL = frozenset(
    {"notifications/progress", "notifications/message", "notifications/cancelled"}
)


def test_each_notification_of_servers_is_placed() -> None:
    """One that is added has to be said of a call or of the server, before anybody hears it."""
    said = {
        one.method for one in WORDS if one.notification and "server" in one.by and not one.extension
    }
    mgp = {"notifications/mgp.event", "notifications/mgp.lifecycle"}
    assert mgp < OF_THE_SERVER
    assert said == OF_THE_SERVER - mgp | _OF_A_CALL
    assert not OF_THE_SERVER & _OF_A_CALL
    assert {one for one in said if "tasks" in one} == TASK_STATUS


class Straight(FakeBack):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.free = True

    def chunks(self) -> ChunkWay:
        return ChunkWay(lambda: self.free, self.texts.append)


def chunk(ident: Any, text: str, **more: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {
        "method": CHUNK,
        "params": {"request_id": ident, "index": 0, "content": content, "done": False, **more},
    }


async def test_chunks_of_a_stream_go_straight_to_their_own_call_and_nobody_elses() -> None:
    """After the first: what names no open call of the connection, or the call of a caller whose chunks are events, goes no other way."""

    reply = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
    async with linked(face=Face(("streaming",)), capabilities=reply) as (link, server):
        ann, bob, eve = Straight(), Straight(), FakeBack()
        calls = [start(link, one) for one in (ann, bob, eve)]
        hers, his, evil = [(await server.next())["id"] for _ in calls]

        async def read(*said: dict[str, Any]) -> None:
            for one in (*said, chunk(evil, "e")):
                server.say(**one)
            count = len(eve.events) + 1
            await eve.until(lambda: len(eve.events) >= count)

        await read(chunk(hers, "first"), chunk(his, "first"))
        await read(chunk(hers, "a"), chunk(his, "b"), chunk(999, "x"), chunk(str(hers), "y"))
        await read(chunk(hers, "more", note="x"))
        ann.free = False
        await read(chunk(hers, "behind"))
        ann.free = True
        await read(chunk(hers, "last", done=True))
        assert (ann.texts, bob.texts) == (["a"], ["b"])
        said = [one["content"]["text"] for one in ann.of(CHUNK)]
        assert said == ["first", "more", "behind", "last"]
        assert [one["content"]["text"] for one in bob.of(CHUNK)] == ["first"]
        assert link.dropped == 2
        for ident in (hers, his):
            server.say(id=ident, result={"content": []})
        await within(asyncio.gather(*calls[:2]))
        await read(chunk(hers, "late"), chunk(his, "late"))
        assert (ann.texts, bob.texts) == (["a"], ["b"])
        assert link.dropped == 4
        server.say(id=evil, result={"content": []})
        await within(calls[2])


async def test_garbage_between_chunks_that_go_straight_is_forgiven_as_well() -> None:
    reply = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
    async with linked(face=Face(("streaming",)), capabilities=reply) as (link, server):
        back = Straight()
        call = start(link, back)
        ident = (await server.next())["id"]
        server.say(**chunk(ident, "first"))
        for _ in range(3):
            for _ in range(GARBAGE - 1):
                server.write(b"garbage")
            server.say(**chunk(ident, "more"))
        server.say(id=ident, result={"content": []})
        assert isinstance(await within(call), Answer)
        assert back.texts == ["more"] * 3
        assert link.open


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"level": "info", "data": "a\nb"}, "info: 'a\\nb'"),
        ({"level": ["x"] * 10**5, "data": {"a": 1}}, "['x', 'x', 'x'"),
        ({"level": "info", "data": ["x" * 10**6] * 3}, "info: ['xxx"),
        ({"level": "l" * 10**6, "data": [0] * 10**5}, "lll"),
    ],
)
async def test_of_what_may_be_anybodys_the_log_has_the_beginning(
    params: dict[str, Any], shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with linked() as (link, server):
        for session in ("s1", "s2"):
            start(link, FakeBack(), session=session)
            await server.next()
        link._notes.take("notifications/message", params, None)
    (line,) = [
        one.getMessage() for one in caplog.records if one.name == "gatewright.server.scripted"
    ]
    assert line.startswith(shown)
    assert len(line) < 700
    assert "\n" not in line


async def test_what_the_log_does_not_show_is_not_spelled(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "gatewright.server.scripted")
    monkeypatch.setattr(notifications, "glimpse", None)  # which would break
    async with linked() as (link, _):
        link.sole = None
        link._notes.take("notifications/message", {"level": "info", "data": "x"}, None)
    assert not [one for one in caplog.records if one.name == "gatewright.server.scripted"]


async def test_what_is_not_passed_on_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "params_of", None)  # which would break
    async with linked() as (link, _):
        link._notified(jsonrpc.Notification("notifications/unheard.of", b'{"a":[1]}'))
        assert link.dropped == 1
