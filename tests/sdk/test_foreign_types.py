from __future__ import annotations

import datetime as dt
import uuid
from typing import Annotated, Any

import annotated_types
import msgspec
import pydantic
import pytest
import typing_extensions

from gatewright.schemas.schema import compile_schema
from gatewright.sdk.foreign_types import foreign_shape, is_foreign, meta_keywords
from gatewright.sdk.shapes import Shapes


class Flat(pydantic.BaseModel):
    day: dt.date
    n: int = pydantic.Field(default=1, ge=1, description="how many")


class Tree(pydantic.BaseModel):
    name: str
    children: list[Tree] = []


class Holder(pydantic.BaseModel):
    flat: Flat


class Struct(msgspec.Struct):
    day: dt.date


class Counts(msgspec.Struct):
    of: dict[int, int]


class Exact(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, val_json_bytes="base64")
    day: dt.date
    key: uuid.UUID
    pair: tuple[int, int]
    raw: bytes


def test_a_model_says_its_own_schema_and_makes_its_own_values() -> None:
    defs: dict[str, Any] = {}
    schema, decode = foreign_shape(Flat, defs)
    assert schema["properties"]["n"]["minimum"] == 1
    assert schema["required"] == ["day"]
    assert decode({"day": "2026-01-02"}) == Flat(day=dt.date(2026, 1, 2))
    assert defs == {}
    output, _ = foreign_shape(Flat, defs, output=True)
    assert output["properties"]["day"]["format"] == "date"


def test_definitions_are_kept_and_renamed_where_the_name_is_taken() -> None:
    shapes = Shapes()
    shapes.defs["Flat"] = {"type": "string"}
    assert shapes.of(Holder).schema["properties"]["flat"] == {"$ref": "#/$defs/Flat_"}
    assert shapes.defs["Flat_"]["title"] == "Flat"
    assert shapes.of(Tree).schema == {"$ref": "#/$defs/Tree"}
    assert shapes.defs["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_struct_of_msgspec_is_read_like_a_model() -> None:
    shape = Shapes().of(Struct)
    assert shape.schema["properties"]["day"] == {"type": "string", "format": "date"}
    assert shape.decode is not None
    assert shape.decode({"day": "2026-01-02"}) == Struct(dt.date(2026, 1, 2))


def test_a_note_of_pydantic_is_enforced_by_pydantic() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value

    shape = Shapes().of(Annotated[int, pydantic.Field(ge=1), pydantic.AfterValidator(even)])
    assert shape.schema == {"type": "integer", "minimum": 1}
    assert shape.decode is not None
    assert shape.decode(2) == 2
    with pytest.raises(ValueError, match="odd"):
        shape.decode(3)


@pytest.mark.parametrize(
    ("note", "kind", "keywords"),
    [
        (annotated_types.Ge(1), "integer", {"minimum": 1}),
        (annotated_types.Lt(9), "integer", {"exclusiveMaximum": 9}),
        (annotated_types.MinLen(2), "array", {"minItems": 2}),
        (annotated_types.MaxLen(2), "string", {"maxLength": 2}),
        (annotated_types.MultipleOf(3), "integer", {"multipleOf": 3}),
        (msgspec.Meta(pattern="^a", max_length=3), "string", {"pattern": "^a", "maxLength": 3}),
        (typing_extensions.Doc("words"), "string", {"description": "words"}),
        (object(), "string", {}),
    ],
)
def test_notes_of_other_libraries_become_keywords(
    note: object, kind: str, keywords: dict[str, Any]
) -> None:
    assert meta_keywords(note, kind) == keywords


def test_a_predicate_is_refused_because_no_schema_says_it() -> None:
    with pytest.raises(TypeError, match="register a validator"):
        meta_keywords(annotated_types.Predicate(str.islower), "string")


def test_only_types_of_those_libraries_are_foreign() -> None:
    found = [
        is_foreign(one)
        for one in (Flat, Struct, pydantic.Field(ge=1), int, "x", Flat(day=dt.date.min))
    ]
    assert found == [True, True, True, False, False, False]


def test_what_a_strict_model_and_a_struct_say_of_json_is_what_they_take() -> None:
    exact = {
        "day": "2026-01-02",
        "key": "00000000-0000-0000-0000-000000000001",
        "pair": [1, 2],
        "raw": "aGk=",
    }
    shape = Shapes().of(Exact)
    assert compile_schema(shape.schema).objection(exact) is None
    assert shape.decode is not None
    made = shape.decode(exact)
    assert made == Exact(day=dt.date(2026, 1, 2), key=uuid.UUID(int=1), pair=(1, 2), raw=b"hi")
    counts = Shapes().of(Counts)
    assert counts.decode is not None
    assert counts.decode({"of": {"3": 1}}) == Counts({3: 1})
