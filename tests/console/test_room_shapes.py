"""What is asked of rooms is bounded."""

from __future__ import annotations

import pytest

from gatewright.console.operations import ApiError, read
from gatewright.console.room_shapes import RoomDecision, RoomMessage, RoomStop


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        (RoomMessage, {"topic": "x", "text": "y" * 8001}),
        (RoomMessage, {"topic": "", "text": "y"}),
        (RoomDecision, {"topic": "x", "proposal": "p", "do": "maybe"}),
        (RoomDecision, {"topic": "x", "proposal": "p", "do": "reject", "reason": "y" * 501}),
        (RoomStop, {"agent": "", "reason": "y"}),
    ],
)
def test_what_is_too_long_or_unknown_is_refused(shape: type, given: dict[str, str]) -> None:
    with pytest.raises(ApiError) as caught:
        read(shape, given, texts=True)
    assert caught.value.status == 422
