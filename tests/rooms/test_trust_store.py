"""Words about participants outlive the gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.rooms.trust_store import ParticipantChanges, Word
from gatewright.storage.errors import StoreError
from tests.storage.parts import state_in


def test_a_word_is_kept_for_the_next_gateway(tmp_path: Path) -> None:
    """MCPX-5.1-4."""
    trust = ParticipantChanges(state_in(tmp_path))
    assert trust.word("a") is None
    word = Word(("mcp/*",), ("chat",), True, "boss", "2025-08-26T14:00:00Z", "why")
    trust.put("a", word)
    trust.put("b", Word())
    again = ParticipantChanges(state_in(tmp_path))
    assert (again.word("a"), again.word("b"), again.word("c")) == (word, Word(), None)


def test_what_cannot_be_read_or_written_is_said_and_nothing_forgotten(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    trust = ParticipantChanges(state)
    trust.put("a", Word(by="x"))
    state.engine.execute("UPDATE documents SET body = '[]'")
    with pytest.raises(StoreError, match="word about a participant cannot be read"):
        ParticipantChanges(state)
    state.close()
    with pytest.raises(StoreError, match="the words about participants in"):
        trust.put("a", Word(by="y"))
    assert trust.word("a") == Word(by="x")
