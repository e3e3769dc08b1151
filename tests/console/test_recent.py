"""The newest records in memory, and whom their topics are told: at once, and not with each of thousands of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
import pytest

from gatewright.audit.trail import AuditLog
from gatewright.console import recent
from gatewright.console.changes import TOPICS
from gatewright.console.recent import BYTES, KEPT, Recent
from gatewright.listeners import Signal
from tests.audit.parts import a_call, a_log, run


class Trail:
    """A record that somebody writes."""

    def __init__(self) -> None:
        self.turns: Signal[Sequence[bytes]] = Signal()

    def write(self, kind: str, id: str = "0" * 36) -> None:
        self.turns.send([self.line(kind, id)])

    @staticmethod
    def line(kind: str, id: str = "0" * 36) -> bytes:
        time = "2026-01-01T00:00:00.000Z"
        return msgspec.json.encode({"id": id, "time": time, "event_type": kind})


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def kept(trail: Trail) -> Iterator[Recent]:
    made = Recent(trail)  # type: ignore[arg-type]
    yield made
    made.close()


def test_only_the_newest_are_kept_newest_first(trail: Trail, kept: Recent) -> None:
    for number in range(KEPT + 5):
        trail.write(f"kind.{number}")
    assert (kept.count, len(list(kept.lines()))) == (KEPT + 5, KEPT)
    numbers, lines = zip(*kept.numbered(), strict=True)
    assert numbers == (*range(KEPT + 5, 5, -1),)
    kinds = [msgspec.json.decode(one)["event_type"] for one in lines]
    assert (kinds[0], kinds[-1]) == (f"kind.{KEPT + 4}", "kind.5")
    kept.close()
    trail.write("late")
    assert kept.count == KEPT + 5


def test_long_records_are_kept_up_to_a_bound_of_bytes(trail: Trail, kept: Recent) -> None:
    long = BYTES // 40
    for number in range(100):
        trail.turns.send([b"%d" % number + b" " * long])
    found = [*kept.lines()]
    assert sum(map(len, found)) <= BYTES
    assert [int(one) for one in found] == [*range(99, 99 - 39, -1)]
    for _ in range(KEPT):
        trail.write("kind")
    assert len([*kept.lines()]) == KEPT


async def test_topics_are_told_once_each_and_nobody_is_told_of_nothing(
    trail: Trail, kept: Recent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_BUSY_S", dict.fromkeys(recent._OF_A_CALL, 3600.0))
    told: list[set[str]] = []
    something = asyncio.Event()

    def tell(*topics: str) -> None:
        told.append(set(topics))
        something.set()

    following = asyncio.create_task(kept.follow(tell, lambda: True))
    await asyncio.sleep(0)  # what was there before it began is no news
    for kinds, expected in (
        (["TOOL_EXECUTED"] * 3, {"live", "sessions", "audit", "limits"}),
        # What belongs to calls waits for its time; an approval does not.
        (["TOOL_EXECUTED", "dev.gatewright.approval.requested"], {"inbox"}),
        (["an.unknown.kind", "dev.gatewright.tool.held"], {"inbox", "servers", "tools"}),
    ):
        for kind in kinds:
            trail.write(kind)
        async with asyncio.timeout(10):
            await something.wait()
        something.clear()
        assert told[-1] == expected
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert len(told) == 3


async def test_what_is_written_while_nobody_listens_counts_as_a_change_of_everything(
    trail: Trail, kept: Recent
) -> None:
    told: list[tuple[str, ...]] = []
    looks = iter([False, False, True])
    done = asyncio.Event()

    def needed() -> bool:
        found = next(looks, None)
        if found is None:
            done.set()
        return bool(found)

    following = asyncio.create_task(kept.follow(lambda *topics: told.append(topics), needed))
    await asyncio.sleep(0)  # what was there before it began is no news
    trail.write("dev.gatewright.approval.requested")
    async with asyncio.timeout(10):
        await done.wait()
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert told == [TOPICS]


async def test_what_waited_to_be_told_when_the_last_page_closed_is_a_change_as_well(
    trail: Trail, kept: Recent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is opened then was made before, and hears of it."""
    monkeypatch.setattr(recent, "_BUSY_S", dict.fromkeys(recent._OF_A_CALL, 3600.0))
    told: list[tuple[str, ...]] = []
    looks = 0
    done = asyncio.Event()

    def needed() -> bool:
        nonlocal looks
        looks += 1
        if looks < 3:
            trail.write("TOOL_EXECUTED")  # the first is told at the second look, the second waits
        if looks == 6:
            done.set()
        return looks <= 3

    following = asyncio.create_task(kept.follow(lambda *topics: told.append(topics), needed))
    async with asyncio.timeout(10):
        await done.wait()
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert [len(one) for one in told] == [len(recent._OF_A_CALL), len(TOPICS)]


