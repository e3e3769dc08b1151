"""What participants' errors say, and how they are caught."""

from __future__ import annotations

import pytest

from gatewright.rooms.participants import errors
from gatewright.rooms.participants.errors import (
    CallError,
    NotAllowedError,
    RoomError,
    RoomRefusedError,
)


@pytest.mark.parametrize(
    ("capabilities", "said"), [((), "none"), (("chat", "mcp/response:*"), "chat, mcp/response:*")]
)
def test_who_may_not_is_told_what_it_may(capabilities: tuple[str, ...], said: str) -> None:
    error = NotAllowedError("mcp/request:tools/call", capabilities)
    assert f"({said}) do not cover 'mcp/request:tools/call'" in str(error)
    assert error.kind == "mcp/request:tools/call"


def test_what_the_other_end_said_is_there_for_people_and_for_programs() -> None:
    refused, failed = RoomRefusedError("rate_limited", "slower"), CallError(-32602, "no", {"a": 1})
    assert (str(refused), refused.error) == ("rate_limited: slower", "rate_limited")
    assert (str(failed), failed.code, failed.data) == ("no (-32602)", -32602, {"a": 1})


def test_one_name_catches_each_of_them() -> None:
    assert all(issubclass(getattr(errors, name), RoomError) for name in errors.__all__)
