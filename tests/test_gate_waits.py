"""Calls that wait in a gate, and how they are ended from outside."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import pytest

from gatewright.call import Back, Call, Refusal
from gatewright.gate_waits import GateWaits, waited
from gatewright.kernel import Kernel
from tests.kernel_parts import ANSWER, Book, Line, Mark, a_call

LATE = Refusal("timeout", "the gateway shuts down")


class Person:
    """A gate that waits for somebody."""

    name = "confirm"

    def __init__(self) -> None:
        self.waiting = 0
        self.yes = asyncio.Event()

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        self.waiting += 1
        try:
            await self.yes.wait()
        finally:
            self.waiting -= 1
        return call

    async def reached(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.waiting != count:
                await asyncio.sleep(0)


class Judging:
    name = "draining"

    def __init__(self, *, refuses: bool = True) -> None:
        self._refuses = refuses

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on."""
        return LATE if self._refuses else None


async def owner(call: Call, back: Back) -> Any:
    return ANSWER


async def test_a_call_that_waits_for_a_person_ends_with_what_it_is_refused_for() -> None:
    """MGP-11.4-3"""
    person, book = Person(), Book()
    kernel = Kernel([person], owner, [Mark("seen")], book)
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    assert kernel.end_refused() == 0  # the gates themselves ask again after the wait
    assert kernel.end_refused([Judging(refuses=False)]) == 0
    assert kernel.end_refused([Judging()]) == 1
    assert kernel.end_refused([Judging()]) == 0  # it is on its way out
    async with asyncio.timeout(10):
        outcome = await task
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.gate, outcome.once) == ("timeout", "draining", False)
    assert "sent" not in outcome.details  # nothing of it was forwarded
    assert (kernel.in_flight, person.waiting) == (0, 0)


async def test_a_caller_who_gives_up_is_not_answered() -> None:
    person = Person()
    kernel = Kernel([person], owner, [], Book())
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    assert kernel.end_refused([Judging()]) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_gate_that_answers_in_place_of_its_end_lets_nothing_through() -> None:
    class Deaf(Person):
        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            try:
                return await super().__call__(call, back)
            except asyncio.CancelledError:
                return call

    person = Deaf()
    kernel = Kernel([person], owner, [], Book())
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    assert kernel.end_refused([Judging()]) == 1
    outcome = await task
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, task.cancelling()) == ("timeout", 0)


async def test_a_judge_that_breaks_ends_the_call_that_it_judges() -> None:
    class Odd(Judging):
        def judge(self, call: Call) -> Refusal | None:
            raise RuntimeError("no store")

    person = Person()
    kernel = Kernel([person], owner, [], Book())
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    assert kernel.end_refused([Odd()]) == 1
    outcome = await task
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "internal"


async def test_who_gets_a_yes_goes_on_and_waits_no_more() -> None:
    person = Person()
    kernel = Kernel([person], owner, [], Book())
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    person.yes.set()
    assert await task is ANSWER
    assert kernel.end_refused([Judging()]) == 0


async def test_what_is_no_verdict_does_not_pass() -> None:
    verdict: Any = "yes"
    with pytest.raises(TypeError, match="confirm"):
        await waited(Person(), verdict)
    with pytest.raises(TypeError, match="confirm"):
        await GateWaits().verdict(Person(), verdict, a_call())


async def test_who_is_where_and_since_when_is_known_while_it_runs() -> None:
    """First in the gate, then with its owner, then nowhere."""
    person, book, answered = Person(), Book(), asyncio.Event()

    async def slow(call: Call, back: Back) -> Any:
        await answered.wait()
        return ANSWER

    kernel = Kernel([person], slow, [], book)
    began = monotonic()
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await person.reached(1)
    (waits,) = kernel.present()
    assert (waits.call.id, waits.gate) == ("c1", "confirm")
    person.yes.set()
    await person.reached(0)
    async with asyncio.timeout(10):
        while not (found := kernel.present()) or found[0].gate:
            await asyncio.sleep(0)
    (runs,) = found
    assert (runs.call.id, runs.gate) == ("c1", "")
    assert began <= waits.since <= runs.since <= monotonic()
    answered.set()
    await task
    assert kernel.present() == []
