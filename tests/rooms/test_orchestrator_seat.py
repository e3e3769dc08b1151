"""The orchestrator's rules on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.config.rooms import RoomOrchestratorTable
from gatewright.rooms.orchestrator_seat import RULES, orchestrator_in
from gatewright.storage.errors import StoreError

TABLE = RoomOrchestratorTable(topics=("a/b",), people=("ana",))
NOBODY: Any = None


def test_rules_that_cannot_be_read_are_said_so_and_never_ignored(tmp_path: Path) -> None:
    """Without its rules an orchestrator would ask where it had to reject."""
    seat = orchestrator_in(NOBODY, TABLE, "a/b", NOBODY, tmp_path)
    assert seat.topic == "a/b"
    path = tmp_path / RULES / "a%2Fb.json"
    path.parent.mkdir()
    path.write_text("{broken")
    with pytest.raises(StoreError, match=r"a%2Fb\.json cannot be read: .*; mend the file"):
        orchestrator_in(NOBODY, TABLE, "a/b", NOBODY, tmp_path)
