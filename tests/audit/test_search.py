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
from msgspec.structs import replace

from gatewright.audit import search as search_module
from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE, Query
from gatewright.audit.search import AuditSearch
from gatewright.audit.search_index import Wanted
from gatewright.audit.trail_reading import read_block
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


def _filled(search: AuditSearch, folder: Path) -> None:
    """As a worker process does it."""
    for number in search.missing():
        search.adopt(read_block(folder, number).packed())
    search.span()  # the newest part is read by whoever looks


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
    _filled(search, folder)
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


def test_what_is_written_meanwhile_is_not_counted_before_all_else_is(tmp_path: Path) -> None:
    """Else whoever asks again until all are counted would never come to an end."""
    log, search = a_log(tmp_path), AuditSearch(tmp_path, time.monotonic)
    edges = [0, 1 << 50]
    for number in range(5_000):
        run(log, a_call(number, a_tool("safe")))
    first = search.counted(Wanted(), edges)
    assert (first.whole, first.newest, sum(first.counts["success"])) == (
        False,
        5_000,
        5_000 - 4_095,
    )
    missing = search.missing()
    for number in range(9_000):
        run(log, a_call(number, a_tool("safe")))
    for number in missing:
        search.adopt(read_block(tmp_path, number).packed())
    again = search.counted(Wanted(), edges, first.newest)
    assert (again.whole, again.newest, sum(again.counts["success"])) == (True, 5_000, 5_000)
    assert search.span(first.newest) is not None
    later = search.counted(Wanted(), edges)
    assert (later.whole, later.newest) == (False, 14_000)
    asyncio.run(log.close())


def test_a_search_without_time_says_how_far_it_came(folder: Path) -> None:
    ticks = itertools.count()
    search = AuditSearch(folder, lambda: float(next(ticks)))
    page = search.search(Wanted(facts={"agent": "nobody"}), budget_s=0.5)
    assert (page.lines, page.before, page.unsearched) == ([], 1 << 14, True)
    first = AuditSearch(folder, lambda: float(next(ticks)))
    page = first.search(Wanted(facts={"agent": "nobody"}), budget_s=0.5, oldest=True)
    assert (page.lines, page.before, page.unsearched) == ([], (1 << 12) - 1, True)
    assert not search.counted(Wanted(), [0, 1 << 50]).whole
    _filled(search, folder)
    whole = search.search(Wanted(facts={"agent": "nobody"}), before=page.before, budget_s=0.5)
    assert (whole.lines, whole.before, whole.unsearched) == ([], None, False)


def test_a_search_begins_no_block_for_which_it_has_no_time(folder: Path) -> None:
    """So long as the last one took: a budget is over before the next one is read, and not after it."""
    now, step = 0.0, 0.01

    def clock() -> float:
        nonlocal now
        now += step
        return now

    search = AuditSearch(folder, clock)
    nobody = Wanted(facts={"agent": "nobody"})
    assert search.search(nobody, budget_s=0.015).unsearched
    assert len(vars(search)["_blocks"]) == 1
    _filled(search, folder)
    every = len(vars(search)["_blocks"])
    assert every > 2
    for number in range(every - 1):
        vars(search)["_blocks"].pop(number)
    began, step = now, 3.0
    assert search.search(nobody, budget_s=10.0).unsearched
    assert (now - began - step < 10.0, len(vars(search)["_blocks"])) == (True, 2)
    assert not search.search(nobody, budget_s=100.0).unsearched


@pytest.mark.parametrize("oldest", [False, True])
def test_every_search_reads_one_block_and_so_comes_to_an_end(folder: Path, oldest: bool) -> None:
    """However long the last one took, and with nobody else who fills the index."""
    search, before = AuditSearch(folder, time.monotonic), None
    nobody = Wanted(facts={"agent": "nobody"})
    for _ in range(9):
        vars(search)["_took"] = 5.0
        page = search.search(nobody, before=before, budget_s=0.1, oldest=oldest)
        if not page.unsearched:
            break
        assert page.before != before
        before = page.before
    assert (page.lines, page.before, page.unsearched) == ([], None, False)


@pytest.mark.parametrize("oldest", [False, True])
def test_a_trace_has_pages_and_loses_nothing(tmp_path: Path, oldest: bool) -> None:
    """An agent may have given all its calls the same."""
    log, count = a_log(tmp_path), 1_200
    for number in range(count):
        call = replace(a_call(number, a_tool("safe")), trace_id="the-same")
        run(log, call, _OUTCOMES[4] if number == 20 else ANSWER)
    run(log, a_call(count, a_tool("safe")))
    asyncio.run(log.close())
    search = AuditSearch(tmp_path, time.monotonic)
    found: list[int] = []
    before: int | None = None
    while True:
        page = search.of_trace("the-same", before=before, most=70, oldest=oldest)
        found += [msgspec.json.decode(one)["seq"] for one in page.lines]
        before = page.before
        if before is None:
            break
    expected = [*range(1, count + 1)] if oldest else [*range(count, 0, -1)]
    assert found == expected
    rare, looks = Wanted(facts={"gate": "rate"}), 0
    lines: list[bytes] = []
    while before is not None or not looks:
        page = search.of_trace("the-same", rare, before=before, most=70, oldest=oldest)
        assert page.unsearched is (page.before is not None)
        looks, before, lines = looks + 1, page.before, [*lines, *page.lines]
    assert ([msgspec.json.decode(one)["seq"] for one in lines], looks) == ([21], 3)


