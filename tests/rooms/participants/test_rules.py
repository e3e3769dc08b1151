"""Which rule is for which proposal, and which of several counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.payload import Operation
from gatewright.rooms.participants import rules as rules_module
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.rules import Rule, RuleBook, Verdict, members
from tests.rooms.participants.bus import call

WRITE = "mcp/request:tools/call:write_file"


def proposal(name: str = "write_file", *, proposer: str = "eve", **arguments: Any) -> Proposal:
    """A proposal of a tool call, put to the worker."""
    operation = Operation("tools/call", call(name, **arguments))
    return Proposal("p", proposer, operation, "worker", 0.0, 300.0)


def rule(action: Any = "approve", pattern: str = WRITE, **more: Any) -> Rule:
    """A rule that Ada accepted."""
    return Rule("", action, pattern, "ada", **more)


def judged(
    *rules: Rule, asked: Proposal | None = None, topic: str = "t", now: float = 0.0
) -> Verdict:
    """What becomes of a proposal under these rules."""
    book = RuleBook()
    for one in rules:
        book.add(one)
    return book.judge(asked or proposal(), topic, now)


def test_without_a_rule_a_person_is_asked() -> None:
    """MCPX-9.4-2."""
    assert judged() == Verdict("ask", None, "no rule is for it")
    assert judged(rule(pattern="mcp/request:tools/call:other")).action == "ask"


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ({}, True),
        ({"proposer": "eve", "target": "worker", "topic": "t"}, True),
        ({"proposer": "bob"}, False),
        ({"target": "other"}, False),
        ({"topic": "u"}, False),
        ({"expires_at": 10.0}, True),
        ({"expires_at": 5.0}, False),
        ({"pattern": "mcp/request:tools/call:*"}, True),
        ({"pattern": "mcp/request:tools/list"}, False),
        ({"where": {"arguments.path": "/srv/reports/*"}}, True),
        ({"where": {"arguments.path": "/etc/*"}}, False),
        ({"where": {"arguments.mode": "x"}}, False),
        ({"where": {"arguments.path": "/srv/reports/*"}, "exact": True}, False),
        (
            {
                "where": {"name": "write_file", "arguments.path": "/srv/*", "arguments.n": "3"},
                "exact": True,
            },
            True,
        ),
    ],
)
def test_a_rule_is_for_what_it_says_and_for_nothing_else(more: dict[str, Any], fits: bool) -> None:
    """MCPX-9.4-2: pattern, proposer, target, topic, expiry, and what the params say."""
    asked = proposal(path="/srv/reports/a.txt", n=3)
    assert (judged(rule(**more), asked=asked, now=6.0).action == "approve") == fits


@pytest.mark.parametrize("path", ["/srv/../etc/x", "/srv\0/x", ["/srv/x"], {"a": "/srv/x"}, 5])
def test_what_could_lead_elsewhere_fits_no_star(path: Any) -> None:
    where = {"arguments.path": "/srv*"}
    assert judged(rule(where=where), asked=proposal(path=path)).action == "ask"


def test_the_most_careful_of_several_rules_counts() -> None:
    approve, ask, reject = rule(), rule("ask"), rule("reject")
    assert judged(approve, ask, reject) == Verdict("reject", "rule-3")
    assert judged(approve, ask) == Verdict("ask", "rule-2")
    assert judged(reject, approve) == Verdict("reject", "rule-1")


def test_who_is_stopped_is_rejected_until_resumed() -> None:
    """The kill switch of a participant stands above every rule."""
    book = RuleBook()
    book.add(rule())
    book.stop("eve", "odd behaviour")
    assert book.judge(proposal(), "t", 0.0) == Verdict(
        "reject", None, "eve is stopped: odd behaviour"
    )
    assert book.judge(proposal(proposer="bob"), "t", 0.0).action == "approve"
    assert book.resume("eve")
    assert not book.resume("eve")
    assert book.judge(proposal(), "t", 0.0).action == "approve"


def test_a_rule_that_decides_too_often_in_an_hour_asks() -> None:
    book = RuleBook()
    added = book.add(rule(per_hour=2))
    for now in (0.0, 10.0):
        assert book.judge(proposal(), "t", now).action == "approve"
        book.note(added.id, now)
    assert book.judge(proposal(), "t", 20.0).action == "ask"
    assert book.judge(proposal(), "t", 3601.0).action == "approve"


def test_a_book_is_read_back_as_it_was_and_ids_are_never_used_again() -> None:
    book = RuleBook()
    first = book.add(rule(where={"arguments.path": "/a/*"}, evidence={"decisions": 5}))
    book.stop("eve", "why")
    book.revoke(first.id)
    again = RuleBook(book.text)
    assert (again.rules, again.stopped) == ((), {"eve": "why"})
    assert again.add(rule()).id == "rule-2"
    with pytest.raises(KeyError):
        again.revoke("rule-1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[]", "no book of rules"),
        (b'{"rules":[{"id":"r","action":"approve","pattern":"*","by":"a"}]}', "rule r: a bare"),
        (b'{"rules":[{"id":"r","action":"grant","pattern":"x","by":"a"}]}', "no book of rules"),
        (b'{"rules":[{"id":"r","action":"ask","pattern":"chat","by":"a"}]}', "begins with"),
        (b'{"rules":[{"id":"r","action":"ask","pattern":"mcp/request:*","by":""}]}', "accepted it"),
    ],
)
def test_a_broken_book_is_refused_and_says_where(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RuleBook(text)


def test_no_two_members_have_one_path_and_no_two_values_one_text() -> None:
    assert members({"a.b": 1, "a": {"b": 2}}) == {"a\\.b": "1", "a.b": "2"}
    assert members({"a": "1", "b": 1, "c": "x", "d": {}}) == {
        "a": '"1"',
        "b": "1",
        "c": "x",
        "d": "{}",
    }


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.dictionaries(st.text(max_size=4), inner, max_size=3) | st.lists(inner, max_size=2)
    ),
    max_leaves=8,
)
PARAMS = st.dictionaries(st.text(max_size=4), NESTED, max_size=4)


@given(PARAMS, PARAMS)
def test_params_that_differ_have_different_members(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    def plain(value: Any) -> str:
        return (
            repr(value)
            if not isinstance(value, dict)
            else repr(sorted((k, plain(v)) for k, v in value.items()))
        )

    assert (members(one) == members(other)) == (plain(one) == plain(other))


def test_the_params_of_a_proposal_are_read_once_for_all_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    def noted(params: Any) -> dict[str, str]:
        read.append(1)
        return members(params)

    monkeypatch.setattr(rules_module, "members", noted)
    some = [rule(where={"arguments.path": f"/srv/{one}"}) for one in range(50)]
    assert judged(*some, rule(exact=True), asked=proposal(path="/srv/7")).rule == "rule-8"
    assert len(read) == 1


def test_what_a_rule_has_decided_more_than_an_hour_ago_is_forgotten() -> None:
    book = RuleBook()
    added = book.add(rule(per_hour=2))
    for second in range(5000):
        book.note(added.id, float(second))
    assert book.judge(proposal(), "t", 5000.0).reason == "rule-1 has decided 3599 times in an hour"
    assert len(book._used[added.id]) == 3599
