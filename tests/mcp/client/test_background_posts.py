"""What nobody waits for is said in the session that it belongs to, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import pytest

from gatewright.mcp.client import background_posts
from gatewright.mcp.client.background_posts import BackgroundPosts
from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import SESSION
from gatewright.mcp.client.response_queue import AT_ONCE
from gatewright.mcp.wire import jsonrpc


class Wire:
    """Notes in which session what was posted."""

    def __init__(self) -> None:
        self.session: str | None = "s-2"
        self.posted: list[tuple[str | None, Any]] = []

    async def post(
        self, body: bytes, headers: Mapping[str, str], take: Callable[[bytes], None]
    ) -> None:
        """Note one."""
        self.posted.append((headers.get(SESSION), jsonrpc.decode(body)))


class Said:
    """A connection that says something."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.tasks: list[asyncio.Task[Any]] = []
        self.taken: list[str | None] = []
        wire = cast("HttpEndpoint", self.wire)
        self.posts = BackgroundPosts("s", wire, lambda *_: {}, self.taker, self.spawn)

    def taker(self, session: str | None) -> Callable[[bytes], None]:
        """Notes in which session what comes is taken."""
        self.taken.append(session)
        return lambda _: None

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do it."""
        self.tasks.append(task := asyncio.ensure_future(work))
        return task

    async def all(self) -> list[str | None]:
        """The sessions of what was said."""
        await asyncio.gather(*self.tasks)
        return [session for session, _ in self.wire.posted]


def everything(posts: BackgroundPosts) -> None:
    posts.notify("notifications/x", {})
    posts.remark(b'{"id":2}')
    posts.reply(b'{"id":1}')
    posts.call_off(17, "s-1")
    posts.refuse(jsonrpc.Request(b"5", "ping", b""), "s-1")


async def test_what_names_no_session_is_said_in_that_which_there_is_now() -> None:
    said = Said()
    everything(said.posts)
    said.wire.session = "s-3"
    assert sorted(map(str, await said.all())) == ["s-1", "s-1", "s-2", "s-2", "s-2"]
    assert sorted(map(str, said.taken)) == ["s-1", "s-1", "s-2", "s-2", "s-2"]


async def test_in_a_session_that_was_not_let_in_nothing_is_said_and_in_those_before_it_is() -> None:
    said = Said()
    said.posts.state = "unadmitted"
    everything(said.posts)
    assert await said.all() == ["s-1", "s-1"]


async def test_once_the_connection_is_closed_nothing_is_said() -> None:
    said = Said()
    said.posts.closed()
    everything(said.posts)
    assert await said.all() == []


async def test_where_there_were_no_sessions_nothing_is_of_one() -> None:
    said = Said()
    said.posts.call_off(17, None)
    said.posts.refuse(jsonrpc.Request(b"5", "roots/list", b""), None)
    assert await said.all() == []


async def test_what_is_asked_in_a_lost_session_is_refused_and_a_ping_is_answered() -> None:
    said = Said()
    said.posts.refuse(jsonrpc.Request(b"5", "ping", b""), "s-1")
    said.posts.refuse(jsonrpc.Request(b'"q"', "sampling/createMessage", b""), "s-1")
    await said.all()
    pong, refused = (body for _, body in said.wire.posted)
    assert pong == {"jsonrpc": "2.0", "id": 5, "result": {}}
    assert refused["id"] == "q"
    assert "session was lost" in refused["error"]["message"]


async def test_what_is_on_its_way_as_the_connection_closes_has_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And what waits behind it, none."""
    monkeypatch.setattr(background_posts, "LAST_S", 0.05)
    said, never = Said(), asyncio.Event()
    posting, said.wire.post = said.wire.post, lambda *_: never.wait()  # type: ignore[method-assign, assignment]
    for _ in range(AT_ONCE + 1):
        said.posts.reply(b'{"id":1}')
    await asyncio.sleep(0)
    said.wire.post = posting  # type: ignore[method-assign]
    said.posts.notify("notifications/x", {})
    assert said.posts.closed() == set(said.tasks)
    await asyncio.wait_for(said.posts.last(), 10)
    assert said.wire.posted == [
        ("s-2", {"jsonrpc": "2.0", "method": "notifications/x", "params": {}})
    ]
    await asyncio.wait(said.tasks, timeout=10)
    assert sum(one.cancelled() for one in said.tasks) == AT_ONCE