def test_the_kind_of_a_record_is_read_where_the_record_has_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Ends of calls are known by one comparison at one place."""
    log: AuditLog = a_log(tmp_path_factory.mktemp("audit"))
    made = Recent(log)
    run(log, a_call())
    log.event("dev.gatewright.tool.held")
    held, ended = [*made.lines()][:2]
    assert ended[recent._KIND_AT : recent._ENDED_AT] == recent._ENDED
    assert (recent._kind(ended), recent._kind(held)) == (
        "TOOL_EXECUTED",
        "dev.gatewright.tool.held",
    )
    assert made._topics() >= {"live", "inbox"}
    made.close()
    log.finish()


async def test_whatever_else_one_turn_has_an_approval_in_it_is_told(
    trail: Trail, kept: Recent
) -> None:
    """Among thousands of ends of calls, at its beginning, in its middle, at its end."""
    told: list[set[str]] = []
    something = asyncio.Event()

    def tell(*topics: str) -> None:
        told.append(set(topics))
        something.set()

    following = asyncio.create_task(kept.follow(tell, lambda: True))
    await asyncio.sleep(0)
    calls = [trail.line("TOOL_EXECUTED")] * 4_000
    for at in (0, 2_000, 4_000):
        lines = [*calls[:at], trail.line("dev.gatewright.approval.requested"), *calls[at:]]
        trail.turns.send(lines)
        async with asyncio.timeout(10):
            await something.wait()
        something.clear()
        assert "inbox" in told[-1]
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following


async def test_under_load_pages_that_count_calls_over_look_less_often(
    trail: Trail, kept: Recent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_BUSY_S", {**recent._BUSY_S, "live": 0.0, "audit": 3600.0})
    told: list[set[str]] = []
    enough = asyncio.Event()

    def tell(*topics: str) -> None:
        told.append(set(topics))
        if len(told) == 4:
            enough.set()

    def needed() -> bool:
        trail.write("TOOL_EXECUTED")
        return True

    following = asyncio.create_task(kept.follow(tell, needed))
    async with asyncio.timeout(10):
        await enough.wait()
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert told[0] == set(recent._OF_A_CALL)
    assert ["live" in one for one in told[1:]] == [True] * 3
    assert not any("audit" in one for one in told[1:])


async def test_of_thousands_of_calls_a_second_no_topic_is_told_as_often_as_of_a_few(
    trail: Trail, kept: Recent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_BUSY_S", {**recent._BUSY_S, "live": 0.0})
    monkeypatch.setattr(recent, "_CROWDED_S", 3600.0)
    told: list[set[str]] = []
    written = iter([recent._CROWD, recent._CROWD, recent._CROWD - 1])
    over = asyncio.Event()

    def needed() -> bool:
        following_one = next(written, None)
        if following_one is None:
            over.set()
            return True
        trail.turns.send([trail.line("TOOL_EXECUTED")] * following_one)
        return True

    following = asyncio.create_task(kept.follow(lambda *topics: told.append({*topics}), needed))
    async with asyncio.timeout(10):
        await over.wait()
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert told == [set(recent._OF_A_CALL), {"live"}]


def test_what_readers_made_of_lines_goes_with_them(trail: Trail, kept: Recent) -> None:
    trail.write("kind")
    kept.made()[1] = "of the first"
    assert kept.made() == {1: "of the first"}
    for _ in range(KEPT):
        trail.write("kind")
    kept.made()[KEPT + 1] = "of the last"
    assert kept.made() == {KEPT + 1: "of the last"}


def test_more_than_is_kept_may_have_touched_everything(trail: Trail, kept: Recent) -> None:
    trail.write("dev.gatewright.approval.requested")
    trail.turns.send([trail.line("TOOL_EXECUTED")] * KEPT)
    assert kept._topics() == {*TOPICS}
    trail.turns.send([trail.line("TOOL_EXECUTED")] * KEPT)
    assert kept._topics() == {*recent._OF_A_CALL}
    assert kept._topics() == set()
