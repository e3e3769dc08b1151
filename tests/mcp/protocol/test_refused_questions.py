"""What a client says that refuses a question reaches whoever asked, whatever its types are."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.protocol.refused_questions import refused_by


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ({"code": -1, "message": "not now", "data": {"a": 1}}, ("not now", -1, {"a": 1})),
        ({"code": "x", "message": 5}, ("5", -32603, None)),
        ({}, ("the caller refused", -32603, None)),
        ("no", ("the caller refused", -32603, None)),
        (None, ("the caller refused", -32603, None)),
    ],
)
def test_an_error_of_a_client_says_why_it_cannot_be_asked(
    error: Any, found: tuple[str, int, Any]
) -> None:
    said = refused_by(error)
    assert (said.message, said.code, said.data) == found
