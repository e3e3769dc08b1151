"""A state is refused where it is behind its record, in words that say what is wrong and what to do."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.audit.anchors import ANCHORED, Anchor, anchors_of, found_in
from gatewright.audit.state_check import check_of, inconsistencies
from gatewright.audit.trail import AuditLog
from gatewright.storage.errors import StoreDamagedError
from gatewright.storage.opening import view_state
from tests.storage.parts import state_in


def recorded(folder: Path, steps: int) -> None:
    """The record says that so many keys were changed."""
    with closing(state_in(folder)) as state:
        mark = state.heads()["keys"].mark
    log = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    log.event(ANCHORED, details={"stores": {"keys": {"mark": mark, "steps": steps}}})
    log.finish()


def test_a_state_that_lacks_steps_is_refused_and_one_that_has_them_is_not(tmp_path: Path) -> None:
    with closing(view_state(tmp_path)) as nothing:
        check_of(tmp_path)(nothing)
    recorded(tmp_path, 0)
    with closing(view_state(tmp_path)) as found:
        check_of(tmp_path)(found)
    recorded(tmp_path, 2)
    with closing(view_state(tmp_path)) as found:
        with pytest.raises(StoreDamagedError, match=r"has 0 changes, .* knows 2.*audit accept"):
            check_of(tmp_path)(found)
        known = anchors_of(tmp_path)
        assert set(known) == {"keys"}
        assert len(inconsistencies(tmp_path, known, found_in(found), None)) == 1
        same = {"keys": Anchor(known["keys"].mark, 0)}
        assert inconsistencies(tmp_path, same, found_in(found), None) == []


def test_a_record_that_is_gone_is_refused(tmp_path: Path) -> None:
    recorded(tmp_path, 0)
    for path in tmp_path.glob("audit*"):
        path.unlink()
    with (
        closing(view_state(tmp_path)) as found,
        pytest.raises(StoreDamagedError, match=r"a gateway has run here.*audit accept"),
    ):
        check_of(tmp_path)(found)
