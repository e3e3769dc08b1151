from __future__ import annotations

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.http_answer import HIGH_WATER, JOINED, Answer, Fields, Raw
from gatewright.transport.http_fault import Fault
from tests.transport.collecting import whole, within

STREAM: Raw = [(b"content-type", b"text/event-stream")]


def begun(raw: Raw, status: int = 200, limit: int = 100) -> tuple[Answer, list[bool]]:
    wishes: list[bool] = []
    answer = Answer("http://a", limit, wishes.append)
    answer.open(status, raw, dict(raw))
    return answer, wishes


def test_headers_are_found_in_any_case_and_the_first_of_several_counts() -> None:
    fields = Fields([(b"set-cookie", b"a"), (b"x-a", "\u00fc".encode()), (b"set-cookie", b"b")])
    assert fields["Set-Cookie"] == "a"
    assert fields.getall("SET-cookie") == ["a", "b"]
    assert fields.get("X-A") == "\u00fc"
    assert "x-b" not in fields
    assert fields.getall("x-b", []) == []
    assert list(fields) == ["set-cookie", "x-a"]
    assert len(fields) == 2


def test_no_value_of_a_header_is_shown() -> None:
    assert repr(Fields([(b"authorization", b"secret")])) == "Fields(authorization)"


async def test_the_head_can_be_read_before_the_body_is_there() -> None:
    answer = Answer("http://a", 100, lambda _: None)
    waiting = asyncio.ensure_future(answer.head())
    await asyncio.sleep(0)
    answer.open(200, [], {})
    await within(waiting)
    reading = asyncio.ensure_future(whole(answer))
    for piece in (b"a", b"b"):
        await asyncio.sleep(0)
        answer.feed(piece)
    answer.finish()
    assert await within(reading) == b"ab"


async def test_a_stream_that_nobody_reads_is_held_up_and_goes_on_when_it_is_read() -> None:
    answer, wishes = begun(STREAM)
    answer.feed(b"x" * HIGH_WATER)
    assert wishes == []
    answer.feed(b"x")
    assert wishes == [False]
    pieces = await within(answer.some())
    assert pieces is not None
    assert b"".join(pieces) == b"x" * (HIGH_WATER + 1)
    assert wishes == [False, True]


async def test_what_came_of_a_stream_is_read_before_its_fault() -> None:
    answer, _ = begun(STREAM)
    answer.feed(b"a")
    answer.fail(Fault("broken", "first"))
    answer.fail(Fault("broken", "second"))
    pieces = await within(answer.some())
    assert pieces is not None
    assert list(pieces) == [b"a"]
    with pytest.raises(Fault, match="first"):
        await within(answer.some())


async def test_a_packed_stream_is_unpacked_as_it_comes_and_must_be_whole() -> None:
    packed = gzip.compress(b"data: a\n\n")
    for end, ends in ((len(packed), True), (len(packed) - 1, False)):
        answer, _ = begun([*STREAM, (b"content-encoding", b"gzip")])
        answer.feed(packed[:end])
        answer.finish()
        pieces = await within(answer.some())
        assert pieces is not None
        assert b"".join(pieces) == b"data: a\n\n"
        if ends:
            assert await within(answer.some()) is None
        else:
            with pytest.raises(Fault, match="decoded"):
                await within(answer.some())


async def test_an_answer_over_the_limit_is_refused_by_its_declaration_and_by_its_size() -> None:
    with pytest.raises(Fault, match="more than 100 bytes"):
        begun([(b"content-length", b"101")])
    answer, _ = begun([])
    answer.feed(b"x" * 100)
    with pytest.raises(Fault, match="more than 100 bytes"):
        answer.feed(b"x")


async def test_a_length_that_announces_no_body_is_no_size() -> None:
    answer, _ = begun([(b"content-length", b"101")], status=304)
    answer.finish()
    assert await within(whole(answer)) == b""


async def test_a_coding_that_is_not_known_is_a_fault_of_the_answer() -> None:
    with pytest.raises(Fault, match="decoded"):
        begun([(b"content-encoding", b"br")])


@pytest.mark.parametrize("fields", [[], STREAM])
async def test_small_pieces_are_joined_as_they_come(fields: Raw) -> None:
    """Twelve million pieces of a byte would take fifty times their bytes."""
    said = bytes(range(250)) * 2000
    answer, _ = begun(fields, limit=len(said))
    for one in said:
        answer.feed(bytes((one,)))
    assert len(answer._pieces) <= len(said) // JOINED + 1
    answer.finish()
    if fields:
        pieces = await within(answer.some())
        assert pieces is not None
        assert b"".join(pieces) == said
    else:
        assert await within(whole(answer)) == said


@given(st.lists(st.binary(max_size=9000), max_size=20))
def test_a_body_is_the_same_in_whatever_pieces_it_came(pieces: list[bytes]) -> None:
    async def read() -> bytes:
        answer, _ = begun([], limit=200_000)
        for one in pieces:
            answer.feed(one)
        answer.finish()
        return await whole(answer)

    assert asyncio.run(read()) == b"".join(pieces)


async def test_everybody_has_turns_while_a_large_body_is_unpacked() -> None:
    said, turns = b"x" * 4_000_000, [0]

    async def count() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    answer, _ = begun([(b"content-encoding", b"gzip")], limit=len(said))
    answer.feed(gzip.compress(said))
    answer.finish()
    counting = asyncio.create_task(count())
    assert await within(whole(answer)) == said
    counting.cancel()
    assert turns[0] >= 20


async def test_a_body_that_is_packed_beyond_the_limit_is_given_up() -> None:
    answer, _ = begun([(b"content-encoding", b"gzip")])
    answer.feed(gzip.compress(b"x" * 101))
    answer.finish()
    with pytest.raises(Fault, match="more than 100 bytes"):
        await within(whole(answer))
