"""How much a JSON text may hold, counted exactly where it matters."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import json_bounds
from gatewright.mcp.wire.json_bounds import Limits, _is_shallow, flaw_of

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
    for separators, pad in (((",", ":"), 0), ((", ", ": "), 0), ((",", ":"), 70_000)):
        text = json.dumps(value, separators=separators).encode() + b" " * pad
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


@pytest.mark.parametrize(
    "one", [b'{"a":1}', b'{"abc"  :1}', b'"abcdefg"', b'{"a":{"a":{}}}', b'{"abcdefghi":"abcdefghijk"}']
)  # fmt: skip
def test_what_is_over_a_limit_for_certain_is_not_made_to_be_counted(
    one: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_bounds, "_measure", None)
    found = flaw_of(b'{"x":[' + b",".join([one] * (1_048_000 // (len(one) + 1))) + b"]}", Limits())
    assert found.startswith("params have more than ")


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


@given(VALUES, st.integers(0, 12))
def test_what_is_counted_as_shallow_is_no_deeper(value: Any, most: int) -> None:
    """Brackets in texts and in names are none, and no level is left out."""
    text = json.dumps([value]).encode()
    if _is_shallow(text, most):
        assert height([value]) <= most
    assert _is_shallow(text, 64)


def height(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict | list) + max(map(height, parts), default=0)


@pytest.mark.parametrize("levels", [7, 8, 9, 60, 63, 64, 65, 66, 200])
@pytest.mark.parametrize("beside", ["", "[],", "{},", '"]",'])
def test_a_nest_is_judged_as_deep_as_it_is(levels: int, beside: str) -> None:
    text = ("[" + beside) * levels + "1" + "]" * levels
    assert (_is_shallow(text.encode(), 64) and levels > 64) is False
    found = flaw_of(b'{"a":%b}' % text.encode(), Limits(depth=65))
    assert ("deeper" in found) is (levels + 1 > 65)


@pytest.mark.parametrize("kind", ["deep", "rows"])
def test_rows_and_deep_nests_within_bounds_are_not_decoded_to_be_counted(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Work that is done in one turn of the loop, and again when they are read: none of it makes a value."""
    counts = list[int]()

    def counted_(level: list[Any], limits: Limits) -> str:
        counts.append(len(level))
        return ""

    monkeypatch.setattr(json_bounds, "_counted", counted_)
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    value = [deep] * 300 if kind == "deep" else [{"a": 1}] * 6000
    assert flaw_of(json.dumps({"content": {"value": value}}).encode(), Limits()) == ""
    assert counts == []
    assert flaw_of(json.dumps([[[[[[deep]]]]]]).encode(), Limits()) == ""
    assert counts == [1]  # of so many levels only the exact count can tell


class Searched(bytes):
    """A text that says how much of it was searched."""

    spent = 0

    def count(self, *given: Any) -> int:
        Searched.spent += len(self)
        return super().count(*given)

    def find(self, *given: Any) -> int:
        Searched.spent += len(self)
        return super().find(*given)

    def translate(self, *given: Any) -> bytes:
        Searched.spent += len(self)
        return super().translate(*given)


def test_a_long_text_of_few_strings_is_searched_a_few_times_alone() -> None:
    """A dozen searches through megabytes, one after the other, keep everybody waiting."""
    texts = [",:[{1e5" * 40_000, "9" * 200_000, '\\"' * 50_000]
    text = Searched(json.dumps({"x": texts}).encode())
    Searched.spent = 0
    assert flaw_of(text, Limits()) == ""
    assert Searched.spent <= 5 * len(text)
    more = json.dumps({"x": texts, "y": [0] * 50_000}).encode()
    assert flaw_of(more, Limits()) == "params have more than 50000 values, those in lists counted"
