"""Walking every string of a JSON value."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.json_pointers import STEP_CHARS, is_place, pointer, strings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def _found(value: Any) -> list[tuple[list[str | int], str, bool]]:
    return [
        ([] if place is None else place.path(), text, is_name)
        for place, text, is_name in strings(value)
    ]


def _at(value: Any, path: list[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value


def test_strings_come_in_document_order_with_the_names_of_members() -> None:
    value = {"command": "ls", "args": ["-l", {"at": "x"}], "count": 3}
    assert _found(value) == [
        (["command"], "command", True),
        (["args"], "args", True),
        (["count"], "count", True),
        (["command"], "ls", False),
        (["args", 0], "-l", False),
        (["args", 1, "at"], "at", True),
        (["args", 1, "at"], "x", False),
    ]


def test_a_long_list_is_looked_at_as_far_as_its_strings_are_asked_for() -> None:
    """Who asks for them in slices would else wait for all of it before the first."""
    seen: list[int] = []

    class Long(list[str]):
        def __iter__(self) -> Iterator[str]:
            for at in range(1000):
                seen.append(at)
                yield "x"

        def __getitem__(self, at: Any) -> Any:
            seen.append(at)
            return "x"

        def __len__(self) -> int:
            return 1000

    found = strings({"a": Long()})
    assert [next(found)[1] for _ in range(3)] == ["a", "x", "x"]
    assert len(seen) == 2
    assert len(list(found)) == 998


def test_a_value_that_is_a_string_itself_has_no_place_in_anything() -> None:
    assert list(strings("x")) == [(None, "x", False)]


@given(JSON)
def test_every_string_stands_where_its_path_says(value: Any) -> None:
    for path, text, is_name in _found(value):
        assert path[-1] == text if is_name else _at(value, path) == text


@given(JSON)
def test_no_string_is_left_out(value: Any) -> None:
    def count(found: Any) -> int:
        if isinstance(found, str):
            return 1
        if isinstance(found, dict):
            return len(found) + sum(count(one) for one in found.values())
        return sum(count(one) for one in found) if isinstance(found, list) else 0

    assert len(list(strings(value))) == count(value)


def test_nesting_does_not_exhaust_the_stack() -> None:
    value: Any = "deep"
    for _ in range(100_000):
        value = [value]
    ((place, text, _),) = strings(value)
    assert text == "deep"
    assert place is not None
    assert len(place.path()) == 100_000


def test_pointers_escape_what_the_notation_uses() -> None:
    assert pointer(["a/b", 0, "c~d"]) == "/a~1b/0/c~0d"
    assert pointer([]) == ""


def test_of_a_long_name_a_pointer_has_the_beginning() -> None:
    assert pointer(["a~" * STEP_CHARS, "b"]) == "/" + "a~0" * (STEP_CHARS // 2) + "…/b"


def test_a_step_leads_to_an_item_where_it_is_a_number_that_there_can_be() -> None:
    assert [one for one in ("0", "1", "2", "-1", "x", "", "9" * 5000) if is_place(one, [1, 2])] == [
        "0",
        "1",
    ]
