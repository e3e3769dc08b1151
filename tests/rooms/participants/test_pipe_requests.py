"""Requests of several senders on one pipe."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import msgspec
import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.rooms.participants.pipe_requests import (
    GIVEN_UP,
    NOBODY,
    WORKS_ON_S,
    PipeRequests,
    asks,
)


class Pipe:
    """What was sent, and the requests that wait."""

    def __init__(self, answer_s: float = 20.0) -> None:
        self.now = 0.0
        numbers = map(str, itertools.count(1))
        clock, fresh = lambda: self.now, lambda: next(numbers)
        self.requests = PipeRequests("r", answer_s, clock=clock, fresh=fresh)
        self.sent: list[dict[str, Any]] = []
        self._tasks: list[asyncio.Task[bytes]] = []

    def send(self, frame: bytes) -> None:
        """Hear something."""
        self.sent.append(json.loads(frame))

    async def put(self, sender: str, ident: int = 1, **params: Any) -> asyncio.Task[bytes]:
        """Ask something."""
        frame = jsonrpc.request(b"%d" % ident, "tools/call", params)
        members = jsonrpc.decode_members(frame)
        task = asyncio.create_task(self.requests.put(members, sender, self.send))
        self._tasks.append(task)
        await asyncio.sleep(0)
        return task

    def cancel(self, sender: str, ident: int = 1) -> None:
        """Give it up."""
        params = {"requestId": ident}
        note = jsonrpc.notification("notifications/cancelled", params)
        self.requests.cancel(jsonrpc.decode_members(note), sender, self.send)

    def answer(self, number: int) -> None:
        """Answer one of ours."""
        self.requests.answer(jsonrpc.Response(jsonrpc.encode(f"r-{number}"), b"{}"))


async def test_what_is_given_up_is_its_senders_until_it_is_answered() -> None:
    pipe = Pipe()
    await pipe.put("ana")
    await pipe.put("bob")
    pipe.cancel("ana")
    await asyncio.sleep(0)
    assert pipe.requests.senders == {"ana", "bob"}
    assert (pipe.requests.waits("ana"), pipe.requests.waits("bob")) == (False, True)
    pipe.answer(1)
    assert pipe.requests.senders == {"bob"}


async def test_a_late_answer_that_cannot_be_read_counts_as_one() -> None:
    pipe = Pipe()
    await pipe.put("ana")
    pipe.cancel("ana")
    await asyncio.sleep(0)
    data = b'{"jsonrpc":"2.0","id":"r-1","result":{},"error":{}}'
    flaw = jsonrpc.parse(data)
    assert isinstance(flaw, jsonrpc.Malformed)
    assert pipe.requests.settled(flaw, data)
    assert pipe.requests.senders == set()
    assert not pipe.requests.settled(flaw, data)


async def test_what_was_of_one_who_left_is_of_nobody_who_has_the_name_later() -> None:
    pipe = Pipe()
    await pipe.put("ana", 1)
    await pipe.put("ana", 2)
    pipe.cancel("ana", 1)
    pipe.requests.gone("ana", pipe.send)
    await asyncio.sleep(0)
    assert pipe.requests.senders == {NOBODY}
    assert [one["params"]["requestId"] for one in pipe.sent[2:]] == ["r-1", "r-2"]


async def test_a_request_whose_task_ends_is_cancelled_and_of_nobody() -> None:
    """Whoever asked has lost its place, and others may have its name."""
    pipe = Pipe()
    task = await pipe.put("ana")
    task.cancel()
    await asyncio.sleep(0)
    assert pipe.requests.senders == {NOBODY}
    assert pipe.sent[-1]["params"] == {"requestId": "r-1"}


async def test_those_that_are_never_answered_are_bounded_and_still_count() -> None:
    pipe = Pipe()
    for sender in ("ana", "bob"):
        for _ in range(GIVEN_UP):
            await pipe.put(sender)
            pipe.cancel(sender)
            await asyncio.sleep(0)
    assert len(pipe.requests._given_up) == GIVEN_UP
    assert pipe.requests.senders == {"ana", "bob"}
    pipe.requests.gone("ana", pipe.send)
    assert pipe.requests.senders == {NOBODY, "bob"}
    pipe.requests.end("gone")
    assert pipe.requests.senders == set()


@pytest.mark.parametrize("crowd", [0, GIVEN_UP])
@pytest.mark.parametrize("answer_s", [1.0, 2 * WORKS_ON_S])
async def test_what_is_given_up_and_never_answered_counts_no_longer_than_a_call_may_take(
    crowd: int, answer_s: float
) -> None:
    """MCP: what is cancelled is not answered. So one who called and left kept all others from being asked, for good."""
    pipe = Pipe(answer_s)
    await pipe.put("ana")
    pipe.requests.gone("ana", pipe.send)
    for _ in range(crowd):
        await pipe.put("cem")
        pipe.cancel("cem")
        await asyncio.sleep(0)
    pipe.requests.gone("cem", pipe.send)
    await pipe.put("bob")
    pipe.now = max(answer_s, WORKS_ON_S) - 0.1
    assert pipe.requests.senders == {NOBODY, "bob"}
    assert pipe.requests.haunted
    pipe.now += 0.1
    assert pipe.requests.senders == {"bob"}
    assert not pipe.requests.haunted


async def test_the_last_of_those_that_are_not_kept_apart_is_the_one_that_counts() -> None:
    pipe = Pipe()
    for pipe.now in (0.0, WORKS_ON_S / 2):
        await pipe.put("ana")
        pipe.cancel("ana")
        for _ in range(GIVEN_UP):
            await pipe.put("bob")
            pipe.cancel("bob")
            await asyncio.sleep(0)
    pipe.now = WORKS_ON_S
    assert pipe.requests.senders == {"ana", "bob"}
    pipe.now = WORKS_ON_S * 1.5
    assert pipe.requests.senders == set()


async def test_a_progress_token_is_ours_on_the_pipe_and_its_senders_before_and_after() -> None:
    pipe = Pipe()
    for token in ("r-1", 1):
        await pipe.put("ana", _meta={"progressToken": token, "x": 1}, name="dig")
    metas = [one["params"]["_meta"] for one in pipe.sent]
    assert metas == [{"progressToken": "r-1", "x": 1}, {"progressToken": "r-2", "x": 1}]
    found = pipe.requests.progress({"progressToken": "r-2", "progress": 3})
    assert found is not None
    assert found[0] == "ana"
    assert json.loads(jsonrpc.encode(found[1])) == {"progressToken": 1, "progress": 3}
    pipe.answer(2)
    assert pipe.requests.progress({"progressToken": "r-2"}) is None


async def test_a_request_without_a_token_has_no_progress_and_stays_as_it_is() -> None:
    pipe = Pipe()
    await pipe.put("ana", _meta={"x": 1})
    await pipe.put("ana", _meta=3)
    assert [one["params"] for one in pipe.sent] == [{"_meta": {"x": 1}}, {"_meta": 3}]
    assert pipe.requests.progress({"progressToken": "r-1"}) is None
    assert pipe.requests.progress({}) is None


async def test_a_token_that_is_spelled_with_escapes_is_replaced_as_well() -> None:
    pipe = Pipe()
    raw = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"_m\\u0065ta":{"progr\\u0065ssToken":"r-9"}}}'
    members: dict[str, msgspec.Raw] = jsonrpc.decode_members(raw)
    task = asyncio.create_task(pipe.requests.put(members, "ana", pipe.send))
    await asyncio.sleep(0)
    assert pipe.sent[0]["params"]["_meta"]["progressToken"] == "r-1"
    task.cancel()


async def test_nobody_counts_up_to_the_ids_of_others() -> None:
    """Who guesses an id could cancel the call that has it, where a cancellation comes through."""
    requests = PipeRequests("r", 20.0)
    ids = {requests.ask()[0] for _ in range(100)}
    assert len(ids) == 100
    assert all(len(one) == len(b'"r-"') + 16 for one in ids)


def test_what_has_a_method_asks() -> None:
    assert asks(b'{"method":"x"}')
    assert not asks(b'{"id":1}')
    assert not asks(b"[")
