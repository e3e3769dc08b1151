"""POSTs of requests that are over are ended, and too many make room for one another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

from gatewright.transport import open_posts
from gatewright.transport.open_posts import OpenPosts, Requests


class Server:
    """Accepts nothing."""

    def __init__(self, most: int) -> None:
        self.waiting: set[int] = set()
        self.lost: list[int] = []
        self.late: list[tuple[int, bool]] = []
        requests = Requests(
            self.waiting.__contains__,
            lambda ident, why, sent: self.lost.append(ident),
            lambda ident, late: self.late.append((ident, late)),
        )
        self.posts = OpenPosts(lambda: most, requests)

    def post(self, ident: int | None, *, waits: bool = True) -> asyncio.Task[None]:
        """One more message."""
        if ident is not None and waits:
            self.waiting.add(ident)
        task = asyncio.ensure_future(asyncio.sleep(3600.0))
        self.posts.begin(task, ident)
        return task


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """One that is asked two things at once."""
    monkeypatch.setattr(open_posts, "OVER_S", 0.01)
    monkeypatch.setattr(open_posts, "_RUNS_ON_S", 0.005)
    found = Server(2)
    yield found
    found.posts.stop()
    for one in found.posts.all():
        one.cancel()


async def test_the_post_of_a_request_that_is_over_is_ended_and_no_other(server: Server) -> None:
    over, open_, other = server.post(1), server.post(2), server.post(None)
    await asyncio.sleep(0.05)
    assert not over.done()
    server.waiting.discard(1)
    await asyncio.wait([over], timeout=10)
    assert over.cancelled()
    await asyncio.sleep(0.05)
    assert server.posts.all() == [open_, other]
    assert server.posts.others() == [other]
    assert server.lost == []


async def test_a_post_that_has_its_status_is_not_ended(server: Server) -> None:
    answered, over = server.post(1, waits=False), server.post(2, waits=False)
    server.posts.answered(answered)
    await asyncio.wait([over], timeout=10)
    server.post(3)
    server.post(4)
    await asyncio.sleep(0.05)
    assert not answered.done()


async def test_one_that_is_over_makes_room_before_one_that_is_waited_for(server: Server) -> None:
    first, over = server.post(1), server.post(2)
    server.waiting.discard(2)
    server.post(3)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert over.cancelled()
    assert not first.done()
    assert server.lost == []


async def test_whose_request_makes_room_though_it_is_waited_for_hears_so(server: Server) -> None:
    other, first, second = server.post(None), server.post(1), server.post(2)
    server.post(3)
    await asyncio.wait([first], timeout=10)
    assert first.cancelled()
    assert server.lost == [1]
    assert not other.done()
    assert not second.done()


async def test_a_server_works_while_a_request_is_with_it_that_somebody_waits_for(
    server: Server,
) -> None:
    server.post(None)
    server.post(1, waits=False)
    assert not server.posts.works(0.0)
    asked = server.post(2)
    assert server.posts.works(0.0)
    assert not server.posts.works(60.0)
    server.posts.answered(asked)
    assert not server.posts.works(0.0)


@pytest.mark.parametrize("call", [True, False])
async def test_a_server_works_on_what_it_has_accepted_while_somebody_waits_for_that(
    server: Server, call: bool
) -> None:
    """Its calls were lost because it took no others."""
    post = server.post(1)
    server.posts.accepted(post, 1.0, call=call)
    post.cancel()
    await asyncio.wait([post], timeout=10)
    assert server.posts.works(0.0)
    assert not server.posts.works(60.0)
    server.waiting.clear()
    assert not server.posts.works(0.0)


async def test_of_what_was_accepted_only_what_is_waited_for_is_kept(server: Server) -> None:
    for ident in range(300):
        post = server.post(ident)
        server.posts.accepted(post, 1.0, call=True)
        server.waiting -= {ident - 10}
        post.cancel()
        await asyncio.sleep(0)
    assert len(server.posts._running) <= 65


async def test_a_server_accepts_late_until_three_calls_ran_on_after_they_were_accepted(
    server: Server,
) -> None:
    idents = count(100)

    async def accepted(*waits: bool, late_s: float = 0.05) -> None:
        posts = [server.post(next(idents), waits=one) for one in waits]
        for post in posts:
            server.posts.accepted(post, late_s, call=True)
            post.cancel()
        await asyncio.sleep(0.02)

    await accepted(True, True, True)
    server.posts.accepted_late()
    await accepted(True, True)
    await accepted(False, False, False)
    assert server.posts.accepts_late
    server.posts.accepted_late()
    await accepted(True, True)
    await accepted(True, late_s=0.0)  # not soon, for a limit of nothing
    await accepted(True, True)
    assert server.posts.accepts_late
    await accepted(True)
    assert not server.posts.accepts_late


async def test_long_messages_are_held_until_they_are_accepted(server: Server) -> None:
    long, short, notification = server.post(1), server.post(2), server.post(None)
    server.posts.late(short, 4096)
    server.posts.late(notification, 5000)
    assert (server.posts.held, server.late) == (5000, [])
    notification.cancel()
    await asyncio.wait([notification], timeout=10)
    assert server.posts.held == 0
    server.posts.late(long, 4097)
    assert (server.posts.held, server.late) == (4097, [(1, True)])
    long.cancel()
    await asyncio.wait([long], timeout=10)
    assert (server.posts.held, server.late) == (0, [(1, True), (1, False)])
    server.posts.late(long, 4097)  # accepted by now
    assert server.posts.held == 0
