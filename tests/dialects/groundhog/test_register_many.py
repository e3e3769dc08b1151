"""Many registrations at once leave most of the time to everybody else."""

from __future__ import annotations

import asyncio

import msgspec

from gatewright.call import Answer, Caller
from gatewright.dialects.groundhog.register import Register
from tests.dialects.groundhog.test_register import NOBODY, House, by_connection, call


async def test_registrations_come_one_after_the_other_and_rest_between() -> None:
    """What is offered is made anew with each, so that nobody else would have a turn."""
    house, running = House(), [0]
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        assert running[0] == len(rests)
        await asyncio.sleep(0)

    def used(name: str) -> str:
        running[0] += 1
        return ""

    register = Register(msgspec.structs.replace(house.making, used=used), rest)
    asked = [
        call(
            "tools/register",
            by_connection() | {"tool_metadata": {"name": f"t{n}", "version": "1.0.0"}},
            Caller("root", "operator"),
        )
        for n in range(5)
    ]
    found = await asyncio.gather(*(register(one, NOBODY) for one in asked))
    assert all(isinstance(one, Answer) for one in found)
    assert len(rests) == 5
    assert min(rests) > 0
