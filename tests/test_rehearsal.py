"""Dry runs: what each gate would say of a call, which is not made."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Back, Call, Refusal, Target
from gatewright.kernel import Kernel
from tests.kernel_parts import Book, World, a_call
from tests.test_kernel_again import Slow


async def test_a_rehearsal_says_what_each_gate_says_and_makes_no_call() -> None:
    world = World(["note", "refuse", "note"])
    found = await world.kernel.rehearse(replace(a_call(), target=Target("srv", "x")))
    assert [(one.gate, one.refusal) for one in found] == [
        ("gate0", None),
        ("gate1", Refusal("access_denied", "gate1 says no", gate="gate1")),
        ("gate2", None),
    ]
    assert found[-1].call.facts == {"gate0": True, "gate2": True}
    assert world.events == ["gate0", "gate1", "gate2"]
    assert world.book.closed == []


async def test_nothing_is_said_about_a_call_of_nobody_knows_what() -> None:
    world = World(["pass", "refuse", "pass"])
    found = await world.kernel.rehearse(a_call())
    assert [one.gate for one in found] == ["gate0", "gate1"]


async def test_a_gate_that_uses_something_up_is_rehearsed_instead() -> None:
    class Spends:
        name = "rate"
        spent = 0

        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            self.spent += 1
            return call

        async def rehearse(self, call: Call) -> Call | Refusal:
            return Refusal("rate_limited", "it would be one too many")

    gate = Spends()
    found = await Kernel([gate], Slow(), [], Book()).rehearse(a_call())
    assert [one.refusal and one.refusal.reason for one in found] == ["rate_limited"]
    assert gate.spent == 0


async def test_a_gate_that_breaks_in_a_rehearsal_would_refuse() -> None:
    found = await World(["raise"]).kernel.rehearse(a_call())
    assert [one.refusal and one.refusal.reason for one in found] == ["internal"]


async def test_a_gate_that_asks_its_caller_learns_that_nobody_is_there() -> None:
    class Asks:
        name = "asks"

        async def __call__(self, call: Call, back: Back) -> Any:
            with pytest.raises(Exception, match="not made"):
                await back.ask(None)  # type: ignore[arg-type]
            back.emit(None)  # type: ignore[arg-type]
            return call

    found = await Kernel([Asks()], Slow(), [], Book()).rehearse(a_call())
    assert [one.refusal for one in found] == [None]
