"""What a value has of each that takes a schema long."""

from typing import Any

import pytest

from gatewright.mcp.wire.jsonrpc import decode
from gatewright.schemas.value_size import Size, size_of


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (None, Size(1, 0, 0, 0, 0, 0, 0, 0)),
        (True, Size(1, 0, 0, 0, 0, 0, 0, 0)),
        ("abc", Size(1, 0, 3, 3, 0, 0, 0, 0)),
        ({"ab": ["c", {}]}, Size(4, 2, 3, 2, 0, 0, 0, 0)),
        ([1, -1, 2**53], Size(4, 1, 0, 0, 3, 0, 0, 0)),
        ([0.5], Size(2, 1, 0, 0, 1, 1, 0, 0)),
        ([2**53 + 1, -(2**63)], Size(3, 1, 0, 0, 2, 0, 2, 0)),
        ([2**63], Size(2, 1, 0, 0, 1, 1, 1, 1)),
        ([decode(b"0.12345678901234567890123")], Size(2, 1, 0, 0, 1, 3, 0, 3)),
    ],
)
def test_values_are_counted_by_what_takes_long(value: Any, size: Size) -> None:
    assert size_of(value) == size
