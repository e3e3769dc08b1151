"""Fields of a form by a tool's schema, whatever a server says there."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.console.schema_form import MOST_FIELDS, Field, fields_of


def kinds(properties: dict[str, Any]) -> list[tuple[str, str]]:
    found = fields_of({"type": "object", "properties": properties})
    assert found is not None
    return [(one.name, one.kind) for one in found]


def test_each_type_has_its_field() -> None:
    properties: dict[str, Any] = {
        "a": {"type": "string"},
        "b": {"type": "string", "maxLength": 5000},
        "c": {"type": "number"},
        "d": {"type": "integer"},
        "e": {"type": "boolean"},
        "f": {"enum": ["x", 1, None]},
        "g": {"type": "array"},
        "h": {"type": ["string", "null"]},
        "i": True,
        "j": {"$ref": "#/$defs/x"},
    }
    assert [kind for _, kind in kinds(properties)] == [
        "string",
        "text",
        "number",
        "integer",
        "boolean",
        "choice",
        "json",
        "json",
        "json",
        "json",
    ]


def test_what_is_needed_comes_first_with_all_that_is_said_of_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "b": {},
            "a": {"type": "integer", "minimum": 1, "maximum": 5, "description": "n", "default": 2},
        },
        "required": ["a"],
    }
    assert fields_of(schema) == [
        Field(
            name="a",
            kind="integer",
            required=True,
            description="n",
            usual="2",
            least="1",
            most="5",
        ),
        Field(name="b", kind="json", required=False),
    ]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (None, None),
        (True, None),
        ({}, None),
        ({"type": "object"}, []),
        ({"properties": []}, None),
        ({"properties": {str(number): {} for number in range(MOST_FIELDS + 1)}}, None),
    ],
)
def test_other_schemas_have_no_fields(schema: Any, found: Any) -> None:
    assert fields_of(schema) == found


@pytest.mark.parametrize(
    "said",
    [
        {"type": "integer", "minimum": "x", "description": 5},
        {"type": "integer", "minimum": True},
        {"enum": []},
        {"type": 5},
        {"type": "string", "maxLength": "long"},
    ],
)
def test_what_makes_no_sense_is_left_out(said: dict[str, Any]) -> None:
    found = fields_of({"properties": {"a": said}, "required": "a"})
    assert found is not None
    (field,) = found
    assert (field.least, field.description, field.required) == ("", "", False)
