"""Of many calls that wait for one decision, the one that has waited longest goes on first."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gatewright.approvals.queue import ApprovalQueue
from tests.approvals.test_queue import ASKED, MORE, Trail, store
from tests.approvals.voting import voter


async def test_of_many_that_wait_for_one_word_the_first_goes_on_first(tmp_path: Path) -> None:
    """A yes lets one of them run: not any one, but who has waited longest."""
    desk = ApprovalQueue(store(tmp_path), Trail())
    made, woken = desk.ask(ASKED, **MORE), list[int]()
    assert made is not None

    async def waits(number: int) -> None:
        await desk.decided(made.id)
        woken.append(number)

    waiting = []
    for number in range(40):
        waiting.append(asyncio.ensure_future(waits(number)))
        await asyncio.sleep(0)
    desk.decide(made.id, True, by=voter(desk._store._rows.state, "olga"), seen="{}")
    async with asyncio.timeout(20):
        await asyncio.gather(*waiting)
    assert woken == list(range(40))
    desk.close()
