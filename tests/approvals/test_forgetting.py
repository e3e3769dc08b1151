"""Requests for approval that were over long ago go a few at a time, whoever ends another one."""

from __future__ import annotations

from msgspec.structs import replace

from tests.approvals import test_store
from tests.approvals.store_parts import HOUR, Clock, ask
from tests.approvals.test_store import other
from tests.approvals.voting import Voting

clock, queue = test_store.clock, test_store.queue


def test_thousands_that_have_been_over_for_a_month_are_forgotten_a_few_at_a_time(
    queue: Voting, clock: Clock
) -> None:
    for n in range(250):
        queue.deny(ask(queue, replace(other(n), agent=f"agent-{n}")).id, by="olga")
    numbers = [one.number for one in queue.changes()]
    clock.now += 40 * 86_400
    left = []
    for _ in range(4):
        queue.recorded(numbers)
        left.append(len(queue.all()))
    assert left == [150, 50, 0, 0]
    queue.deny(ask(queue, other(1)).id, by="olga")
    clock.now += 0.5 * HOUR
    queue.recorded(numbers)
    assert len(queue.all()) == 1
