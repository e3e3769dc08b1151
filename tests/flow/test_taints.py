"""What a session has read: by holder, with an expiry, and bounded."""

from __future__ import annotations

import pytest

import gatewright.flow.taints
from gatewright.flow.taints import Taints

ONE, OTHER = ("agent", "ann", "s1"), ("agent", "ann", "s2")


class Clock:
    """Seconds that only the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_holder_has_read_what_it_has_read_and_the_last_tool_counts() -> None:
    taints = Taints(Clock())
    taints.add(ONE, ["untrusted"], "web")
    taints.add(ONE, ["untrusted", "private"], "mail")
    assert taints.of(ONE, 60) == {"untrusted": "mail", "private": "mail"}
    assert taints.of(OTHER, 60) == {}


def test_what_was_read_counts_for_its_time_and_each_mark_for_its_own() -> None:
    clock = Clock()
    taints = Taints(clock)
    taints.add(ONE, ["untrusted"], "web")
    clock.now += 50
    taints.add(ONE, ["private"], "files")
    clock.now += 9
    assert set(taints.of(ONE, 60)) == {"untrusted", "private"}
    clock.now += 1
    assert taints.of(ONE, 60) == {"private": "files"}
    clock.now += 50
    assert taints.of(ONE, 60) == {}
    assert taints._held == {}


def test_of_too_many_holders_the_one_that_read_least_recently_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.flow.taints, "KEPT", 3)
    taints = Taints(Clock())
    for name in ("a", "b", "c", "a", "d"):
        taints.add(("agent", name, ""), ["private"], "files")
    assert {name for _, name in taints._held} == {"c", "a", "d"}


def test_many_sessions_of_one_caller_wash_nothing_out_that_another_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.flow.taints, "KEPT", 5)
    taints = Taints(Clock())
    taints.add(OTHER, ["untrusted"], "web")
    taints.add(("agent", "ben", "s1"), ["private"], "files")
    for number in range(20):
        taints.add(("agent", "mal", f"s{number}"), ["private"], "files")
    assert taints.of(OTHER, 60) == {"untrusted": "web"}
    assert taints.of(("agent", "ben", "s1"), 60) == {"private": "files"}
    held = [number for number in range(20) if taints.of(("agent", "mal", f"s{number}"), 60)]
    assert held == [17, 18, 19]
    assert taints.of(OTHER, 0) == {}
    assert taints._count == 4
    assert taints.of(("agent", "nobody", ""), 60) == {}
