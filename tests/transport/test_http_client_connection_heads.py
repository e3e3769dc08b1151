"""What is remembered of an answer is true of the next one with the same head, and of no other."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from gatewright.transport.http_client_connection import HttpClientConnection
from gatewright.transport.http_fault import Fault
from tests.transport.collecting import whole, within
from tests.transport.test_http_client_connection import CHUNKED, OK, called

SIZED = OK + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"


async def asked(caller: HttpClientConnection, *pieces: bytes, limit: int = 1000) -> Any:
    """Status, headers, body and whether the connection can be used again; or the kind of fault."""
    answer = caller.ask(b"GET / HTTP/1.1\r\n\r\n", b"", limit)
    for piece in pieces:
        caller.data_received(piece)
    try:
        body = await within(whole(answer))
    except Fault as fault:
        return fault.kind
    return answer.status, dict(answer.headers), body, caller.free()


class Unused:
    """A parser that must not be asked."""

    def feed_data(self, data: bytes) -> None:
        raise AssertionError(data)


def sized(body: bytes) -> bytes:
    return SIZED % (len(body), body)


async def test_a_known_head_is_not_parsed_again() -> None:
    async with called() as (caller, _):
        first = await asked(caller, sized(b"one"))
        parser, caller._parser = caller._parser, Unused()  # type: ignore[assignment]
        assert await asked(caller, sized(b"two")) == (*first[:2], b"two", True)
        caller._parser = parser
        assert await asked(caller, sized(b"three")) == (
            200,
            {**first[1], "content-length": "5"},
            b"three",
            True,
        )
        assert await asked(caller, sized(b"two")[:-1], b"o") == (*first[:2], b"two", True)


async def test_more_than_the_limit_is_too_much_also_under_a_known_head() -> None:
    async with called() as (caller, _):
        assert (await asked(caller, sized(b"hello")))[2] == b"hello"
        assert await asked(caller, sized(b"hello"), limit=4) == "too large"


async def test_what_follows_a_known_answer_ends_the_connection() -> None:
    async with called() as (caller, _):
        await asked(caller, sized(b"hello"))
        found = await asked(caller, sized(b"hello") + b"HTTP/1.1 200 OK\r\n")
        assert found[2:] == (b"hello", False)
        assert caller.transport is None or caller.transport.is_closing()


@pytest.mark.parametrize(
    "answer",
    [
        OK + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
        OK
        + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b"
        % (len(gzip.compress(b"hello", mtime=0)), gzip.compress(b"hello", mtime=0)),
        OK + b"content-length: 5\nx: y\n\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\n" + sized(b"hello"),
        OK + b"content-length: 5\r\nx: " + b"y" * 2048 + b"\r\n\r\nhello",
    ],
    ids=["chunked", "packed", "bare line ends", "after another head", "long"],
)
async def test_what_is_not_plain_is_not_remembered(answer: bytes) -> None:
    async with called() as (caller, _):
        for _again in range(2):
            assert (await asked(caller, answer))[2:] == (b"hello", True)
        assert not caller._known._known


async def test_a_connection_that_closes_is_not_remembered() -> None:
    async with called() as (caller, _):
        found = await asked(caller, OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok")
        assert found[2:] == (b"ok", False)
        assert not caller._known._known


async def test_a_few_heads_are_remembered_and_the_oldest_goes() -> None:
    async with called() as (caller, _):
        for size in range(1, 7):
            assert (await asked(caller, sized(b"x" * size)))[2] == b"x" * size
        assert [size for _, _, size in caller._known._known.values()] == [3, 4, 5, 6]
