"""What a client says of itself."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face
from gatewright.sdk.client.options import Options


def nobody(params: dict[str, Any]) -> dict[str, Any]:
    return {}


def test_a_client_offers_exactly_what_it_has_an_answer_for() -> None:
    assert Options().capabilities == {}
    assert Options(elicit=nobody, sample=nobody, roots=()).capabilities == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {"listChanged": False},
    }


def test_mgp_is_offered_unless_it_is_turned_off() -> None:
    assert Options(elicit=nobody).face == Face(EXTENSIONS)
    without = tuple(one for one in EXTENSIONS if one != "bidirectional")
    assert Options().face == Face(without)  # nobody could answer a callback
    assert Options(mgp=["bidirectional"]).face == Face(("bidirectional",))
    assert Options(mgp=["security"]).face == Face(("security",))
    assert Options(mgp=None).face is None


def test_a_token_is_a_header_and_no_part_of_the_repr() -> None:
    options = Options(bearer="hush", headers={"X-Key": "hush"}, env={"A": "hush"})
    assert options.all_headers == {"X-Key": "hush", "Authorization": "Bearer hush"}
    assert "hush" not in repr(options)
