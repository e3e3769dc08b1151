"""What a reload replaced ends with the last call that could need it, and not before."""

from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

from gatewright.servers.retiring import COLLECT_EACH, RETIRING_MOST, Retiring
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import within


class Old:
    """A server that only notes its end."""

    def __init__(self) -> None:
        self.id = "s"
        self.spec = ServerSpec(id="s", command="x")
        self.closed = ""
        self.life = SimpleNamespace(tasks=0)

    async def close(self, grace_s: float, reason: str) -> None:
        self.closed = reason


async def test_it_ends_when_no_call_needs_it() -> None:
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    retiring, old = Retiring(), Old()
    made: Any = old
    retiring.add(made, [over], 60.0, "it was replaced")
    await asyncio.sleep(0.01)
    assert (list(retiring), old.closed) == ([made], "")
    over.set_result(None)
    async with asyncio.timeout(5):
        while list(retiring):
            await asyncio.sleep(0.001)
    assert old.closed == "it was replaced"


async def test_of_one_server_only_so_many_wait() -> None:
    retiring, every = Retiring(), [Old() for _ in range(RETIRING_MOST + 1)]
    for old in every:
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        made: Any = old
        retiring.add(made, [never], 60.0, "again")
    await asyncio.sleep(0.01)
    assert [bool(one.closed) for one in every] == [True] + [False] * RETIRING_MOST
    await within(retiring.hurried())
    assert all(one.closed for one in every)


async def test_one_that_takes_long_to_end_does_not_keep_the_next_from_ending() -> None:
    class Slow(Old):
        async def close(self, grace_s: float, reason: str) -> None:
            self.closed = reason
            await may_end

    may_end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    retiring, every = Retiring(), [Slow() for _ in range(RETIRING_MOST + 3)]
    for old in every:
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        made: Any = old
        retiring.add(made, [never], 60.0, "again")
        await asyncio.sleep(0.01)
    assert [bool(one.closed) for one in every] == [True] * 3 + [False] * RETIRING_MOST
    may_end.set_result(None)
    await within(retiring.hurried())


async def test_what_has_ended_is_given_back_before_there_is_much_of_it() -> None:
    """Servers are in cycles of references, and the gateway lets Python look for those rarely."""
    retiring, left = Retiring(), weakref.WeakSet[Old]()
    gc.disable()
    try:
        for _ in range(COLLECT_EACH):
            made: Any = Old()
            made.itself = made
            left.add(made)
            retiring.add(made, [], 60.0, "again")
        del made
        async with asyncio.timeout(5):
            while list(retiring):
                await asyncio.sleep(0.001)
        assert len(left) <= 2
    finally:
        gc.enable()


async def test_it_ends_when_no_task_runs_there_either() -> None:
    loop = asyncio.get_running_loop()
    retiring, kept, left = Retiring(), Old(), Old()
    for old, tasks in ((kept, True), (left, False)):
        old.life.tasks = 1
        made: Any = old
        over = loop.create_future()
        over.set_result(None)
        retiring.add(made, [over], 60.0, "again", tasks=tasks)
    assert retiring.tasks() == 1  # of the other, nobody can ask about them
    await asyncio.sleep(0.1)
    assert (kept.closed, left.closed) == ("", "again")
    kept.life.tasks = 0
    async with asyncio.timeout(5):
        while list(retiring):
            await asyncio.sleep(0.01)
    assert kept.closed == "again"
