"""Answers to an HTTP server that asks: in their order, few at once, and never more than it may have open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from gatewright.mcp.client.response_queue import AT_ONCE, WAITING, WAITING_BYTES, ResponseQueue


class Slow:
    """A server that takes answers when it is told to."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.most = self.open = 0
        self.takes = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.outbox = ResponseQueue("slow", self.post, self.spawn)

    async def post(self, frame: bytes, session: str | None) -> None:
        self.begun.append(frame)
        self.open += 1
        self.most = max(self.most, self.open)
        await self.takes.wait()
        self.open -= 1

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def rest(self) -> None:
        self.takes.set()
        await asyncio.gather(*self.tasks)


async def test_few_are_on_their_way_at_once_and_all_arrive_in_their_order() -> None:
    server = Slow()
    frames = [b"%d" % one for one in range(100)]
    for frame in frames:
        server.outbox.send(frame)
    await asyncio.sleep(0)
    assert server.begun == frames[:AT_ONCE]
    await server.rest()
    assert server.begun == frames
    assert server.most == AT_ONCE


async def test_a_server_that_asks_faster_than_it_listens_goes_without_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Slow()
    with caplog.at_level(logging.WARNING, "gatewright.mcp.client"):
        for one in range(100_000):
            server.outbox.send(b"%d" % one)
    assert len(server.tasks) == AT_ONCE
    await server.rest()
    assert len(server.begun) == WAITING
    assert caplog.text.count("server slow asks faster than it takes answers") == 1


async def test_what_may_be_missed_takes_no_answers_place() -> None:
    server = Slow()
    for one in range(AT_ONCE):
        server.outbox.remark(b"far %d" % one)
        await asyncio.sleep(0)
    for one in range(10_000):
        server.outbox.remark(b"further %d" % one)
    answers = [b"%d" % one for one in range(WAITING - 1)]
    for frame in answers:
        server.outbox.send(frame)
    await server.rest()
    assert server.begun[AT_ONCE + 1 :] == answers


async def test_what_waits_is_bounded_in_bytes_but_one_answer_may_be_longer() -> None:
    server = Slow()
    for _ in range(AT_ONCE + 1):
        server.outbox.send(b"x" * (WAITING_BYTES + 1))
        await asyncio.sleep(0)
    server.outbox.send(b"x" * (WAITING_BYTES + 1))
    server.outbox.send(b"y")
    await server.rest()
    assert [len(one) for one in server.begun] == [WAITING_BYTES + 1] * (AT_ONCE + 1)


async def test_it_is_answered_again_once_it_has_listened() -> None:
    server = Slow()
    for one in range(WAITING * 2):
        server.outbox.send(b"%d" % one)
    await server.rest()
    server.outbox.send(b"later")
    await server.rest()
    assert server.begun[-1] == b"later"


async def test_a_lane_that_is_ended_takes_no_other_with_it() -> None:
    server = Slow()
    for one in range(AT_ONCE + 1):
        server.outbox.send(b"%d" % one)
    await asyncio.sleep(0)
    server.tasks[0].cancel()
    server.takes.set()
    await asyncio.gather(*server.tasks, return_exceptions=True)
    server.outbox.send(b"later")
    await asyncio.gather(*server.tasks[1:])
    assert server.begun[-2:] == [b"%d" % AT_ONCE, b"later"]
