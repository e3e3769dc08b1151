"""Answers by the id of what they answer."""

from __future__ import annotations

import pytest

from gatewright.mcpx.payload import Responded
from gatewright.rooms.participants.awaited import Awaited
from gatewright.rooms.participants.errors import CallError, GoneError


async def test_the_first_answer_of_who_was_asked_counts() -> None:
    awaited = Awaited()
    future = awaited.expect("a", ["bob"])
    awaited.answer("a", "eve", Responded(b"1", "evil"))
    awaited.answer("b", "bob", Responded(b"1", "stray"))
    awaited.answer("a", "bob", Responded(b"1", "good"))
    awaited.answer("a", "bob", Responded(b"1", "late"))
    assert await future == "good"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ({"code": -5, "message": "no", "data": 1}, -5, "no (-5)"),
        ({"code": "x"}, -32603, "an error without a message (-32603)"),
        ("text", -32603, "an error without a message (-32603)"),
    ],
)
async def test_an_error_is_raised_whatever_it_looks_like(
    error: object, code: int, said: str
) -> None:
    awaited = Awaited()
    future = awaited.expect("a")
    awaited.answer("a", "bob", Responded(b"1", None, error))
    with pytest.raises(CallError) as raised:
        await future
    assert (raised.value.code, str(raised.value)) == (code, said)


async def test_all_that_is_waited_for_ends_when_the_place_is_lost() -> None:
    awaited = Awaited()
    futures = [awaited.expect(id) for id in "ab"]
    awaited.forget("a")
    awaited.lose(GoneError("gone"))
    assert [future.done() for future in futures] == [False, True]
    with pytest.raises(GoneError):
        await futures[1]


async def test_what_one_alone_may_answer_ends_when_that_one_leaves() -> None:
    awaited = Awaited()
    hers = awaited.expect("a", ["ann"])
    anyones, either = awaited.expect("b"), awaited.expect("c", ["ann", "bob"])
    awaited.left("ann")
    with pytest.raises(GoneError, match="ann has left the room"):
        await hers
    assert not anyones.done()
    assert not either.done()
