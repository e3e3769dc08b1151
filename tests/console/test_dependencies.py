"""What screens are made of is complete from the start."""

from __future__ import annotations

import msgspec

from gatewright.console.dependencies import Dependencies


def test_nothing_of_it_may_be_left_out() -> None:
    assert all(one.required for one in msgspec.structs.fields(Dependencies))
