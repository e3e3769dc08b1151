"""Searching the trail: held against a plain walk over every record."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE, Query
from gatewright.audit.search import AuditSearch, admits
from gatewright.audit.search_index import Wanted
from gatewright.call import Caller, Failure, Refusal
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database
from tests.audit.parts import ANSWER, Clock, a_call, a_log, a_tool, run

_COUNT = 20_000
"""More than one block has."""
_OUTCOMES: list[Any] = [
    ANSWER,
    ANSWER,
    ANSWER,
    Refusal("access_denied", "no", gate="access"),
    Refusal("rate_limited", "no", gate="rate"),
    Failure("timeout", "late"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed trail."""
    path, clock, choose = tmp_path_factory.mktemp("trail"), Clock(), random.Random(7)

    async def write() -> None:
        log = a_log(path, clock=clock)
        for number in range(_COUNT):
            clock.now += choose.choice((0.0, 0.5, 2.0))
            who = Caller(f"agent{choose.randrange(5)}", "agent", "key")
            facts = {"access": "server_grant"} if number % 3 else {}
            call = a_call(number, a_tool("safe"), caller=who, facts=facts)
            run(
                log,
                call,
                choose.choice(_OUTCOMES) if number % 500 else Refusal("flow", "no", gate="flow"),
            )
        await log.close()

    asyncio.run(write())
    return path


@pytest.fixture(scope="module")
def every(folder: Path) -> list[dict[str, Any]]:
    """All of it, newest first."""
    return list(AuditReader(folder).query(Query()))


def _ms(record: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(record["time"]).timestamp() * 1000)


def _fits(record: dict[str, Any], wanted: Wanted) -> bool:
    details, decision = record.get("details", {}), record.get("decision", {})
    has = {
        "agent": record["actor"]["id"],
        "outcome": record["outcome"],
        "kind": record["event_type"],
        "gate": decision.get("gate"),
        "rule": decision.get("reason") or details.get("reason") or details.get("access"),
    }
    within = (wanted.since or 0) <= _ms(record) < (wanted.until or 1 << 62)
    return within and all(has[name] == value for name, value in wanted.facts.items())


def _choices() -> list[Wanted]:
    choose = random.Random(3)
    facts = {
        "agent": ["agent1", "agent4", "nobody"],
        "outcome": ["success", "denied", "error"],
        "kind": ["TOOL_EXECUTED", "TOOL_BLOCKED"],
        "gate": ["access", "rate", "flow"],
        "rule": ["flow", "timeout", "server_grant"],
    }
    begin = 1_790_000_000_000
    found = [Wanted()]
    for _ in range(40):
        names = choose.sample(sorted(facts), choose.randrange(3))
        since, until = sorted(choose.choices(range(begin, begin + 17_000_000), k=2))
        found.append(
            Wanted(
                facts={name: choose.choice(facts[name]) for name in names},
                since=since if choose.random() < 0.5 else None,
                until=until if choose.random() < 0.5 else None,
            )
        )
    return found


@pytest.mark.parametrize("oldest", [False, True])
def test_pages_have_what_a_walk_over_every_record_finds(
    folder: Path, every: list[dict[str, Any]], oldest: bool
) -> None:
    search = AuditSearch(folder, time.monotonic)
    for wanted in _choices():
        order = reversed(every) if oldest else every
        expected = [one["seq"] for one in order if _fits(one, wanted)][:300]
        found: list[int] = []
        before: int | None = None
        while len(found) < len(expected):
            page = search.search(wanted, before=before, most=70, budget_s=60, oldest=oldest)
            assert not page.unsearched
            found += [msgspec.json.decode(one)["seq"] for one in page.lines]
            before = page.before
            if before is None:
                break
        assert found[:300] == expected, wanted


