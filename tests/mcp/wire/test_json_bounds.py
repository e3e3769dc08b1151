"""How much a JSON text may hold, counted exactly where it matters."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.json_bounds import Limits, flaw_of

SMALL = Limits(depth=4, keys=6, values=12)
TEXTS = st.text(st.sampled_from('a,:{}[]"\\'), max_size=6)
VALUES = st.recursive(
    st.integers() | TEXTS | st.none(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=12,
)


def counted(value: Any) -> tuple[int, int, int]:
    """Depth, keys and values, in the plainest way."""
    if isinstance(value, dict | list):
        parts = list(value.values()) if isinstance(value, dict) else value
        found = [counted(one) for one in parts]
        depth = 1 + max((one[0] for one in found), default=0)
        keys = sum(one[1] for one in found) + (len(value) if isinstance(value, dict) else 0)
        return depth, keys, 1 + sum(one[2] for one in found)
    return 0, 0, 1


@given(st.dictionaries(TEXTS, VALUES, max_size=4) | st.lists(VALUES, max_size=4))
def test_the_quick_count_and_the_exact_one_say_the_same(value: Any) -> None:
    depth, keys, values = counted(value)
    fits = depth <= SMALL.depth + 1 and keys <= SMALL.keys and values <= SMALL.values
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(value, separators=separators).encode()
        found = flaw_of(text, SMALL)
        if fits and depth <= SMALL.depth:
            assert found == ""
        if not fits:
            assert "more than" in found or "deeper" in found


@pytest.mark.parametrize("one", [b"1", b"[]", b"{}", b'""', b"1.50", b"null"])
def test_elements_of_lists_count_as_values(one: bytes) -> None:
    limits = Limits(depth=10**6, keys=10**6, values=50_000)
    enough = b'{"x":[' + b",".join([one] * 49_000) + b"]}"
    assert flaw_of(enough, limits) == ""
    found = flaw_of(b'{"x":[' + b",".join([one] * 50_001) + b"]}", limits)
    assert found == "params have more than 50000 values, those in lists counted"
    assert gc.isenabled()


def test_commas_in_a_text_are_no_values() -> None:
    assert flaw_of(json.dumps({"x": ",[{:" * 100_000}).encode(), Limits()) == ""


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_are_bounded_because_to_read_them_takes_the_square(sign: str) -> None:
    assert flaw_of(f'{{"x":[{sign}{"9" * 1000}]}}'.encode(), Limits()) == ""
    found = flaw_of(f'{{"x":[{sign}{"9" * 1001}]}}'.encode(), Limits())
    assert found == "params have an integer of more than 1000 digits"


def test_long_decimals_and_digits_in_a_text_are_no_integers() -> None:
    for text in ("0." + "1" * 5000, '"' + "7" * 5000 + '"', "1e400", "[" + "1e308," * 999 + "0]"):
        assert flaw_of(f'{{"x":{text}}}'.encode(), Limits()) == ""
