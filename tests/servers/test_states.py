"""The state machine of MGP §11.2 as a table, and what follows a shutdown."""

from __future__ import annotations

from typing import get_args

import pytest

from gatewright.servers.states import (
    AFTER,
    CAUSES,
    NO_MORE_RESTARTS,
    REASONS,
    STATES,
    TRANSITIONS,
    Policy,
    State,
    allowed,
    cause_of,
    way,
)

SEED = [
    ("registered", "connecting"),
    ("connecting", "connected"),
    ("connecting", "error"),
    ("connected", "draining"),
    ("draining", "disconnected"),
    ("draining", "restarting"),
    ("error", "restarting"),
    ("restarting", "connected"),
]
"""The arrows of MGP §11.2."""


def test_there_are_seven_states() -> None:
    """MGP-11.2-1"""
    assert tuple(STATES) == get_args(State)
    assert len(STATES) == 7


@pytest.mark.parametrize(("before", "after"), SEED)
def test_every_arrow_of_the_specification_is_in_the_table(before: State, after: State) -> None:
    """MGP-11.2-2 … 11.2-6"""
    assert allowed(before, after)


def test_each_transition_is_there_once_and_has_a_word() -> None:
    pairs = [(one.before, one.after) for one in TRANSITIONS]
    assert len(set(pairs)) == len(pairs)
    for one in TRANSITIONS:
        assert cause_of(one.before, one.after) == one.cause
        assert one.before != one.after
    assert {*REASONS, NO_MORE_RESTARTS} <= CAUSES


@pytest.mark.parametrize(
    ("before", "after"),
    [("draining", "connected"), ("registered", "connected"), ("error", "connected")],
)
def test_what_is_not_in_the_table_does_not_happen(before: State, after: State) -> None:
    assert not allowed(before, after)
    with pytest.raises(KeyError):
        cause_of(before, after)


def test_whatever_a_server_is_in_it_can_be_stopped() -> None:
    for state in STATES:
        assert state == "disconnected" or allowed(state, "disconnected")


def test_the_way_from_one_state_to_another_goes_through_the_table() -> None:
    """And is the shortest."""
    steps = way("connected", "restarting")
    assert [one.after for one in steps] in (
        ["draining", "restarting"],
        ["disconnected", "restarting"],
    )
    assert way("connected", "connected") == []
    assert way("connected", "registered") == []


def test_every_reason_and_policy_has_its_end() -> None:
    """MGP-11.4-2, MGP-11.2-6"""
    words = "operator_request configuration_change resource_limit idle_timeout kernel_shutdown"
    assert set(REASONS) == set(words.split())
    for reason in REASONS:
        assert set(AFTER[reason]) == set(get_args(Policy))
    assert AFTER["configuration_change"]["always"] == "restart"
    assert set(AFTER["operator_request"].values()) == {"stays"}
    assert set(AFTER["idle_timeout"].values()) == {"call"}
