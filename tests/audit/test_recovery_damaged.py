"""The error for a damaged trail says what to do."""

from __future__ import annotations

from pathlib import Path

from gatewright.audit.recovery import damaged_trail


def test_a_damaged_trail_names_its_folder_its_damage_and_the_way_out() -> None:
    text = str(damaged_trail(Path("/srv/state"), "record 7 is gone"))
    assert "/srv/state" in text
    assert "record 7 is gone" in text
    assert "gatewright audit verify" in text
