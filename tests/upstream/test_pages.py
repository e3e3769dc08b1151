"""A page of a server's list is read the same whether it is short or long, and a long one in steps of a bounded size."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.upstream import pages
from gatewright.upstream.pages import AT_ONCE, ENTRY_CHARS, _read, read_page

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
WHITE = st.text(" \t\r\n", max_size=3)


def plain(found: Any) -> list[dict[str, bytes]]:
    return [{key: bytes(value) for key, value in one.items()} for one in found]


def whole(text: str) -> list[dict[str, bytes]]:
    return plain(msgspec.json.decode(text, type=list[dict[str, msgspec.Raw]]))


def stepped(text: str, most: int = 1000) -> tuple[list[dict[str, bytes]], int]:
    """The elements, and in how many steps they were read."""
    steps, count = _read(text, most), 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return plain(done.value), count
        count += 1


@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6), st.data())
def test_an_array_that_is_read_in_steps_is_the_one_that_is_read_whole(
    values: list[Any], data: st.DataObject
) -> None:
    pieces = [data.draw(WHITE) + json.dumps(one) + data.draw(WHITE) for one in values]
    text = "[" + (",".join(pieces) or data.draw(WHITE)) + "]"
    found, steps = stepped(text)
    assert found == whole(text)
    assert steps >= len(values)


@pytest.mark.parametrize(
    "text",
    ["{}", "[", "[{}", "[{},", "[{},]", "[1]", '["a"]', "[{} {}]", "[{}{}]", "[,{}]", "[nul]", "[{1:2}]",
     "[" * 2000, '[{"a":' * 2000, "[ " * 3, "[   ", '[{"a":1,}]', '[{"a":NaN}]', '[{"a":' + "9" * 9999 + "}]"],
)  # fmt: skip
def test_what_is_no_array_of_objects_is_refused(text: str) -> None:
    with pytest.raises((ValueError, msgspec.DecodeError)):
        stepped(text)


async def test_short_and_long_pages_are_read_alike() -> None:
    for count in (0, 1, 10, 3000):
        rows = [{"name": f"é{one}", "x": [one, {"a": None}]} for one in range(count)]
        text = json.dumps(rows, indent=1, ensure_ascii=False)
        assert plain(await read_page(text.encode(), 5000)) == whole(text)
    assert len(text) > AT_ONCE


async def test_nothing_is_read_behind_the_last_that_may_be_there() -> None:
    text = "[" + "{}," * 50_000 + "{}]"
    assert len(await read_page(text.encode(), 20_000)) == 20_001
    broken = "[" + "{}," * 50_000 + "nothing"
    assert len(await read_page(broken.encode(), 20_000)) == 20_001


@pytest.mark.parametrize("unit", ["{},", '{"a":[[],[]]},', " ", '{"uri":"a://b","name":"a"},'])
def test_no_step_reads_more_than_a_definition(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, and not timed: as many steps as definitions, and nothing longer than the window is ever decoded."""
    seen: list[int] = []

    def scan(window: str, at: int) -> tuple[Any, int]:
        seen.append(len(window))
        return json.JSONDecoder().raw_decode(window, at)

    monkeypatch.setattr(pages, "_scan", scan)
    text = "[" + unit * (2_000_000 // len(unit)) + "{}]"
    _, steps = stepped(text, most=10**9)
    elements = text.count(unit) + 1 if unit != " " else 1
    assert steps >= max(elements, len(text) // 4096 if unit == " " else 0)
    assert max(seen) <= 2 * ENTRY_CHARS


@pytest.mark.parametrize("before", [0, 1, 700])
def test_a_definition_has_a_longest_length_wherever_it_stands(before: int) -> None:
    small = '{"description":"' + "x" * 800 + '"},'
    inside = '{"a":"' + "x" * (ENTRY_CHARS - 8) + '"}'
    beyond = '{"a":"' + "x" * (2 * ENTRY_CHARS) + '"}'
    assert len(stepped("[" + small * before + inside + "]")[0]) == before + 1
    with pytest.raises(ValueError, match="longer than"):
        stepped("[" + small * before + beyond + "]")
