"""The connections of a loop parse one after the other, none for long, and what breaks one costs the others nothing."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from gatewright.transport.read_turns import CONNECTIONS_A_TURN, ReadTurns
from gatewright.transport.websocket_intake import FRAMES_A_TURN
from tests.transport.collecting import within
from tests.transport.test_websocket_intake import Wire, frame


async def test_the_loop_has_its_turn_while_many_have_much_to_parse() -> None:
    """Counted in turns, not in seconds: the clock of the turns runs out at each look."""

    class Hasty:
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self._loop = loop
            self._now = 0.0

        def time(self) -> float:
            self._now += 1.0
            return self._now

        def call_soon(self, *given: object) -> object:
            return self._loop.call_soon(*given)  # type: ignore[arg-type]

    turns = ReadTurns(Hasty(asyncio.get_running_loop()))  # type: ignore[arg-type]
    wires = [Wire(turns) for _ in range(20)]
    for wire in wires:
        wire.intake.take(frame(1) * 1000)
    seen = []
    while any(wire.intake.waits for wire in wires):
        seen.append(sum(len(wire.got) for wire in wires))
        await asyncio.sleep(0)
    steps = [after - before for before, after in pairwise(seen)]
    assert max(steps) <= FRAMES_A_TURN * len(frame(1))


async def test_many_who_send_much_have_no_more_of_a_turn_together_than_a_few() -> None:
    """What a message asks for costs far more than to parse it."""
    turns = ReadTurns(asyncio.get_running_loop())
    wires = [Wire(turns) for _ in range(40)]
    for wire in wires:
        wire.intake.take(frame(1) * 20)
    most = before = 0
    while before < 40 * 20:
        await asyncio.sleep(0)
        now = sum(len(wire.got) for wire in wires) // len(frame(1))
        most, before = max(most, now - before), now
    assert most <= FRAMES_A_TURN * (CONNECTIONS_A_TURN + 1)


async def test_one_that_breaks_in_its_turn_costs_the_others_none_of_theirs() -> None:
    told: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: told.append(about.get("exception")))
    turns, worked = ReadTurns(loop), asyncio.Event()

    class One:
        def __init__(self, *, broken: bool) -> None:
            self.broken = broken

        def work(self) -> None:
            if self.broken:
                raise ZeroDivisionError
            worked.set()

    try:
        turns.want(One(broken=True))
        turns.want(One(broken=False))
        await within(worked.wait())
    finally:
        loop.set_exception_handler(None)
    assert [type(one) for one in told] == [ZeroDivisionError]
