"""The newest calls out of the newest records: one row a call, by filters, whatever else is recorded in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import msgspec
import pytest

from gatewright.audit.records import INTENT
from gatewright.console import recent_calls
from gatewright.console.operations import ApiError
from gatewright.console.recent import KEPT, Recent
from gatewright.console.recent_calls import CallPage, CallRow, CallsAsked, RecentCalls, row_of
from gatewright.listeners import Signal
from gatewright.transport.slices import in_slices


class Trail:
    """A record that somebody writes."""

    def __init__(self) -> None:
        self.turns: Signal[Sequence[bytes]] = Signal()
        self.count = 0

    def write(self, event: str = "TOOL_EXECUTED", **more: Any) -> str:
        """One record; its call."""
        self.count += 1
        call = more.pop("call", f"call-{self.count}")
        record = {
            "id": f"id-{self.count}",
            "time": f"2026-01-01T00:00:{self.count:02}.000Z",
            "event_type": event,
            "outcome": "success",
            "actor": {"type": "agent", "id": "ann"},
            "target": {"server_id": "files", "tool_name": "read"},
            "trace_id": "t",
            "call": call,
            "method": "tools/call",
            "details": {"duration_ms": 1.5},
        }
        if event.startswith("dev.gatewright.approval"):
            del record["call"]
        self.turns.send([msgspec.json.encode({**record, **more})])
        return str(call)


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def calls(trail: Trail) -> Iterator[RecentCalls]:
    recent = Recent(trail)  # type: ignore[arg-type]
    yield RecentCalls(recent)
    recent.close()


EVERY = CallsAsked()


async def test_a_call_is_one_row_and_what_is_no_call_is_none(
    trail: Trail, calls: RecentCalls
) -> None:
    call = trail.write(INTENT, outcome="pending")
    trail.write("dev.gatewright.approval.requested")
    trail.write("VALIDATION_FAILED", call=call)
    trail.write(call=call, result={"is_error": False, "bytes": 7})
    (row,) = (await calls.page(EVERY)).calls
    assert (row.id, row.decision, row.ms, row.bytes) == (call, "allowed", 1.5, 7)
    assert (row.agent, row.server, row.name) == ("ann", "files", "read")


@pytest.mark.parametrize(
    ("record", "decision", "reason"),
    [
        ({"outcome": "denied", "decision": {"gate": "access", "reason": "no"}}, "refused", "no"),
        ({"outcome": "failure"}, "failed", ""),
        ({"outcome": "error", "details": {"reason": "server_error"}}, "error", "server_error"),
        ({"outcome": "cancelled"}, "cancelled", ""),
        ({"outcome": "pending"}, "running", ""),
        ({"details": {"confirmed_by": "olga"}}, "approved", ""),
        ({"outcome": "of another version"}, "error", ""),
    ],
)
async def test_how_it_ended_is_a_word(
    trail: Trail, calls: RecentCalls, record: dict[str, Any], decision: str, reason: str
) -> None:
    trail.write(**record)
    (row,) = (await calls.page(EVERY)).calls
    assert (row.decision, row.reason) == (decision, reason)


async def test_filters_hold_together_and_names_may_be_anything(
    trail: Trail, calls: RecentCalls
) -> None:
    odd = 'an "odd"\u202e name\n'
    wanted = trail.write(actor={"type": "agent", "id": odd})
    # The name stands in it, and somewhere else.
    trail.write(client={"name": odd})
    other = trail.write(target={"server_id": "mail", "tool_name": "send"}, outcome="denied")
    assert [one.id for one in (await calls.page(CallsAsked(agent=odd))).calls] == [wanted]
    assert [one.id for one in (await calls.page(CallsAsked(server="mail", tool="send"))).calls] == [
        other
    ]
    assert (await calls.page(CallsAsked(server="mail", decision="allowed"))).calls == []
    assert [one.id for one in (await calls.page(CallsAsked(decision="refused"))).calls] == [other]
    assert len((await calls.page(CallsAsked(limit=2))).calls) == 2


async def test_one_call_is_found_by_its_id_with_its_last_record(
    trail: Trail, calls: RecentCalls
) -> None:
    call = trail.write(INTENT, outcome="pending")
    trail.write(call=call)
    trail.write(trace_id=call)
    found = await calls.record(call)
    assert found is not None
    assert found["event_type"] == "TOOL_EXECUTED"
    assert await calls.record("call-99") is None
    there = [one.id for rows in calls.every() for one in rows]
    assert (len(there), there[-1]) == (2, call)


def test_a_record_of_something_else_has_no_row() -> None:
    line = b'{"time":"t","event_type":"SERVER_CONNECTED","outcome":"success","actor":{"id":"x"},"target":{},"trace_id":"t"}'
    assert row_of(line) is None


async def test_what_is_nowhere_is_looked_for_in_slices(
    trail: Trail, calls: RecentCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop has its turns, also where no line has what is looked for."""
    ticks = count()
    slow = partial(in_slices, clock=lambda: next(ticks) * 0.001)
    monkeypatch.setattr("gatewright.console.recent_calls.in_slices", slow)
    for _ in range(4_000):
        trail.write(time="2026-01-01T00:00:00.000Z")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    for look in (
        calls.page(CallsAsked(agent="nobody")),
        calls.page(CallsAsked(decision="running")),
        calls.page(CallsAsked(agent="nobody", sort="ms")),
        calls.record("call-none"),
    ):
        before = turns
        found = await look
        assert found is None or (isinstance(found, CallPage) and found.calls == [])
        assert turns - before >= 25
    beside.cancel()


