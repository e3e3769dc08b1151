"""The queue inside the gateway: who waits is woken, every step is recorded, new requests are told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Unrecorded
from gatewright.compose.desk import Desk
from gatewright.stores.approval import Approval, Asked
from gatewright.stores.approvals import Approvals
from gatewright.stores.records import Actor, Subject

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
MORE: dict[str, Any] = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": 1}


class Trail:
    """A record that can be out of order."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, str, dict[str, Any]]] = []
        self.full = False

    def __call__(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        if self.full:
            raise Unrecorded("the disk is full")
        self.steps.append((event_type, actor.type, actor.id, details))
        return len(self.steps)

    @property
    def names(self) -> list[str]:
        return [one[0].rpartition(".")[2] for one in self.steps]


@pytest.fixture
def trail() -> Trail:
    return Trail()


def store(folder: Path, now: float = 100.0) -> Approvals:
    return Approvals(folder / "q.db", clock=lambda: now, random=os.urandom)


@pytest.fixture
async def desk(tmp_path: Path, trail: Trail) -> AsyncIterator[Desk]:
    made = Desk(store(tmp_path), trail)
    yield made
    made.close()


async def test_a_decision_of_another_process_wakes_whoever_waits(
    desk: Desk, tmp_path: Path
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
    desk.look()
    async with asyncio.timeout(10):
        await waiting
    used = desk.redeem(ASKED)
    assert used is not None
    assert used.by == "olga"


async def test_every_step_is_in_the_record_without_any_argument(
    desk: Desk, tmp_path: Path, trail: Trail
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
    desk: Desk, tmp_path: Path, trail: Trail
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


async def test_whoever_wants_to_know_is_told_of_each_new_request_once(desk: Desk) -> None:
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


async def test_nobody_waits_for_what_nobody_knows(desk: Desk) -> None:
    waiting = asyncio.ensure_future(desk.decided("ap_unknown"))
    assert await asyncio.wait([waiting], timeout=10) == ({waiting}, set())


async def test_what_waits_is_counted_until_it_is_decided(desk: Desk, tmp_path: Path) -> None:
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
    first = Desk(store(tmp_path), trail)
    first.ask(ASKED, **MORE)
    first.close()
    later = Desk(store(tmp_path, 100.0 + 2 * Desk.lasts_s), trail)
    later.look()
    later.look()
    later.close()
    assert trail.names == ["requested", "expired"]


async def test_whoever_asked_may_take_the_request_back(desk: Desk, trail: Trail) -> None:
    """Who waits by it is told, and the record says who it was."""
    one = desk.ask(ASKED, **MORE)
    assert one is not None
    waiting = asyncio.ensure_future(desk.decided(one.id))
    await asyncio.sleep(0)
    assert not waiting.done()
    desk.withdraw(one.id)
    async with asyncio.timeout(10):
        await waiting
    assert trail.steps[-1][:3] == ("dev.gatewright.approval.withdrawn", "agent", "ann")
    desk.withdraw(one.id)
    desk.withdraw("ap_none")
    assert trail.names == ["requested", "withdrawn"]
