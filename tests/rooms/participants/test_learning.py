"""What is suggested after people have decided the same for a while, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.payload import Operation
from gatewright.rooms.participants.learning import ENOUGH, EXPIRES_S, Learning
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.rules import Rule, RuleBook


def _proposal(number: int, params: dict[str, Any], proposer: str = "eve") -> Proposal:
    return Proposal(f"p{number}", proposer, Operation("tools/call", params), "worker", 0.0, 300.0)


def _write(path: str, **more: Any) -> dict[str, Any]:
    return {"name": "write_file", "arguments": {"path": path, **more}}


def _taught(many: list[dict[str, Any]], action: Any = "approve") -> tuple[Learning, Rule | None]:
    learning, found = Learning(topic="t"), None
    for number, params in enumerate(many):
        found = (
            learning.note(_proposal(number, params), action, f"ada{number % 2}", float(number))
            or found
        )
    return learning, found


def test_after_enough_like_decisions_a_rule_is_suggested_with_its_evidence() -> None:
    """MCPX-9.4-2."""
    _, rule = _taught([_write(f"/srv/reports/{n}.txt", mode="new") for n in range(ENOUGH)])
    assert rule == Rule(
        "suggestion-1",
        "approve",
        "mcp/request:tools/call:write_file",
        "",
        proposer="eve",
        target="worker",
        topic="t",
        where={
            "name": "write_file",
            "arguments.path": "/srv/reports/*",
            "arguments.mode": "new",
        },
        exact=True,
        expires_at=4.0 + EXPIRES_S,
        evidence={
            "decisions": 5,
            "by": ["ada0", "ada1"],
            "first": 0.0,
            "last": 4.0,
            "proposals": ["p0", "p1", "p2", "p3", "p4"],
        },
    )


@pytest.mark.parametrize(
    "many",
    [
        [_write(f"/srv/{n}") for n in range(ENOUGH - 1)],
        [_write(f"{n}/srv") for n in range(ENOUGH)],
        [_write("/srv/x", **({"mode": "x"} if n else {})) for n in range(ENOUGH)],
        [_write("/srv/*") for _ in range(ENOUGH)],
        [_write("/a") if n % 2 else _write("/b") for n in range(ENOUGH)],
    ],
    ids=["too-few", "nothing-in-common", "other-members", "a-star", "a-separator-alone"],
)
def test_nothing_is_suggested_where_too_little_is_in_common(many: list[dict[str, Any]]) -> None:
    learning, rule = _taught(many)
    assert (rule, learning.suggestions) == (None, {})


def test_people_who_do_not_agree_take_a_suggestion_back() -> None:
    many = [_write("/srv/x")] * ENOUGH
    learning, rule = _taught(many)
    assert rule is not None
    learning.note(_proposal(9, many[0]), "reject", "bob", 9.0)
    assert learning.suggestions == {}
    assert learning.note(_proposal(10, many[0]), "approve", "ada", 10.0) is None


def test_rejections_teach_as_well_and_need_less_in_common() -> None:
    _, rule = _taught([_write(f"{n}/x") for n in range(ENOUGH)], "reject")
    assert rule is not None
    assert (rule.action, rule.where, rule.exact) == ("reject", {}, False)


def test_a_suggestion_is_made_once_and_again_after_it_was_dismissed() -> None:
    many = [_write("/srv/x")] * ENOUGH
    learning, rule = _taught(many * 2)
    assert rule is not None
    assert list(learning.suggestions) == ["suggestion-1"]
    learning.dismiss("suggestion-1")
    again = [learning.note(_proposal(n, many[0]), "approve", "ada", 1.0) for n in range(ENOUGH)]
    assert [one.id if one else None for one in again] == [None] * 4 + ["suggestion-2"]
    assert learning.take("suggestion-2", "bob").by == "bob"
    with pytest.raises(KeyError):
        learning.take("suggestion-2", "bob")


def test_proposals_of_others_on_other_things_are_not_alike() -> None:
    learning = Learning(topic="t")
    for number in range(ENOUGH):
        one = _proposal(number, _write("/srv/x"), proposer=f"eve{number}")
        assert learning.note(one, "approve", "ada", 0.0) is None


VALUES = st.lists(
    st.sampled_from(["/srv/a/1", "/srv/a/2", "/srv/b", "x y", "x z", "-1", "/"]),
    min_size=5,
    max_size=5,
)


@given(VALUES, st.text(max_size=12))
def test_a_suggested_rule_covers_all_that_was_seen_and_nothing_of_another_shape(
    seen: list[str], other: str
) -> None:
    _, rule = _taught([_write(one) for one in seen])
    if rule is None:
        return
    book = RuleBook()
    book.add(Rule(**{name: getattr(rule, name) for name in rule.__struct_fields__} | {"by": "ada"}))
    for one in seen:
        assert book.judge(_proposal(0, _write(one)), "t", 9.0).action == "approve"
    assert book.judge(_proposal(0, _write(seen[0], more=other)), "t", 9.0).action == "ask"
    assert book.judge(_proposal(0, _write(seen[0]), proposer="mal"), "t", 9.0).action == "ask"


def test_one_proposal_counts_once_however_often_it_is_spoken_of() -> None:
    """MCPX-9.4-2: the evidence is that many decisions, not that many messages."""
    learning = Learning(topic="t")
    for number in range(ENOUGH - 1):
        for _ in range(3):
            assert learning.note(_proposal(number, _write("/srv/x")), "approve", "ada", 0.0) is None
    rule = learning.note(_proposal(9, _write("/srv/x")), "approve", "ada", 0.0)
    assert rule is not None
    assert rule.evidence["decisions"] == ENOUGH


def test_a_list_has_no_beginning_that_the_rest_could_follow_at_will() -> None:
    """MCPX-9.4-2: who approved `git -C /srv/N` approved no other arguments behind it."""
    for more in ([["git", "-C", f"/srv/{n}"] for n in range(ENOUGH)], [n + 1.5 for n in range(9)]):
        _, rule = _taught([{"name": "run", "arguments": {"argv": one}} for one in more])
        assert rule is None


def test_approvals_of_what_was_put_to_nobody_in_particular_suggest_nothing() -> None:
    """A rule for any target would cover targets that nobody has seen."""
    learning = Learning(topic="t")
    for number in range(ENOUGH):
        one = _proposal(number, _write("/srv/x"))
        one.target = None
        assert learning.note(one, "approve", "ada", 0.0) is None
    assert learning.suggestions == {}


def test_texts_that_begin_alike_at_length_make_no_pattern() -> None:
    long = "a/" * 200_000
    _, rule = _taught([_write(f"{long}{n}") for n in range(ENOUGH)])
    assert rule is None
    _, short = _taught([_write(f"/srv/{'a' * 100}/{n}{long}") for n in range(ENOUGH)])
    assert short is not None
    assert short.where["arguments.path"] == f"/srv/{'a' * 100}/*"
