"""Steps of the pins go into the audit trail once, in order, each with who took it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.pins.recording import write_down
from gatewright.pins.store import Pins, Seen
from tests.pins.test_pinning import Trail
from tests.storage.parts import state_in


def test_each_step_is_written_down_once_and_again_where_that_failed(tmp_path: Path) -> None:
    store, trail = Pins(state_in(tmp_path), clock=lambda: 1.0), Trail()
    store.judge("srv", [Seen("wipe", "{}", "d")], ask_first=True)
    store.accept("srv", "wipe", digest="d", by="olga")

    def fails(*_: Any, **__: Any) -> int:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write_down(store, fails)
    for _ in range(2):
        write_down(store, trail)
    assert trail.steps == [("held", "wipe", "gatewright"), ("accepted", "wipe", "olga")]
    store.close()
