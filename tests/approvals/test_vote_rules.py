"""Whose vote counts, and what several agree on."""

import pytest

from gatewright.approvals.request import Scope
from gatewright.approvals.vote_rules import agreed_on, is_own


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
