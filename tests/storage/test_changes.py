"""Changes wait for the audit trail, are numbered by the steps of their section, and cost nothing where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.storage.changes import Changes
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
    changes = opened(state_in(tmp_path))
    add(changes, "granted")
    add(changes, "denied")
    assert changes.waiting() == [(1, "granted", "{}"), (2, "denied", "{}")]
    changes.recorded(2)
    assert changes.waiting() == []
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
