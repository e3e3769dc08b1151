from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Required, TypedDict

import pytest

from gatewright.schemas.schema import compile_schema
from gatewright.sdk.constraints import Length, MinValue
from gatewright.sdk.shapes import Shapes, UnsayableError

UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)
    since: dt.date | None = None
    seen: int = field(default=0, init=False)


class Loose(TypedDict, total=False):
    day: Required[dt.date]
    note: str


class Strict(TypedDict):
    a: int
    b: NotRequired[str]


DAY = dt.date(2026, 1, 2)
DATE = {"type": "string", "format": "date"}

CASES: list[tuple[Any, dict[str, Any], Any, Any]] = [
    (Any, {}, {"x": 1}, {"x": 1}),
    (None, {"type": "null"}, None, None),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a"),
    (Color, {"type": "string", "enum": ["red", "blue"]}, "red", Color.RED),
    (UserId, {"type": "integer"}, 3, 3),
    (list[dt.date], {"type": "array", "items": DATE}, ["2026-01-02"], [DAY]),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (list, {"type": "array", "items": {}}, [1], [1]),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1], {1}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1], (1,)),
    (
        tuple[int, dt.date],
        {"type": "array", "prefixItems": [{"type": "integer"}, DATE], "minItems": 2, "maxItems": 2},
        [1, "2026-01-02"],
        (1, DAY),
    ),
    (
        dict[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a": 1},
        {"a": 1},
    ),
    (Mapping[str, Any], {"type": "object", "additionalProperties": True}, {"a": 1}, {"a": 1}),
    (
        dict[Color, dt.date],
        {
            "type": "object",
            "additionalProperties": DATE,
            "propertyNames": {"type": "string", "enum": ["red", "blue"]},
        },
        {"red": "2026-01-02"},
        {Color.RED: DAY},
    ),
    (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, None, None),
    (dt.date | int, {"anyOf": [DATE, {"type": "integer"}]}, 3, 3),
    (dt.date | str, {"anyOf": [DATE, {"type": "string"}]}, "someday", "someday"),
    (
        Strict,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        {"a": 1},
        {"a": 1},
    ),
    (
        Loose,
        {
            "type": "object",
            "properties": {"day": DATE, "note": {"type": "string"}},
            "required": ["day"],
            "additionalProperties": False,
        },
        {"day": "2026-01-02"},
        {"day": DAY},
    ),
    (
        Annotated[list[str], "names", Length(1, 2)],
        {
            "type": "array",
            "items": {"type": "string"},
            "description": "names",
            "minItems": 1,
            "maxItems": 2,
        },
        ["a"],
        ["a"],
    ),
    (
        Annotated[int | None, MinValue(1)],
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "minimum": 1},
        2,
        2,
    ),
]


@pytest.mark.parametrize(("hint", "schema", "sent", "given"), CASES)
def test_a_hint_gives_a_schema_and_the_value_that_it_means(
    hint: Any, schema: dict[str, Any], sent: Any, given: Any
) -> None:
    """CDM-con-2: schemas from type hints; what the schema lets in is what the function gets."""
    shape = Shapes().of(hint)
    assert shape.schema == schema
    assert compile_schema(shape.schema).objection(sent) is None
    assert (sent if shape.decode is None else shape.decode(sent)) == given


def test_a_type_that_contains_itself_is_a_reference() -> None:
    shapes = Shapes()
    shape = shapes.of(Node)
    assert shape.schema == {"$ref": "#/$defs/Node"}
    assert list(shapes.defs) == ["Node"]
    properties = shapes.defs["Node"]["properties"]
    assert list(properties) == ["name", "children", "since"]
    assert properties["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert shape.decode is not None
    tree = shape.decode({"name": "a", "children": [{"name": "b", "since": "2026-01-02"}]})
    assert tree == Node("a", [Node("b", since=DAY)])


def test_two_types_of_one_name_do_not_share_a_definition() -> None:
    @dataclass
    class Inner:
        node: Node

    outer, inner = Inner, Node
    shapes = Shapes()
    shapes.defs["Node"] = {"type": "string"}
    outer.__annotations__ = {"node": inner}
    assert shapes.of(outer).schema["properties"]["node"] == {"$ref": "#/$defs/Node_"}


def test_a_union_of_objects_takes_the_one_that_fits() -> None:
    shape = Shapes().of(Strict | Node | None)
    assert shape.decode is not None
    assert shape.decode({"a": 1}) == {"a": 1}
    assert shape.decode({"name": "x"}) == Node("x")
    assert shape.decode(None) is None
    with pytest.raises(ValueError, match="fits none"):
        shape.decode(7)


@pytest.mark.parametrize("hint", [Callable[[int], int], complex, type, object()])
def test_what_json_cannot_say_is_refused_with_an_alternative(hint: Any) -> None:
    with pytest.raises(UnsayableError, match="has no JSON form; use str, int"):
        Shapes().of(hint)


def test_keys_that_are_no_text_are_refused() -> None:
    with pytest.raises(UnsayableError, match="use dict"):
        Shapes().of(dict[int, str])
