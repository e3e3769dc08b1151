from __future__ import annotations

import asyncio

from gatewright.transport.deadline import Deadline
from tests.transport.collecting import within

SHORT = 0.02


class Clock:
    """Keeps what was missed, in order."""

    def __init__(self) -> None:
        self.missed: list[str] = []
        self._news = asyncio.Event()
        self.deadline = Deadline(self._miss)

    def _miss(self, what: str) -> None:
        self.missed.append(what)
        self._news.set()

    async def next(self) -> str:
        await within(self._news.wait())
        self._news.clear()
        return self.missed[-1]


async def test_what_does_not_happen_in_time_is_missed_once() -> None:
    clock = Clock()
    clock.deadline.expect("head", SHORT)
    assert await clock.next() == "head"
    assert clock.deadline.awaited == ""
    other = Clock()
    other.deadline.expect("later", 3 * SHORT)
    assert await other.next() == "later"
    assert clock.missed == ["head"]


async def test_what_happened_is_not_missed() -> None:
    clock = Clock()
    clock.deadline.expect("head", SHORT)
    clock.deadline.awaited = ""
    other = Clock()
    other.deadline.expect("later", 3 * SHORT)
    assert await other.next() == "later"
    assert clock.missed == []


async def test_a_nearer_deadline_does_not_wait_for_a_farther_one() -> None:
    clock = Clock()
    clock.deadline.expect("idle", 1000.0)
    clock.deadline.expect("head", SHORT)
    assert await clock.next() == "head"


async def test_a_farther_deadline_is_not_missed_with_the_nearer_one_before_it() -> None:
    loop = asyncio.get_running_loop()
    clock = Clock()
    began = loop.time()
    clock.deadline.expect("head", SHORT)
    clock.deadline.expect("body", 5 * SHORT)
    assert await clock.next() == "body"
    assert loop.time() - began >= 4 * SHORT
    assert clock.missed == ["body"]


async def test_a_timer_that_rings_too_early_does_not_change_since_when_something_is_awaited() -> (
    None
):
    clock = Clock()
    clock.deadline.expect("head", SHORT)
    clock.deadline.expect("body", 5 * SHORT)
    since, due = clock.deadline.since, clock.deadline.due
    assert await clock.next() == "body"
    assert (clock.deadline.since, clock.deadline.due) == (since, due)


async def test_nothing_is_missed_after_the_stop_and_no_timer_is_left() -> None:
    clock = Clock()
    clock.deadline.expect("head", SHORT)
    clock.deadline.stop()
    other = Clock()
    other.deadline.expect("later", 3 * SHORT)
    assert await other.next() == "later"
    assert (clock.missed, clock.deadline.awaited) == ([], "")


async def test_a_deadline_may_be_set_from_where_one_was_missed() -> None:
    seen: list[str] = []
    ended = asyncio.Event()

    def missed(what: str) -> None:
        seen.append(what)
        if what == "first":
            deadline.expect("second", SHORT)
        else:
            ended.set()

    deadline = Deadline(missed)
    deadline.expect("first", SHORT)
    await within(ended.wait())
    assert seen == ["first", "second"]
