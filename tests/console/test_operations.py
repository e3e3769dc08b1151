"""What is given to an operation, in its shape."""

from __future__ import annotations

import msgspec
import pytest

from gatewright.console.operations import ApiError, read


class Shape(msgspec.Struct):
    count: int
    name: str = "nobody"
    on: bool = False


def test_texts_become_what_the_shape_says() -> None:
    assert read(Shape, {"count": "3", "on": "true"}, texts=True) == Shape(3, "nobody", True)


def test_an_empty_text_of_a_member_that_may_be_left_out_is_left_out() -> None:
    assert read(Shape, {"count": "3", "name": "", "on": ""}, texts=True) == Shape(3)


@pytest.mark.parametrize(
    ("given", "texts"),
    [({}, True), ({"count": "x"}, True), ({"count": ""}, True), ({"count": "3"}, False)],
)
def test_what_does_not_fit_is_refused_with_its_place(given: dict[str, str], texts: bool) -> None:
    with pytest.raises(ApiError) as raised:
        read(Shape, given, texts=texts)
    assert raised.value.status == 422
    assert "count" in raised.value.message
