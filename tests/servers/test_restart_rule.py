"""Restarts are counted in a window, and pauses between them grow to their limit."""

from __future__ import annotations

from math import inf

import pytest

from gatewright.servers.restart_rule import STABLE_S, RestartCounter
from gatewright.servers.spec import Restart


def test_the_defaults_are_those_of_the_specification() -> None:
    """MGP-11.5-4"""
    rule = Restart()
    assert (rule.policy, rule.max, rule.window_s) == ("on_failure", 5, 300.0)
    assert (rule.first_s, rule.most_s) == (1.0, 30.0)


def test_the_pauses_double_from_the_base_to_the_most() -> None:
    """MGP-11.5-5: the first restart is made at once."""
    counter, found = RestartCounter(), []
    for number in range(9):
        counter.ended(float(number), float(number))
        found.append(counter.pause_s(Restart()))
    assert found == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_connection_that_lasted_begins_anew() -> None:
    counter = RestartCounter()
    for _ in range(5):
        counter.ended(0.0, 0.0)
    counter.ended(0.0, STABLE_S + 0.1)
    assert counter.pause_s(Restart()) == 0.0


def test_no_number_of_failures_overflows_the_pause() -> None:
    counter = RestartCounter()
    counter.quick = 5000
    assert counter.pause_s(Restart()) == 30.0


def test_more_than_the_most_within_the_window_is_too_much() -> None:
    """MGP-11.5-6"""
    counter, rule = RestartCounter(), Restart(max=2, window_s=10.0)
    assert counter.room_at(rule) == inf
    for at in (0.0, 4.0):
        assert not counter.exhausted(rule, at)
        counter.made(at)
    assert counter.exhausted(rule, 5.0)
    assert counter.room_at(rule) == 10.0
    assert not counter.exhausted(rule, 10.1)
    assert counter.room_at(rule) == pytest.approx(14.0)


def test_a_rule_without_restarts_is_exhausted_from_the_start() -> None:
    assert RestartCounter().exhausted(Restart(max=0), 0.0)
