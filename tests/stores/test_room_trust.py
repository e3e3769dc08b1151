from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.stores.errors import StoreError
from gatewright.stores.room_trust import FILE, RoomTrust, Word


def test_a_word_is_kept_for_the_next_gateway(tmp_path: Path) -> None:
    """MCPX-5.1-4."""
    trust = RoomTrust(tmp_path)
    assert trust.word("a") is None
    word = Word(("mcp/*",), ("chat",), True, "boss", "2025-08-26T14:00:00Z", "why")
    trust.put("a", word)
    trust.put("b", Word())
    again = RoomTrust(tmp_path)
    assert (again.word("a"), again.word("b"), again.word("c")) == (word, Word(), None)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_read_or_written_is_said_and_nothing_forgotten(tmp_path: Path) -> None:
    trust = RoomTrust(tmp_path)
    trust.put("a", Word(by="x"))
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        trust.put("a", Word(by="y"))
    assert trust.word("a") == Word(by="x")
    with pytest.raises(StoreError, match="cannot be read"):
        RoomTrust(tmp_path)
    (tmp_path / FILE).rmdir()
    (tmp_path / FILE).write_text("[]")
    with pytest.raises(StoreError, match="damaged"):
        RoomTrust(tmp_path)
