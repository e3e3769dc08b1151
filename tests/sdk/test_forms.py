"""Forms for users: from types, flat, and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from gatewright.sdk import MinValue
from gatewright.sdk.errors import ToolError
from gatewright.sdk.forms import read_form


@dataclass
class Order:
    size: Literal["small", "large"]
    count: int = 1


@dataclass
class Trip:
    to: str
    day: date | None = None
    way: Literal["rail", "road"] | None = None


class Model(BaseModel):
    name: str
    agreed: bool = False


class Inner(BaseModel):
    x: int


class Nested(BaseModel):
    inner: Inner


def test_a_form_is_made_of_a_type_and_its_answer_becomes_one() -> None:
    schema, decode = read_form(Order)
    assert schema["type"] == "object"
    assert schema["properties"]["size"]["enum"] == ["small", "large"]
    assert schema["required"] == ["size"]
    assert decode({"size": "large", "count": 2}) == Order("large", 2)
    schema, decode = read_form(Model)
    assert sorted(schema["properties"]) == ["agreed", "name"]
    assert decode({"name": "Ann"}) == Model(name="Ann")


def test_what_may_be_none_may_be_left_empty() -> None:
    schema, decode = read_form(Trip)
    assert schema == {
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "way": {"type": "string", "enum": ["rail", "road"]},
        },
        "required": ["to"],
    }
    assert decode({"to": "Bern"}) == Trip("Bern")
    assert decode({"to": "Bern", "day": "2026-11-22"}) == Trip("Bern", date(2026, 11, 22))


def test_a_schema_is_shown_as_it_is() -> None:
    form = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema, decode = read_form(form)
    assert schema == form
    assert decode({"a": "b"}) == {"a": "b"}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Palette(BaseModel):
    some: list[Colour]
    more: list[Literal["a", "b"]] | None = None


def test_several_choices_are_said_without_definitions() -> None:
    """MCP 2025-11-25: `items` with `enum`; a form has nowhere to keep what a reference would lead to."""
    schema, decode = read_form(Palette)
    some, more = schema["properties"]["some"], schema["properties"]["more"]
    assert (some["type"], some["items"]["enum"]) == ("array", ["red", "blue"])
    assert (more["type"], more["items"]["enum"]) == ("array", ["a", "b"])
    assert "$ref" not in str(schema)
    assert decode({"some": ["blue", "red"]}) == Palette(some=[Colour.BLUE, Colour.RED])
    with pytest.raises(ToolError, match="does not fit the form"):
        decode({"some": ["green"]})


@dataclass
class Free:
    lines: list[str]


@dataclass
class Numbers:
    some: list[Literal[1, 2]]


@dataclass
class Pair:
    both: tuple[int, str]


@pytest.mark.parametrize("form", [Nested, type("Socket", (), {}), Free, Numbers, Pair])
def test_what_mcps_forms_cannot_say_is_refused(form: Any) -> None:
    with pytest.raises(ToolError, match="form cannot be shown"):
        read_form(form)


def test_an_answer_that_does_not_fit_is_named() -> None:
    _, decode = read_form(Model)
    with pytest.raises(ToolError, match="does not fit the form"):
        decode({"name": 7})


@dataclass
class Answer:
    confirm: bool
    count: Annotated[int, MinValue(1)] = 1
    note: str | None = None


@pytest.mark.parametrize(
    "content",
    [
        {"confirm": "no"},
        {"confirm": []},
        {"confirm": True, "count": -5},
        {"confirm": True, "count": "7"},
        {"confirm": True, "note": {}},
        {},
        [],
        None,
        "yes",
    ],
)
def test_an_answer_that_does_not_fit_its_form_is_refused(content: Any) -> None:
    schema, decode = read_form(Answer)
    with pytest.raises(ToolError, match="does not fit the form"):
        decode(content)
    _, as_given = read_form(schema)
    with pytest.raises(ToolError, match="does not fit the form"):
        as_given(content)


def test_a_member_that_was_left_empty_may_be_null() -> None:
    _, decode = read_form(Answer)
    assert decode({"confirm": True, "note": None}) == Answer(True)


@dataclass
class Aged:
    name: str
    age: int = 3


def test_a_member_with_a_default_may_be_null() -> None:
    _, decode = read_form(Aged)
    assert decode({"name": "x", "age": None}) == Aged("x")


def test_a_form_that_cannot_be_used_is_named() -> None:
    _, decode = read_form({"type": 7})
    with pytest.raises(ToolError, match="the form cannot be used: the schema"):
        decode({})
