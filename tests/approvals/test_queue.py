"""The queue inside the gateway: who waits is woken, every step is recorded, new requests are told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from gatewright.approvals.queue import LET_GO_A_TURN, STEPS_A_LOOK, ApprovalQueue
from gatewright.approvals.request import Approval, Asked
from gatewright.audit.records import Actor, Subject
from gatewright.call import Caller, Unrecorded
from gatewright.storage.changes import drop
from gatewright.storage.errors import StoreError
from tests.approvals.voting import Voting
from tests.gate_parts import a_call
from tests.storage.parts import look, operated_state_in

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
MORE: dict[str, Any] = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": 1}


class Trail:
    """A record that can be out of order."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, str, dict[str, Any]]] = []
        self.full = False
        self.most = 1000

    def __call__(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        if self.full or len(self.steps) >= self.most:
            raise Unrecorded("the disk is full")
        self.steps.append((event_type, actor.type, actor.id, details))
        return len(self.steps)

    @property
    def names(self) -> list[str]:
        return [one[0].rpartition(".")[2] for one in self.steps]


@pytest.fixture
def trail() -> Trail:
    return Trail()


def store(folder: Path, now: float = 100.0) -> Voting:
    return Voting(operated_state_in(folder), clock=lambda: now, random=os.urandom)


@pytest.fixture
async def desk(tmp_path: Path, trail: Trail) -> AsyncIterator[ApprovalQueue]:
    made = ApprovalQueue(store(tmp_path), trail, alone=lambda _, call: call.caller.id == "ann")
    yield made
    made.close()


async def test_a_decision_of_another_process_wakes_whoever_waits(
    desk: ApprovalQueue, tmp_path: Path
) -> None:
    made = desk.ask(ASKED, **MORE)
    assert made is not None
    desk.look()
    waiting = asyncio.ensure_future(desk.decided(made.id))
    await asyncio.sleep(0)
    operator = store(tmp_path)
    operator.approve(made.id, by="olga")
    operator.close()
    assert not waiting.done()
    look(desk._store)
    desk.look()
    async with asyncio.timeout(10):
        await waiting
    used = desk.redeem(ASKED)
    assert used is not None
    assert used.by == "olga"


async def test_every_step_is_in_the_record_without_any_argument(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    made = desk.ask(ASKED, **MORE | {"arguments": '{"token":"s3cret"}'})
    assert made is not None
    operator = store(tmp_path)
    operator.approve(made.id, by="olga", scope="tool", lasts_s=60)
    operator.close()
    desk.look()
    desk.redeem(ASKED)
    assert trail.names == ["requested", "approved", "used"]
    assert [one[1:3] for one in trail.steps] == [
        ("agent", "ann"),
        ("operator", "olga"),
        ("agent", "ann"),
    ]
    assert {one[3]["approval"] for one in trail.steps} == {made.id}
    assert trail.steps[1][3]["scope"] == "tool"
    assert "s3cret" not in repr(trail.steps)


async def test_an_approval_whose_use_cannot_be_recorded_lets_nothing_pass(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    made = desk.ask(ASKED, **MORE)
    assert made is not None
    operator = store(tmp_path)
    operator.approve(made.id, by="olga")
    operator.close()
    trail.full = True
    with pytest.raises(Unrecorded):
        desk.redeem(ASKED)
    trail.full = False
    assert desk.redeem(ASKED) is None
    desk.ask(ASKED, **MORE)
    assert trail.names[:3] == ["requested", "approved", "used"]


async def test_whoever_wants_to_know_is_told_of_each_new_request_once(desk: ApprovalQueue) -> None:
    told: list[Approval] = []
    heard = asyncio.Event()

    async def tell(one: Approval) -> None:
        told.append(one)
        heard.set()

    desk.tell = tell
    made = desk.ask(ASKED, **MORE)
    desk.ask(ASKED, **MORE)
    async with asyncio.timeout(10):
        await heard.wait()
    await asyncio.sleep(0)
    assert told == [made]


async def test_nobody_waits_for_what_nobody_knows(desk: ApprovalQueue) -> None:
    waiting = asyncio.ensure_future(desk.decided("ap_unknown"))
    assert await asyncio.wait([waiting], timeout=10) == ({waiting}, set())


async def test_what_waits_is_counted_until_decided(desk: ApprovalQueue, tmp_path: Path) -> None:
    assert desk.waiting == 0
    made = desk.ask(ASKED, **MORE)
    assert made is not None
    assert desk.waiting == 1
    other = store(tmp_path)
    other.deny(made.id, by="olga")
    other.close()
    assert desk.waiting == 0


async def test_what_nobody_decides_in_time_is_recorded_though_nothing_else_happens(
    tmp_path: Path, trail: Trail
) -> None:
    first = ApprovalQueue(store(tmp_path), trail)
    first.ask(ASKED, **MORE)
    first.close()
    assert drop(tmp_path, first._store._rows.state.told())  # as when a gateway ends
    later = ApprovalQueue(store(tmp_path, 100.0 + 2 * ApprovalQueue.lasts_s), trail)
    later.look()
    later.look()
    later.close()
    assert trail.names == ["requested", "expired"]


async def test_whoever_asked_may_take_the_request_back(desk: ApprovalQueue, trail: Trail) -> None:
    """The record says who it was. While a call waits for it, or others ask for it, it stays with its votes."""
    one = desk.ask(ASKED, **MORE)
    assert one is not None
    ann, other = (replace(a_call(), caller=Caller(name)) for name in ("ann", "other"))
    waiting = asyncio.ensure_future(desk.decided(one.id))
    await asyncio.wait([waiting], timeout=0.01)
    desk.withdraw(one.id, ann)
    waiting.cancel()
    await asyncio.wait([waiting])
    desk.withdraw(one.id, other)
    assert trail.names == ["requested"]
    for id in (one.id, one.id, "ap_none"):
        desk.withdraw(id, ann)
    assert (trail.names, trail.steps[-1][1:3]) == (["requested", "withdrawn"], ("agent", "ann"))


def several(folder: Path, count: int) -> list[Asked]:
    return [replace(ASKED, arguments_digest=f"{number:064x}") for number in range(count)]


async def test_many_that_wait_are_let_go_a_few_in_each_turn(
    desk: ApprovalQueue, tmp_path: Path
) -> None:
    """Whoever else is there has a turn in between, however many wait for one decision."""
    made = desk.ask(ASKED, **MORE)
    assert made is not None
    waiting = [asyncio.ensure_future(desk.decided(made.id)) for _ in range(10 * LET_GO_A_TURN)]
    await asyncio.sleep(0)
    operator = store(tmp_path)
    operator.deny(made.id, by="olga")
    operator.close()
    desk.look()
    turns = []
    async with asyncio.timeout(10):
        while not all(one.done() for one in waiting):
            turns.append(sum(one.done() for one in waiting))
            await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise(turns)) <= LET_GO_A_TURN
    assert len(turns) >= 10


async def test_whoever_waits_for_something_else_is_not_woken(
    desk: ApprovalQueue, tmp_path: Path
) -> None:
    one, other = (desk.ask(asked, **MORE) for asked in several(tmp_path, 2))
    assert one is not None
    assert other is not None
    waiting = asyncio.ensure_future(desk.decided(other.id))
    deciding = asyncio.ensure_future(desk.decided(one.id))
    await asyncio.sleep(0)
    operator = store(tmp_path)
    operator.deny(one.id, by="olga")
    operator.close()
    desk.look()
    async with asyncio.timeout(10):
        await deciding
    assert not waiting.done()
    waiting.cancel()


async def test_a_look_writes_down_some_steps_and_the_next_one_goes_on(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    made = [desk.ask(asked, **MORE) for asked in several(tmp_path, STEPS_A_LOOK + 5)]
    trail.steps.clear()
    operator = store(tmp_path)
    for one in made:
        assert one is not None
        operator.deny(one.id, by="olga")
    operator.close()
    desk.look()
    assert len(trail.steps) == STEPS_A_LOOK
    desk.look()
    assert len(trail.steps) == STEPS_A_LOOK + 5
    assert [one[3]["approval"] for one in trail.steps] == [one.id for one in made if one]


async def test_what_is_used_is_recorded_at_once_whatever_else_is_to_be(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    asked = several(tmp_path, STEPS_A_LOOK + 5)
    made = [desk.ask(one, **MORE) for one in asked]
    operator = store(tmp_path)
    for one in made:
        assert one is not None
        operator.approve(one.id, by="olga")
    operator.close()
    trail.steps.clear()
    assert desk.redeem(asked[-1]) is not None
    assert trail.names[STEPS_A_LOOK:] == ["approved", "used"]


async def test_what_was_written_before_the_record_failed_is_not_written_again(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    made = [desk.ask(one, **MORE) for one in several(tmp_path, 4)]
    operator = store(tmp_path)
    for one in made:
        assert one is not None
        operator.deny(one.id, by="olga")
    operator.close()
    trail.steps.clear()
    trail.most = 2
    with pytest.raises(Unrecorded):
        desk.look()
    trail.most = 100
    desk.look()
    assert [one[3]["approval"] for one in trail.steps] == [one.id for one in made if one]


async def test_a_permission_that_cannot_be_stored_is_recorded_once_and_holds_up_nobody(
    desk: ApprovalQueue, tmp_path: Path, trail: Trail
) -> None:
    wish, call = desk.want("files", "camera", risk="dangerous", quorum=1), desk.ask(ASKED, **MORE)
    assert wish is not None
    assert call is not None
    waiting = asyncio.ensure_future(desk.decided(call.id))
    await asyncio.sleep(0)
    ruled: list[Approval] = []
    failing = True

    def rule(one: Approval) -> None:
        if failing:
            raise StoreError("the permissions cannot be used")
        ruled.append(one)

    desk.ruled.listen(rule)
    operator = store(tmp_path)
    for one in (wish, call):
        operator.approve(one.id, by="olga")
    operator.close()
    look(desk._store)
    trail.steps.clear()
    for _ in range(3):
        with pytest.raises(StoreError, match="the permissions"):
            desk.look()
    assert trail.names == ["approved", "approved"], "each once"
    async with asyncio.timeout(10):
        await waiting
    assert desk.redeem(ASKED) is not None
    assert trail.names == ["approved", "approved", "used"], "no use without its record"
    failing = False
    desk.look()
    desk.look()
    assert [one.id for one in ruled] == [wish.id]
    assert trail.names == ["approved", "approved", "used"]


async def test_calls_ask_one_after_the_other_with_a_rest_as_long_as_was_worked(
    tmp_path: Path, trail: Trail
) -> None:
    """On a clock on which each turn takes a hundredth of a second: nobody begins before two more are over."""
    now = [0.0]
    desk = ApprovalQueue(store(tmp_path), trail, lambda: now[0])
    began: list[float] = []
    inside = 0

    async def ask() -> None:
        nonlocal inside
        async with desk.in_turn():
            inside += 1
            assert inside == 1
            began.append(now[0])
            now[0] += 0.01
            inside -= 1

    async def ticks() -> None:
        while len(began) < 5:
            await asyncio.sleep(0)
            rest = desk.rests_s
            if rest > 0:
                now[0] += rest

    async with asyncio.timeout(20):
        await asyncio.gather(*(ask() for _ in range(5)), ticks())
    desk.close()
    assert [after - before for before, after in pairwise(began)] == pytest.approx([0.03] * 4)


async def test_a_turn_ends_also_where_it_fails(desk: ApprovalQueue) -> None:
    with pytest.raises(Unrecorded):
        async with desk.in_turn():
            raise Unrecorded("the disk is full")
    async with asyncio.timeout(10), desk.in_turn():
        pass


async def test_who_waits_is_woken_at_a_later_look_where_the_queue_could_not_be_read(
    desk: ApprovalQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = desk.ask(ASKED, **MORE)
    assert made is not None
    desk.look()
    waiting = asyncio.ensure_future(desk.decided(made.id))
    await asyncio.sleep(0)
    operator = store(tmp_path)
    operator.approve(made.id, by="olga")
    operator.close()
    look(desk._store)

    def fails(_: object) -> None:
        raise StoreError("it cannot be read")

    with monkeypatch.context() as broken:
        broken.setattr(desk._store.undecided, "among", fails)
        for _ in range(2):
            with pytest.raises(StoreError):
                desk.look()
    desk.look()
    async with asyncio.timeout(10):
        await waiting


async def test_failing_steps_hold_up_none(desk: Any, tmp_path: Path, trail: Trail) -> None:
    names, rule = [f"p{n}" for n in range(2 * STEPS_A_LOOK)], Mock(side_effect=StoreError("no"))
    made = [desk.want("files", name, risk="safe", quorum=1) for name in names]
    desk.ruled.listen(rule)
    operator = store(tmp_path)
    for one in (*made, desk.ask(ASKED, **MORE)):
        operator.approve(one.id if one else "", by="olga")
    operator.close()
    look(desk._store)
    for _ in range(12):
        with pytest.raises(StoreError):
            desk.look()
    assert trail.names.count("approved") == len(names) + 1
    assert {one.args[0].tool for one in rule.call_args_list} == {*names}, "each has its turn"
