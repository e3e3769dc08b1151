"""Every call that begins is recorded once, whatever becomes of it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Answer, Failure, Refusal
from tests.kernel_parts import ENDING, Act, World


@pytest.mark.parametrize("acts", [["hang"], ["pass", "hang"]])
async def test_a_call_that_is_cancelled_in_a_gate_is_recorded_once(acts: list[Act]) -> None:
    world = World(acts)
    await world.cancelled()
    assert [outcome for _, outcome in world.book.closed] == [
        Failure("cancelled", "the call was cancelled")
    ]
    assert "dispatch" not in world.events


async def test_a_call_that_is_cancelled_at_its_owner_is_recorded_once_with_what_was_known() -> None:
    world = World(["note"], "hang")
    task = asyncio.create_task(world.run())
    async with asyncio.timeout(10):
        while "dispatch" not in world.events:
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert task.cancelled()
    ((call, outcome),) = world.book.closed
    assert call.facts == {"gate0": True}
    assert outcome == Failure("cancelled", "the call was cancelled")


@pytest.mark.parametrize(
    ("failing", "events"),
    [
        ("open", ["open"]),
        ("intent", ["open", "gate0", "intent", "close", "settled"]),
        ("on_disk", ["open", "gate0", "intent", "on_disk", "close", "settled"]),
    ],
)
async def test_what_cannot_be_recorded_is_refused_and_never_reaches_the_target(
    failing: str, events: list[str]
) -> None:
    world = World(["pass"], "pass", failing, flush=True)
    assert await world.run() == Refusal("audit_unavailable", f"cannot {failing}")
    assert world.events == events
    assert world.owner.calls == []


@pytest.mark.parametrize("failing", ["close", "settled"])
async def test_an_answer_that_cannot_be_recorded_is_not_given(failing: str) -> None:
    world = World(["pass"], "pass", failing)
    # It ran, so nobody is told that it may be made again.
    assert await world.run() == Refusal("audit_unavailable", f"cannot {failing}", once=True)
    assert len(world.book.closed) == 1


async def test_the_disk_is_waited_for_only_where_the_record_asks_for_it() -> None:
    world = World(flush=True)
    await world.run()
    assert world.events == ["open", "intent", "on_disk", "dispatch", "close", "settled"]
    world = World()
    await world.run()
    assert "on_disk" not in world.events


@given(
    acts=st.lists(st.sampled_from(ENDING), max_size=9),
    owner=st.sampled_from(ENDING),
    failing=st.sets(st.sampled_from(["open", "intent", "on_disk", "close", "settled"])),
    flush=st.booleans(),
)
async def test_each_call_that_begins_ends_exactly_once_in_the_record(
    acts: list[Act], owner: Act, failing: set[str], flush: bool
) -> None:
    """MGP-1.2-5, as far as the kernel goes: one record for each call, whatever happens."""
    world = World(acts, owner, *failing, flush=flush)
    outcome = await world.run()
    assert world.events.count("close") == ("open" not in failing)
    reached = world.events.count("dispatch")
    assert reached == (set(acts) <= {"pass", "note"} and not failing & _before(flush))
    if isinstance(outcome, Answer):
        assert reached == 1
        assert failing <= {"on_disk"}
        assert world.book.closed[0][1] == outcome


def _before(flush: bool) -> set[str]:
    """The steps of the record that come before the owner is asked."""
    return {"open", "intent", "on_disk"} if flush else {"open", "intent"}
