"""What is said of the state depends on what the record knows of it, and on nothing that happened since.

Each section, lost or put back in each way: `tests/audit/test_anchoring.py`. Former versions' records and files: `test_anchors_former.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.audit.anchors import (
    ANCHORED,
    STORES,
    Anchor,
    Found,
    Heads,
    anchors_of,
    behind,
    lost_trail,
    spelled,
)
from gatewright.storage.errors import StoreError
from tests.audit.parts import a_log

ANCHORS = st.builds(Anchor, st.integers(0, 3), st.integers(0, 4))
SOME = st.dictionaries(st.sampled_from(STORES), ANCHORS)


@given(SOME, SOME, st.sets(st.sampled_from(STORES)))
def test_a_section_is_behind_unless_it_is_the_same_one_with_as_many_steps(
    known: dict[str, Anchor], now: dict[str, Anchor], unreadable: set[str]
) -> None:
    now = {name: one for name, one in now.items() if name not in unreadable}
    found = Found(now, {name: name for name in now}, {name: f"{name} why" for name in unreadable})
    said = behind(known, found)
    expected = []
    for name, one in known.items():
        head = now.get(name)
        fine = head is not None and head.mark == one.mark and head.steps >= one.steps
        lost_nothing = head is None and not one.steps and name not in unreadable
        if not (fine or lost_nothing):
            expected.append(name)
    if now or unreadable:
        assert len(said) == len(expected)
    else:
        assert len(said) == bool(expected)
        assert all(f"of {name}" in said[0] for name in expected)


def test_a_state_that_cannot_be_read_is_behind_whatever_the_record_knows() -> None:
    found = Found({}, {}, {"": "state.db cannot be used"})
    assert behind({"keys": Anchor(1, 0)}, found) == ["state.db cannot be used"]
    assert behind({}, found) == []


def test_an_empty_folder_has_no_state_and_misses_nothing(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    assert heads.found() == Found({}, {}, {})
    assert heads.place() is None
    assert not heads.moved()
    heads.close()
    assert lost_trail(tmp_path) == ""
    assert lost_trail(tmp_path / "nowhere") == ""


def test_what_is_spelled_in_a_record_is_read_from_it(tmp_path: Path) -> None:
    known = {"keys": Anchor(7, 3), "pins": Anchor(8, 0)}
    log = a_log(tmp_path)
    log.event(ANCHORED, details={"stores": spelled(known)})
    log.finish()
    assert anchors_of(tmp_path) == known


@pytest.mark.parametrize("stores", [7, {"keys": 7}, {"keys": {"mark": 1}}])
def test_what_a_record_says_of_the_state_in_other_words_lets_nothing_start(
    tmp_path: Path, stores: Any
) -> None:
    log = a_log(tmp_path)
    log.event(ANCHORED, details={"stores": stores})
    log.finish()
    for _ in range(2):  # the folder is free again
        with pytest.raises(StoreError, match="what record 1 says of the state cannot be read"):
            a_log(tmp_path)
