"""Which members of a topic get the same messages."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.batches import Batch, Message, shared
from gatewright.transport.slices import whole
from tests.costs import DOUBLED, grows
from tests.mcpx.test_topic import member

_NAMES = ["a", "b", "c", "d", "e"]


def _asked_one_by_one(out: list[Message], members: list[Any]) -> dict[str, list[int]]:
    heard = {one.id: [message.number for message in out if message.is_for(one)] for one in members}
    return {name: numbers for name, numbers in heard.items() if numbers}


@given(st.data())
def test_each_member_gets_what_is_for_it_in_one_batch_and_in_order(data: st.DataObject) -> None:
    members = []
    for name in _NAMES:
        one = member(name, mode=data.draw(st.sampled_from(["all", "directed"])))
        one.heard = data.draw(st.integers(0, 4))
        members.append(one)
    some = st.none() | st.sampled_from(members)
    out = [
        Message(
            number,
            b"x",
            tuple(data.draw(st.lists(st.sampled_from(_NAMES), max_size=2))),
            data.draw(some),
            data.draw(some),
        )
        for number in range(2, 2 + data.draw(st.integers(1, 6)))
    ]
    named = {one for each in out for one in (each.only, each.skip) if one is not None}
    special = [one for one in members if one.mode == "directed" or one in named or one.heard >= 2]
    got: dict[str, list[int]] = {}
    for batch, some_members in whole(shared(out, special)):
        assert isinstance(batch, Batch)
        for one in some_members:
            assert one.id not in got
            got[one.id] = [message.number for message in batch.messages]
    assert got == _asked_one_by_one(out, special)


def test_what_leaves_costs_as_much_as_there_are_members_and_messages() -> None:
    """And not as much as each of them times each."""

    def flushed(count: int) -> int:
        members = [member(f"p{number}", mode="directed") for number in range(count)]
        out = [
            Message(number, b"x", ("nobody",) if number % 2 else ()) for number in range(1, count)
        ]
        return len(whole(shared(out, members)))

    assert flushed(50) == 1
    assert grows(lambda: flushed(1000), lambda: flushed(4000)) <= DOUBLED**2


def test_what_names_all_members_costs_as_much_as_it_names() -> None:
    """And what names one of them costs it no look at all that everybody gets."""

    def flushed(count: int, *, together: bool) -> int:
        members = [member(f"p{number}", mode="directed") for number in range(100)]
        names = [one.id for one in members]
        out = [
            Message(number, b"x", names if together and number < 100 else ())
            for number in range(1, count)
        ]
        out += [Message(count + number, b"x", (name,)) for number, name in enumerate(names)]
        return len(whole(shared(out, members)))

    assert (flushed(100, together=True), flushed(100, together=False)) == (100, 100)
    for together in (True, False):
        small, large = 2500, 10_000
        assert grows(lambda: flushed(small, together=together), lambda: flushed(large, together=together)) <= DOUBLED**2  # fmt: skip  # noqa: B023


def test_who_is_named_hears_what_names_it_among_the_rest() -> None:
    ann, bob = member("ann", mode="directed"), member("bob", mode="directed")
    out = [
        Message(1, b"1"),
        Message(2, b"2", ("bob", "ann")),
        Message(3, b"3"),
        Message(4, b"4", ("bob",), skip=bob),
        Message(5, b"5", skip=ann),
    ]
    heard = {some[0].id: batch.frames(bytes) for batch, some in whole(shared(out, [ann, bob]))}
    assert heard == {"ann": b"123", "bob": b"1235"}
