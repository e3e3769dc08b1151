"""`doctor` says which store is behind the record before a gateway refuses to start on it."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

from gatewright.audit.anchoring import Anchoring
from gatewright.audit.doctor import check_anchors
from gatewright.audit.trail import AuditLog
from gatewright.identity.keys import KeyStore
from tests.storage.parts import state_in


def test_a_store_behind_the_record_is_a_problem_with_its_fix(tmp_path: Path) -> None:
    assert list(check_anchors(tmp_path / "nowhere")) == []
    assert list(check_anchors(tmp_path)) == []
    log = AuditLog(tmp_path, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    anchoring = Anchoring(tmp_path, log, state_in(tmp_path))
    with closing(state_in(tmp_path)) as state:
        KeyStore(state, clock=time.time, random=os.urandom).create("ann", by="ops")
    anchoring.close()
    log.finish()
    assert list(check_anchors(tmp_path)) == []
    (tmp_path / "state.db").unlink()
    (found,) = check_anchors(tmp_path)
    assert (found.level, found.what) == (
        "problem",
        "state.db is gone: the record knows 1 change of keys",
    )
    assert "gatewright audit accept" in found.fix
    for path in tmp_path.glob("audit*"):
        path.unlink()
    (found,) = check_anchors(tmp_path)
    assert found.what == "the record is gone, though a gateway has run here"