def test_what_ends_now_is_found_at_once_and_the_index_follows(tmp_path: Path) -> None:
    search = AuditSearch(tmp_path, time.monotonic)
    log = a_log(tmp_path)
    for number in range(1, 30):
        run(log, a_call(number, a_tool("safe")))
        page = search.search(Wanted(facts={"agent": "ann"}), most=100)
        assert len(page.lines) == number
        assert search.of_trace(f"trace-{number}").lines == [page.lines[0]]
    asyncio.run(log.close())
    assert len(search.search(Wanted(facts={"agent": "ann"}), most=100).lines) == 29
    assert search.names("agent") == ["ann"]


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
    _filled(search, folder)
    for wanted in _choices():
        expected = Counter(one["actor"]["id"] for one in every if _fits(one, wanted))
        ranked = search.ranked("agent", wanted)
        assert (dict(ranked.values), ranked.since) == (expected, None), wanted


def test_ranks_say_from_when_on_they_count(folder: Path, every: list[dict[str, Any]]) -> None:
    search = AuditSearch(folder, time.monotonic)
    ranked = search.ranked("agent", Wanted())
    newest = [one for one in every if one["seq"] >> 12 == _COUNT >> 12]
    assert dict(ranked.values) == Counter(one["actor"]["id"] for one in newest)
    assert ranked.since == _ms(newest[-1])


def test_parts_that_were_the_newest_when_somebody_looked_are_read_again_in_their_time(
    tmp_path: Path,
) -> None:
    """A page looked now and then while thousands of records came: each look left a part that is not whole, and the next search
    does not read all of them before it answers."""
    ticks = itertools.count()
    log, search = a_log(tmp_path), AuditSearch(tmp_path, lambda: float(next(ticks)))
    for number in range(4 * 4096):
        run(log, a_call(number, a_tool("safe")))
        if number % 4096 == 2000:
            search.span()
    assert search.missing() == [3, 2, 1, 0]
    assert search.search(Wanted(facts={"agent": "nobody"}), budget_s=0.5).unsearched
    assert search.missing() == [3, 2, 1, 0]
    asyncio.run(log.close())
    _filled(search, tmp_path)
    assert search.missing() == []
    assert search.search(Wanted(), most=20_000).before is None
    assert len(search.search(Wanted(), most=20_000).lines) == 4 * 4096


def test_the_newest_parts_stay_where_there_are_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "_BLOCKS", 2)
    search, nobody, before = AuditSearch(folder, time.monotonic), Wanted(facts={"agent": "x"}), None
    search.search(nobody, before=9_000, budget_s=60)
    assert sorted(vars(search)["_blocks"]) == [1, 2]
    search.search(nobody, before=before, budget_s=60)
    assert sorted(vars(search)["_blocks"]) == [3, 4]


def test_a_search_comes_to_an_end_behind_what_the_index_has_room_for(
    folder: Path, every: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever goes on from where it came to gets further each time, and misses nothing."""
    monkeypatch.setattr(search_module, "_BLOCKS", 2)
    search, wanted = AuditSearch(folder, time.monotonic), Wanted(facts={"gate": "flow"})
    before: int | None = None
    seqs: list[int] = []
    for _ in range(2 * (2 * _COUNT >> 12)):
        found = search.search(wanted, before=before, budget_s=0.0)
        seqs += [msgspec.json.decode(line)["seq"] for line in found.lines]
        before = found.before
        if before is None:
            break
    assert before is None
    assert seqs == [one["seq"] for one in every if _fits(one, wanted)]
    assert len(vars(search)["_blocks"]) == 2


def test_who_asks_until_all_are_counted_comes_to_an_end_where_the_index_has_no_room_for_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "_BLOCKS", 2)
    search, edges = AuditSearch(folder, time.monotonic), [0, 1 << 50]
    first = search.counted(Wanted(), edges)
    assert (first.whole, first.more) == (False, True)
    _filled(search, folder)
    then = search.counted(Wanted(), edges, first.newest)
    assert (then.whole, then.more) == (False, False)
    assert sum(map(sum, then.counts.values())) > sum(map(sum, first.counts.values()))
