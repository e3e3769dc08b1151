"""What a JSON value weighs, and what text is light for certain."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.value_weight import light_text, outweighs
from tests.schemas.test_json_pointers import JSON

DENSE = st.sampled_from(
    [0, "", "a", "\u00e9", "\U0001f600", "\n", [], {}, {"": 0}, [0, 0], [[[0]]]]
)


@given(JSON | st.lists(DENSE, max_size=60), st.integers(0, 600), st.sampled_from([1, 8, 128]))
def test_nothing_in_a_light_text_outweighs_what_it_is_light_for(
    value: Any, most: int, each: int
) -> None:
    text = msgspec.json.encode(value)
    if len(text) <= light_text(most, each):
        assert not outweighs(value, most, each)
        assert not outweighs([value], most, each)


def test_a_text_that_is_all_values_is_light_up_to_what_it_weighs() -> None:
    """Nearly: two bytes a value."""
    most = 1000
    light = light_text(most)
    assert not outweighs([0] * (light // 2 - 1), most)
    assert outweighs([0] * (light * 3 // 4), most)


def test_characters_that_are_no_ascii_count_as_often_as_is_said() -> None:
    assert not outweighs("\ufdfa" * 1000, 3000)
    assert outweighs("\ufdfa" * 1000, 3000, wide=3)
    assert outweighs({"a": ["\ufdfa" * 1000]}, 3000, wide=3)
    assert outweighs({"\ufdfa" * 1000: "a"}, 3000, wide=3), "names are read as well"
    assert not outweighs("a" * 1000, 3000, wide=3)