def test_slices_add_up_to_what_a_walk_counts(folder: Path, every: list[dict[str, Any]]) -> None:
    search = AuditSearch(folder, time.monotonic)
    while search.fill():
        pass
    span = search.span()
    assert span is not None
    assert span == (_ms(every[-1]), _ms(every[0]))
    edges = [*range(span[0], span[1] + 500_000, 500_000)]
    for wanted in _choices():
        counted = search.counted(wanted, edges)
        assert counted.whole
        expected: dict[str, list[int]] = {}
        for one in every:
            if _fits(one, wanted):
                slices = expected.setdefault(one["outcome"], [0] * (len(edges) - 1))
                slices[(_ms(one) - edges[0]) // 500_000] += 1
        assert counted.counts == expected, wanted


def test_a_search_without_time_says_how_far_it_came(folder: Path) -> None:
    ticks = itertools.count()
    search = AuditSearch(folder, lambda: float(next(ticks)))
    page = search.search(Wanted(facts={"agent": "nobody"}), budget_s=0.5)
    assert (page.lines, page.before, page.unsearched) == ([], 1 << 14, True)
    first = AuditSearch(folder, lambda: float(next(ticks)))
    page = first.search(Wanted(facts={"agent": "nobody"}), budget_s=0.5, oldest=True)
    assert (page.lines, page.before, page.unsearched) == ([], 0, True)
    assert not search.counted(Wanted(), [0, 1 << 50]).whole
    assert search.fill()
    assert not search.fill()
    whole = search.search(Wanted(facts={"agent": "nobody"}), before=page.before, budget_s=0.5)
    assert (whole.lines, whole.before, whole.unsearched) == ([], None, False)


def test_what_ends_now_is_found_at_once_and_the_index_follows(tmp_path: Path) -> None:
    search = AuditSearch(tmp_path, time.monotonic)
    log = a_log(tmp_path)
    for number in range(1, 30):
        run(log, a_call(number, a_tool("safe")))
        page = search.search(Wanted(facts={"agent": "ann"}), most=100)
        assert len(page.lines) == number
        assert search.of_trace(f"trace-{number}") == [page.lines[0]]
    asyncio.run(log.close())
    assert len(search.search(Wanted(facts={"agent": "ann"}), most=100).lines) == 29
    assert search.names("agent") == ["ann"]


def test_one_record_is_admitted_as_a_search_would(folder: Path) -> None:
    lines = [*AuditReader(folder).lines(Query(limit=300))]
    for wanted in _choices():
        expected = [_fits(msgspec.json.decode(one), wanted) for one in lines]
        assert [admits(wanted, one) for one in lines] == expected


def test_an_opened_record_stands_in_the_chain(folder: Path) -> None:
    search = AuditSearch(folder, time.monotonic)
    first, other = search.opened(1), search.opened(17_000)
    assert first is not None
    assert other is not None
    assert (first.hash, first.previous) == ("holds", "first")
    assert (other.hash, other.previous) == ("holds", "holds")
    assert search.opened(_COUNT + 1) is None


def test_a_changed_record_and_the_one_behind_it_say_so(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for number in range(5):
        run(log, a_call(number, a_tool("safe")))
    asyncio.run(log.close())
    database = Database.open_to_hold(tmp_path / DATABASE)
    database.execute("UPDATE records SET record = replace(record, 'ann', 'bob') WHERE seq = 3")
    database.close()
    search = AuditSearch(tmp_path, time.monotonic)
    changed, behind = search.opened(3), search.opened(4)
    assert changed is not None
    assert behind is not None
    assert (changed.hash, "was changed" in changed.problem) == ("broken", True)
    assert (behind.hash, behind.previous) == ("holds", "broken")
    assert "record 3" in behind.problem


def test_without_a_trail_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        AuditSearch(tmp_path, time.monotonic).search(Wanted())


def test_ranks_are_those_of_a_walk(folder: Path, every: list[dict[str, Any]]) -> None:
    search = AuditSearch(folder, time.monotonic)
    while search.fill():
        pass
    for wanted in _choices():
        expected = Counter(one["actor"]["id"] for one in every if _fits(one, wanted))
        assert dict(search.ranked("agent", wanted)) == expected, wanted
