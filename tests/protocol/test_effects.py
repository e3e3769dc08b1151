"""What messages ask for: each kind is told by its type."""

from __future__ import annotations

from typing import get_args

from gatewright.call import Client
from gatewright.protocol import effects


def test_every_effect_is_of_the_one_union() -> None:
    classes = {getattr(effects, name) for name in effects.__all__} - {effects.Effect}
    assert set(get_args(effects.Effect)) == classes


def test_what_cannot_be_answered_has_no_id() -> None:
    told = effects.Notice("notifications/acme.x", {"n": 1}, Client("2025-11-25"))
    assert told == effects.Notice("notifications/acme.x", {"n": 1}, Client("2025-11-25"))
    for one in (effects.Notice, effects.Dropped):
        assert "id" not in one.__struct_fields__
