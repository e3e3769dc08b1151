"""What one record is known by, as the index of a search knows it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.audit.search import AuditSearch
from gatewright.audit.search_facts import admits, facts_of, seq_of
from gatewright.audit.search_index import FACTS, Wanted, indexed
from gatewright.call import Caller, Failure, Refusal
from tests.audit.parts import ANSWER, Clock, a_call, a_log, a_tool, run


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Records of each kind, oldest first."""
    folder, clock = tmp_path_factory.mktemp("trail"), Clock()
    log = a_log(folder, clock=clock)
    for number in range(12):
        clock.now += 1.5
        facts = {"access": "server_grant"} if number % 2 else {}
        outcome = (ANSWER, Refusal("flow", "no", gate="flow"), Failure("timeout", "late"))[
            number % 3
        ]
        call = a_call(number, a_tool("safe"), caller=Caller(f"a{number % 4}", "agent"), facts=facts)
        run(log, call, outcome)
    asyncio.run(log.close())
    found = [*AuditReader(folder).lines(Query(newest_first=False))]
    every = Wanted()
    assert AuditSearch(folder, lambda: 0.0).search(every, oldest=True).lines == found
    return found


def test_one_record_is_admitted_as_the_members_say(lines: list[bytes]) -> None:
    for number, line in enumerate(lines):
        time, values = facts_of(line)
        known = dict(zip(FACTS, values, strict=True))
        record = msgspec.json.decode(line)
        assert (known["agent"], seq_of(line)) == (f"a{number % 4}", record["seq"])
        assert known["gate"] == ("flow" if number % 3 == 1 else None)
        facts = {name: value for name, value in known.items() if value is not None}
        assert admits(Wanted(facts=facts, since=time, until=time + 1), line)
        assert not admits(Wanted(since=time + 1), line)
        assert not admits(Wanted(until=time), line)
        for name in FACTS:
            assert not admits(Wanted(facts={name: "something else"}), line)


def test_a_long_value_is_admitted_as_it_is_and_as_the_index_shows_it(lines: list[bytes]) -> None:
    """A page links the latter; where one trace was asked for, nothing was found by it."""
    name = "n" * 3000
    line = lines[0].replace(b'"a0"', b'"%b"' % name.encode())
    for said in (name, indexed(name)):
        assert admits(Wanted(facts={"agent": said}), line)
    for other in (name[:-1], indexed(name + "n")):
        assert not admits(Wanted(facts={"agent": other}), line)


def test_the_rule_is_why_it_was_refused_and_else_what_let_it_in(lines: list[bytes]) -> None:
    rules = [facts_of(line)[1][FACTS.index("rule")] for line in lines[:6]]
    assert rules == [None, "flow", "timeout", "server_grant", "flow", "timeout"]
