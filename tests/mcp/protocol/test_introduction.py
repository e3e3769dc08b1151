"""Who a client says that it is, and what of that is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.protocol.introduction import Introduction, client_of
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
)

FACE = Face(())
META: dict[str, Any] = {
    META_VERSION: "2026-07-28",
    META_CLIENT_INFO: {"name": "a"},
    META_CLIENT_CAPABILITIES: {},
}
CLIENT = client_of("2026-07-28", {}, {"name": "a"}, FACE)


def kept(size: int = 100, **more: Any) -> Introduction:
    found = Introduction()
    found.keep({**META, **more}, FACE, CLIENT, size)
    return found


def test_who_says_the_same_again_is_the_same() -> None:
    assert kept().again({**META}, FACE) is CLIENT


@pytest.mark.parametrize(
    "meta",
    [None, {}, [], {**META, "progressToken": 1}, {**META, META_CLIENT_INFO: {"name": "b"}}],
)
def test_who_says_anything_else_is_not(meta: Any) -> None:
    assert kept().again(meta, FACE) is None


def test_what_was_said_to_an_offer_of_ours_goes_with_the_offer() -> None:
    assert kept().again(META, Face(("audit",))) is None


def test_what_concerns_one_request_is_not_kept() -> None:
    assert kept(progressToken=1).again({**META, "progressToken": 1}, FACE) is None


def test_long_introductions_are_not_kept() -> None:
    assert kept(5000).again(META, FACE) is None


def test_nobody_has_said_anything_yet() -> None:
    assert Introduction().again({}, FACE) is None


@pytest.mark.parametrize("info", [None, 7, []])
def test_information_that_is_no_object_is_none(info: Any) -> None:
    assert client_of("2025-11-25", {}, info, FACE).info == {}
