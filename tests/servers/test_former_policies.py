"""When the last call of a former policy has ended, whichever way it was let go of."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

from gatewright.servers.former_policies import Running


class Policy:
    """Something that calls hold on to."""


async def done(*waiting: asyncio.Future[None]) -> None:
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting)


async def test_a_policy_that_nobody_holds_is_not_waited_for() -> None:
    former = weakref.ref(Policy())
    assert Running().until(former) == []


async def test_what_is_given_up_waits_for_its_own_policy_and_those_before() -> None:
    running, first, second = Running(), Policy(), Policy()
    (over_first,) = running.until(weakref.ref(first))
    both = running.until(weakref.ref(second))
    assert over_first in both
    assert len(both) == 2
    del second
    await done(*(one for one in both if one is not over_first))
    assert not over_first.done()
    del first
    await done(*both)
    former = weakref.ref(Policy())
    assert running.until(former) == []


async def test_a_policy_in_a_circle_is_noticed_in_whichever_thread_collects_it() -> None:
    running, policy = Running(), Policy()
    policy.circle = policy  # type: ignore[attr-defined]
    (over,) = running.until(weakref.ref(policy))
    del policy
    collector = threading.Thread(target=gc.collect)
    collector.start()
    await done(over)
    collector.join()


def test_a_policy_that_outlives_the_loop_harms_nobody() -> None:
    held = [Policy()]

    async def main() -> list[asyncio.Future[None]]:
        return Running().until(weakref.ref(held[0]))

    (over,) = asyncio.run(main())
    held.clear()
    assert not over.done()
