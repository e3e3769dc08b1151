"""Keys made by another process count at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gatewright.call import Caller
from gatewright.identity.key_lookup import FreshKeys
from gatewright.identity.keys import Callers
from tests.storage.parts import state_in


def test_a_key_made_elsewhere_counts_at_once_and_a_guess_never_does(tmp_path: Path) -> None:
    here = Callers(state_in(tmp_path), clock=time.time, random=os.urandom)
    there = Callers(state_in(tmp_path), clock=time.time, random=os.urandom)
    try:
        keys = FreshKeys(here)
        assert keys.verify("gw_guess") == "unknown"
        key, secret = there.create("ada", by="test")
        assert keys.verify(secret) == Caller("ada", "agent", key.id)
        assert keys.verify(secret + "x") == "unknown"
    finally:
        here.close()
        there.close()
