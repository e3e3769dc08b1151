"""The newest records in memory, and which topics they change."""

from __future__ import annotations

import asyncio
import json

import pytest

from gatewright.console.recent import KEPT, Recent, topics_of
from gatewright.listeners import Signal


class Audit:
    def __init__(self) -> None:
        self.heard: Signal[bytes] = Signal()

    def write(self, kind: str, number: int = 0) -> None:
        self.heard.send(json.dumps({"event_type": kind, "seq": number}).encode())


def test_only_the_newest_are_kept_and_those_that_fit_are_found() -> None:
    audit = Audit()
    recent = Recent(audit)  # type: ignore[arg-type]
    for number in range(KEPT + 10):
        audit.write("TOOL_EXECUTED", number)
    assert recent.count == KEPT + 10
    even = list(recent.newest(3, lambda record: record["seq"] % 2 == 0))
    assert [one["seq"] for one in even] == [KEPT + 8, KEPT + 6, KEPT + 4]
    assert sum(1 for _ in recent.newest(KEPT * 2, lambda _: True)) == KEPT
    recent.close()
    audit.write("TOOL_EXECUTED")
    assert recent.count == KEPT + 10


@pytest.mark.parametrize(
    ("kind", "topic"),
    [
        ("TOOL_EXECUTED", "live"),
        ("dev.gatewright.approval.requested", "inbox"),
        ("dev.gatewright.server.started", "servers"),
        ("dev.gatewright.key.revoked", "access"),
        ("dev.gatewright.room.said", "rooms"),
    ],
)
def test_a_record_changes_the_screens_that_show_it(kind: str, topic: str) -> None:
    assert topic in topics_of(kind)
    assert "audit" in topics_of(kind)


async def test_topics_are_told_while_somebody_needs_them() -> None:
    audit, told, needed = Audit(), set[str](), [True]
    recent = Recent(audit)  # type: ignore[arg-type]
    heard = asyncio.Event()

    def tell(*topics: str) -> None:
        told.update(topics)
        heard.set()

    following = asyncio.create_task(recent.follow(tell, lambda: needed[0]))
    await asyncio.sleep(0)
    audit.write("dev.gatewright.approval.requested")
    await asyncio.wait_for(heard.wait(), 5)
    assert told == {"inbox", "audit"}
    following.cancel()
    await asyncio.wait([following])
