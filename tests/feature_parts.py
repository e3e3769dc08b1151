"""The ground on which a feature is made, in a folder, for tests."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatewright.audit.sinks import SinkPositions
from gatewright.config import Settings, load
from gatewright.feature import Ground
from gatewright.identity.caller_names import Names
from gatewright.identity.keys import KeyStore
from gatewright.in_force import InForce
from gatewright.listeners import Signal
from gatewright.transport.workers import Workers
from tests.storage.parts import state_in

__all__ = ["Record", "ground", "settings"]


class Record:
    """A record that is kept nowhere."""

    def __init__(self) -> None:
        self.heard = Signal[bytes]()
        self.turns = Signal[Sequence[bytes]]()

    def event(self, *what: object, **more: object) -> int:
        return 0


def settings(folder: Path, text: str = "") -> Settings:
    """What a configuration of this text says."""
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def ground(folder: Path, text: str = "", **more: Any) -> Ground:
    """All that is there before any tool server."""
    said, state = settings(folder, text), state_in(folder)
    callers = KeyStore(state, clock=time.time, random=os.urandom)
    parts: dict[str, Any] = {
        "settings": said,
        "now": InForce(said),
        "database": state,
        "audit": Record(),
        "positions": SinkPositions(folder, ()),
        "callers": callers,
        "workers": Workers("unused"),
        "random": os.urandom,
        "who": Names(callers, {}).who,
        "listeners": [],
        "redeemed": Signal(),
        "strained": Signal(),
    }
    return Ground(**parts | more)
