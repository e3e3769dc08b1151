"""Changes wait for the audit trail, are numbered by the steps of their section, and cost nothing where there are none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from gatewright.storage.changes import Changes, drop
from gatewright.storage.state import StateDatabase
from tests.storage.parts import state_in
from tests.storage.test_state import statements


def opened(state: StateDatabase) -> Changes:
    return Changes(
        state.section("permissions", "the permissions"), "permission_changes", ("action", "word")
    )


def add(changes: Changes, action: str) -> None:
    with changes._section.changing():
        changes.add(action, "{}")


def test_changes_wait_until_they_are_recorded_and_their_numbers_are_never_given_again(
    tmp_path: Path,
) -> None:
    state = state_in(tmp_path)
    changes = opened(state)
    add(changes, "granted")
    add(changes, "denied")
    assert changes.waiting() == [(1, "granted", "{}"), (2, "denied", "{}")]
    changes.recorded(2)
    assert changes.waiting() == []
    assert len(opened(state_in(tmp_path)).waiting()) == 2  # until their records are on the disk
    assert state.told() == {"permission_changes": (1, 2)}
    with closing(state_in(tmp_path)) as other, other.engine.transaction():
        assert not drop(tmp_path, state.told())
    told = state.told()
    assert drop(tmp_path, told)
    state.dropped(told)
    assert state.told() == {}
    add(changes, "expired")
    assert changes.waiting() == [(3, "expired", "{}")]
    assert opened(state_in(tmp_path)).waiting() == [(3, "expired", "{}")]


def test_to_ask_again_is_no_statement_until_something_has_changed(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    changes = opened(here)
    assert changes.waiting() == []
    asked = statements(here)
    assert changes.waiting() == []
    assert asked == []
    add(opened(there), "denied")
    here.look()
    assert changes.waiting() == [(1, "denied", "{}")]


def test_a_change_that_was_taken_back_leaves_no_row(tmp_path: Path) -> None:
    changes = opened(state_in(tmp_path))

    def half() -> None:
        with changes._section.changing():
            changes.add("denied", "{}")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert changes.waiting() == []


def test_what_the_record_has_takes_no_place_from_what_it_does_not_have(tmp_path: Path) -> None:
    changes = opened(state_in(tmp_path))
    for number in range(6):
        add(changes, str(number))
    assert len(changes.waiting(4)) == 4
    changes.recorded_each([1, 2, 4])
    assert [row[0] for row in changes.waiting(2)] == [3, 5]
    changes.recorded(5)
    assert [row[0] for row in changes.waiting(4)] == [6]


def test_rows_of_a_state_that_is_gone_are_left_for_later_and_nothing_is_made(
    tmp_path: Path,
) -> None:
    assert not drop(tmp_path, {"permission_changes": (1,)})
    assert list(tmp_path.iterdir()) == []
