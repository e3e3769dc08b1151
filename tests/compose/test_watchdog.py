"""The event loop that stands still is noticed, measured and named."""

from __future__ import annotations

import asyncio
import logging
import sys
import time

import pytest

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.compose.watchdog import Watchdog, place_of
from gatewright.kernel import Kernel
from tests.kernel_parts import ANSWER, Book, Line, a_call


def busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))


class Slow:
    """A gate that thinks."""

    name = "slow"

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        busy(0.5)
        return call


async def _owner(call: Call, back: Back) -> Outcome:
    return ANSWER


async def test_a_stall_is_measured_and_the_log_names_its_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watchdog = Watchdog(0.1)
    watchdog.start()
    with caplog.at_level(logging.WARNING, "gatewright.watchdog"):
        await asyncio.sleep(0.12)
        outcome = await Kernel([Slow()], _owner, [], Book()).handle(a_call(), Line())
        await asyncio.sleep(0.12)
    watchdog.close()
    assert isinstance(outcome, Answer)
    assert watchdog.longest is not None
    assert watchdog.longest.seconds > 0.4
    assert sum(watchdog.counts[4:]) >= 1
    said = next(one.getMessage() for one in caplog.records if "stood still" in one.getMessage())
    assert "call c1 (trace t1, caller 'anonymous'): 'tools/call x'" in said


async def test_a_loop_that_is_never_held_up_is_not_complained_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watchdog = Watchdog(30.0)
    watchdog.start()
    await asyncio.sleep(0.2)
    watchdog.close()
    assert caplog.records == []


def test_what_a_caller_made_up_cannot_forge_a_line_of_the_log() -> None:
    call = a_call()
    forged = Call(
        **{name: getattr(call, name) for name in call.__struct_fields__} | {"name": "a\nb"}
    )
    seen: list[str] = []

    class Looking:
        name = "looking"

        def __call__(self, call: Call, back: Back) -> Call | Refusal:
            seen.append(place_of(sys._getframe()))
            return call

    asyncio.run(Kernel([Looking()], _owner, [], Book()).handle(forged, Line()))
    assert "\n" not in seen[0]
    assert "call c1" in seen[0]


def test_a_stack_without_a_call_says_where_it_is() -> None:
    assert place_of(None) == "in no code of ours"
