"""What is asked about servers has bounds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.console.operations import ApiError, read
from gatewright.console.server_requests import Accepting, Hiding, Listing, OfTool, Refusing


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Listing, {"limit": "0"}),
        (Listing, {"limit": "201"}),
        (Listing, {"q": "x" * 201}),
        (Listing, {"state": "away"}),
        (Listing, {"sort": "reason"}),
        (OfTool, {}),
        (OfTool, {"tool": "x" * 513}),
        (Accepting, {"tool": "x", "digest": "0" * 63}),
        (Refusing, {"tool": "x", "digest": "0" * 64, "reason": ""}),
        (Refusing, {"tool": "x", "digest": "0" * 64, "reason": "x" * 501}),
        (Refusing, {"tool": "x", "reason": "x"}),
        (Hiding, {"tool": "x", "reason": ""}),
    ],
)
def test_what_is_out_of_bounds_is_refused(kind: type[msgspec.Struct], given: Any) -> None:
    with pytest.raises(ApiError) as found:
        read(kind, given, texts=True)
    assert found.value.status == 422


def test_an_empty_query_is_the_usual_list() -> None:
    assert read(Listing, {"q": "", "desc": "true", "state": ""}, texts=True) == Listing(desc=True)
