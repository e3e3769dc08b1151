"""Whose vote counts, and what several agree on."""

import pytest

from gatewright.approvals.request import Approval, CannotDecideError, Scope
from gatewright.approvals.vote_rules import agreed_on, check_yes, is_own


@pytest.mark.parametrize(
    ("votes", "agreed"),
    [
        ([("tool", 60.0)], ("tool", 60.0)),
        ([("tool", 60.0), ("arguments", 90.0)], ("arguments", 60.0)),
        ([("arguments", 90.0), ("tool", 60.0)], ("arguments", 60.0)),
        ([("tool", 60.0), ("once", 10.0), ("arguments", 90.0)], ("once", 10.0)),
        ([(None, None), ("tool", 60.0)], ("once", 10.0)),
    ],
)
def test_several_operators_agree_on_what_all_of_them_said_yes_to(
    votes: list[tuple[Scope | None, float]], agreed: tuple[Scope, float]
) -> None:
    """Not on what the last one did."""
    assert agreed_on(votes, 10.0) == agreed


def test_an_operators_host_and_a_server_are_somebody_else_of_the_same_name() -> None:
    kinds = ("operator", "agent", "owner", "server")
    assert [is_own(kind, "olga", "olga") for kind in kinds] == [True, True, False, False]
    assert not is_own("operator", "olga", "otto")


@pytest.mark.parametrize("by", ["Jos\u00e9", "Jose\u0301", "JOS\u00c9"])
def test_an_agent_and_an_operator_whose_names_read_alike_are_one(by: str) -> None:
    assert is_own("agent", "Jos\u00e9", by)
    assert not is_own("agent", "Jose", by)


@pytest.mark.parametrize(
    ("by", "scope", "edited", "seen", "said"),
    [
        ("olga", "once", "", "{}", ""),
        ("olga", "tool", "", None, ""),
        ("olga", "once", "", '{"a":1}', "changed since you saw them"),
        ("local:root", "once", "", "{}", "the yes of 2 operators"),
        ("olga", "tool", "{}", None, "approve them, not the tool with any arguments"),
    ],
)
def test_a_yes_is_to_what_was_seen_by_one_who_counts_and_for_what_it_can_be(
    by: str, scope: Scope, edited: str, seen: str | None, said: str
) -> None:
    one = Approval(
        "ann",
        "files",
        "wipe",
        id="ap_1",
        arguments="{}",
        risk="",
        reason="",
        quorum=2,
        requested=0.0,
        expires=60.0,
    )
    if not said:
        check_yes(one, by, scope=scope, edited=edited, seen=seen)
        return
    with pytest.raises(ValueError, match=said) as caught:
        check_yes(one, by, scope=scope, edited=edited, seen=seen)
    assert isinstance(caught.value, CannotDecideError) == (scope == "once")
