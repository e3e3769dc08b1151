"""What an operator decides in the process of the gateway counts at once; the next look tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.pins.decisions import Decisions
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins, Seen
from gatewright.servers.catalogue import Catalogue
from tests.pins.test_pinning import Trail, settings, tool
from tests.storage.parts import state_in


def test_what_is_accepted_is_held_no_more_and_recorded(tmp_path: Path) -> None:
    trail = Trail()
    pinning = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), trail)
    pinning.adopt(settings(tmp_path))
    decisions = Decisions(pinning.store, pinning.decided)
    pinning.shelved("srv", [tool()])
    other = tool(says="wipes more")
    pinning.shelved("srv", [other])
    assert pinning.held(other)
    pin = decisions.some("srv", ["wipe", "nothing"])["wipe"]
    with pytest.raises(ValueError, match="changed again"):
        decisions.accept("srv", "wipe", digest="0" * 64, by="ann")
    with pytest.raises(KeyError):
        decisions.accept("srv", "nothing", digest=pin.digest, by="ann")
    before = pinning.version
    assert decisions.accept("srv", "wipe", digest=pin.digest, by="ann").standing == "pinned"
    assert not pinning.held(other)  # before anybody looks
    assert pinning.version > before
    assert pinning.look(lambda: Catalogue([]))
    assert not pinning.held(other)
    assert trail.steps[-1] == ("accepted", "wipe", "ann")
    pinning.close()


def test_what_nobody_has_listed_yet_is_decided_on_as_well(tmp_path: Path) -> None:
    """Its server may have gone since its definition was seen."""
    store = Pins(state_in(tmp_path), clock=lambda: 1.0)
    store.judge("gone", [Seen("wipe", "{}", "d")], ask_first=True)
    pinning = Pinning(store, Trail())
    decisions = Decisions(store, pinning.decided)
    assert decisions.refuse("gone", "wipe", digest="d", by="ann", why="no").by == "ann"
    assert pinning.look(lambda: Catalogue([]))
    pinning.close()