@pytest.mark.parametrize(
    ("sort", "desc"), [("time", True), ("time", False), ("ms", True), ("call", False)]
)
async def test_pages_in_every_order_have_each_call_once(
    trail: Trail, calls: RecentCalls, sort: Any, desc: bool
) -> None:
    """Also with an intent between them, and calls that are alike."""
    made = set()
    for number in range(11):
        if number % 3 == 0:
            trail.write(INTENT, outcome="pending", call=f"call-{number:02}x")
        made.add(trail.write(call=f"call-{number:02}x", details={"duration_ms": float(number % 4)}))
    found: list[str] = []
    asked = CallsAsked(sort=sort, desc=desc, limit=3)
    while True:
        page = await calls.page(asked)
        found += [one.id for one in page.calls]
        if not page.next:
            break
        asked = msgspec.structs.replace(asked, after=page.next)
    assert (len(found), set(found)) == (len(made), made)


async def test_a_page_behind_a_call_that_is_kept_no_more_ends_the_list(
    trail: Trail, calls: RecentCalls
) -> None:
    for _ in range(6):
        trail.write(time="2026-01-01T00:00:00.000Z")
    first = await calls.page(CallsAsked(limit=2))
    for _ in range(KEPT - 1):
        trail.write("dev.gatewright.approval.requested", time="2026-01-01T00:00:00.000Z")
    rest = await calls.page(CallsAsked(limit=2, after=first.next))
    assert (rest.calls, rest.next) == ([], "")


@pytest.mark.parametrize("desc", [True, False, None])
async def test_pages_of_the_newest_have_each_call_once_while_more_come(
    trail: Trail, calls: RecentCalls, desc: bool | None
) -> None:
    """Also those of one millisecond, and where one that was on a page goes meanwhile."""
    there = {trail.write(time="2026-01-01T00:00:00.000Z") for _ in range(20)}
    found: list[str] = []
    asked = CallsAsked(limit=3, desc=desc)
    for _ in range(40):
        page = await calls.page(asked)
        found += [one.id for one in page.calls]
        if not page.next:
            break
        # The time of the machine is set back meanwhile.
        trail.write(time="2025-01-01T00:00:00.000Z", call=f"later-{len(found)}")
        asked = msgspec.structs.replace(asked, after=page.next)
    assert len(found) == len(set(found))
    assert there <= set(found)


async def test_an_after_of_another_order_is_refused(trail: Trail, calls: RecentCalls) -> None:
    trail.write()
    for after in ("call-1", '["ann","call-1"]', "[1]"):
        with pytest.raises(ApiError) as caught:
            await calls.page(CallsAsked(after=after))
        assert caught.value.status == 422


async def test_a_record_is_read_once_for_all_readers(
    trail: Trail, calls: RecentCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = count()
    row = recent_calls.row_of

    def counted(line: bytes, number: int = 0) -> CallRow | None:
        next(reads)
        return row(line, number)

    monkeypatch.setattr(recent_calls, "row_of", counted)
    for _ in range(10):
        trail.write(time="2026-01-01T00:00:00.000Z")
    other = RecentCalls(calls._recent)
    for asked in (CallsAsked(), CallsAsked(agent="ann"), CallsAsked(sort="ms")):
        assert len((await other.page(asked)).calls) == len((await calls.page(asked)).calls) == 10
    trail.write()
    assert len([one for rows in other.every() for one in rows]) == 11
    assert next(reads) == 11
