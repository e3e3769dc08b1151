from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.mcpx.capabilities import PROFILES
from gatewright.rooms.hub import Hub
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.policy import Known, with_word
from gatewright.rooms.trust_store import ParticipantChanges, Word
from tests.rooms.hall import Notes, policy
from tests.storage.parts import state_in


def promotion(folder: Path) -> tuple[ParticipantAdmin, Notes]:
    notes, trust = Notes(), ParticipantChanges(state_in(folder))
    hub = Hub(
        policy({"a": ("mcp/*",), "b": Known("b")}),
        journal=notes,
        trust=trust,
        stamp=lambda: ("id", "2025-08-26T14:30:00Z"),
        monotonic=lambda: 0.0,
    )
    return ParticipantAdmin(hub, trust), notes


def test_who_is_not_there_may_be_changed_if_the_configuration_knows_it(tmp_path: Path) -> None:
    """MCPX-11.3-1, MCPX-11.3-2."""
    changes, notes = promotion(tmp_path)
    found = changes.change("a", ["chat"], ["mcp/*"], by="boss")
    assert (found.oldCapabilities, found.newCapabilities) == (("mcp/*",), ("chat",))
    back = changes.change("a", ["mcp/*"], [], by="boss")
    assert back.newCapabilities == ("mcp/*", "chat")
    assert changes.change("b", [], [], by="boss").newCapabilities == PROFILES["proposal-only"]
    with pytest.raises(KeyError):
        changes.change("c", ["chat"], [], by="boss")
    assert [one[0] for one in notes.lines] == ["changed"] * 3


def test_somebody_may_be_kept_out_before_it_ever_came(tmp_path: Path) -> None:
    changes, notes = promotion(tmp_path)
    assert changes.block("later", True, by="boss", reason="r") == 0
    assert changes.block("later", False, by="boss") == 0
    assert [one[0] for one in notes.lines] == ["blocked", "unblocked"]
    with pytest.raises(ValueError, match="called so"):
        changes.block("system:gateway", True, by="boss")


def test_words_stand_over_what_is_configured() -> None:
    word = Word(("x", "chat", "y"), ("b",))
    assert with_word(("a", "b", "x"), word) == ("a", "x", "y", "chat")
    assert with_word(("chat", "a"), None) == ("chat", "a")
