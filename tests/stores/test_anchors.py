"""What is said of a store depends on what the record knows of it, and on nothing that happened since.

Each real store, lost or put back in each way: `tests/compose/test_anchoring.py`.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gatewright.stores.anchors import STORES, Anchor, Heads, behind, bereft

ANCHORS = st.builds(Anchor, st.integers(0, 3), st.integers(0, 4))
SOME = st.dictionaries(st.sampled_from(STORES), ANCHORS)


@given(SOME, SOME, st.sets(st.sampled_from(STORES)))
def test_a_store_is_behind_unless_it_is_the_same_file_with_as_many_steps(
    known: dict[str, Anchor], now: dict[str, Anchor], unreadable: set[str]
) -> None:
    now = {name: one for name, one in now.items() if name not in unreadable}
    said = behind(known, now, dict.fromkeys(unreadable, "why"))
    expected = []
    for name, one in known.items():
        found = now.get(name)
        fine = found is not None and found.mark == one.mark and found.steps >= one.steps
        lost_nothing = found is None and not one.steps and name not in unreadable
        if not (fine or lost_nothing):
            expected.append(name)
    assert [one.split()[0] for one in said] == expected


def test_an_empty_folder_has_no_stores_and_misses_nothing(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    assert heads.found() == ({}, {})
    assert heads.moved() == []
    heads.close()
    assert bereft(tmp_path) == ""
    assert bereft(tmp_path / "nowhere") == ""
