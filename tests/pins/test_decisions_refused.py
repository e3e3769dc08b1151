"""Tools that are held back, as whoever answers for them sees them: which nobody decided on, and what somebody wants to stay held back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from gatewright.pins import store
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Pins, Seen
from tests.storage.parts import state_in


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Pins]:
    made = Pins(state_in(tmp_path), clock=lambda: 100.0)
    yield made
    made.close()


def decided_by(pins: Pins) -> Decisions:
    return Decisions(pins, lambda *_: pins.decided())


def seen(says: str, tool: str = "wipe") -> Seen:
    return Seen(tool, f'{{"description":"{says}"}}', f"digest of {says}")


def test_what_is_refused_stays_held_and_waits_for_nobody_until_it_changes_again(pins: Pins) -> None:
    """Who refused, and why, is in the record."""
    decisions = decided_by(pins)
    pins.judge("files", [seen("one")], ask_first=False)
    pins.judge("files", [seen("two")], ask_first=False)
    (held,) = decisions.undecided(9)
    pins.changed()
    said = decisions.refuse("files", "wipe", digest=held.digest, by="olga", why="no such flag")
    assert (said.standing, said.by) == ("changed", "olga")
    assert pins.changed()
    assert (decisions.undecided(9), decisions.undecided_count()) == ([], 0)
    last = pins.changes()[-1]
    assert (last.action, last.by, last.why) == ("refused", "olga", "no such flag")
    assert pins.judge("files", [seen("two")], ask_first=False) == {"wipe": "changed"}
    assert decisions.undecided_count() == 0
    pins.judge("files", [seen("three")], ask_first=False)
    assert [one.digest for one in decisions.undecided(9)] == ["digest of three"]


def test_only_what_was_looked_at_and_is_held_can_be_refused(pins: Pins) -> None:
    decisions = decided_by(pins)
    pins.judge("files", [seen("one")], ask_first=True)
    with pytest.raises(KeyError):
        decisions.refuse("files", "none", digest="digest of one", by="olga", why="")
    with pytest.raises(ValueError, match="changed again"):
        decisions.refuse("files", "wipe", digest="digest of two", by="olga", why="")
    decisions.accept("files", "wipe", digest="digest of one", by="ana")
    with pytest.raises(ValueError, match="accepted already, by ana"):
        decisions.refuse("files", "wipe", digest="digest of one", by="olga", why="")


def test_what_is_restored_was_refused_by_nobody(pins: Pins) -> None:
    """A word about another definition says nothing about this one."""
    decisions = decided_by(pins)
    pins.judge("files", [seen("one")], ask_first=False)
    pins.judge("files", [seen("two")], ask_first=False)
    decisions.refuse("files", "wipe", digest="digest of two", by="olga", why="")
    assert pins.judge("files", [seen("one")], ask_first=False) == {"wipe": "pinned"}
    assert [one.by for one in pins.of("files")] == [""]


def test_the_longest_held_stand_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    now = [100.0]
    pins = Pins(state_in(tmp_path), clock=lambda: now[0])
    for name in "cab":
        now[0] += 1
        pins.judge(f"srv-{name}", [seen("one", name)], ask_first=True)
    assert [one.tool for one in decided_by(pins).undecided(2)] == ["c", "a"]
    assert decided_by(pins).undecided_count() == 3
    pins.close()


def test_lists_have_no_definitions_of_servers(tmp_path: Path) -> None:
    """Those of one server may have megabytes, and a list is read on the loop."""
    pins = Pins(state_in(tmp_path), clock=lambda: 1.0)
    pins.judge("files", [seen("one", "a"), seen("two", "b")], ask_first=True)
    decisions = decided_by(pins)
    for one in (*decisions.undecided(9), *decisions.heads("files", ["a", "b"]).values()):
        assert (one.pinned, one.seen, one.standing, bool(one.digest)) == ("", "", "new", True)
    assert set(decisions.heads("files", ["b", "x"])) == {"b"}
    assert decisions.some("files", ["a"])["a"].seen
    pins.close()


def test_what_waits_is_found_without_looking_at_all_others(tmp_path: Path) -> None:
    """Every page of the console asks, on the loop, how many there are."""
    state = state_in(tmp_path)
    pins = Pins(state, clock=lambda: 1.0)
    wanted = f"SELECT count(*) FROM pins WHERE {store._UNDECIDED}"  # noqa: S608 - a constant
    (step,) = state.engine.execute(f"EXPLAIN QUERY PLAN {wanted}").fetchall()
    assert "SEARCH pins USING COVERING INDEX pins_standing" in str(step)
    kinds = set(get_args(store.Standing)) - {"pinned", "crowded"}
    assert all(f"'{one}'" in store._UNDECIDED for one in kinds)
    pins.close()
