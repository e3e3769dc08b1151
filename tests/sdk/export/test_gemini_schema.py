"""Schemas as Gemini takes them: nothing that it does not know, and nothing lost that it does."""

from typing import Any

import msgspec
import pytest

from gatewright.sdk.export.gemini_schema import gemini_schema

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {"oneOf": [{"type": "null"}, {"type": "string", "minLength": 1}]},
            {"type": "string", "minLength": 1, "nullable": True},
        ),
        (
            {"allOf": [POINT, {"properties": {"y": {}}, "required": ["y"]}], "description": "d"},
            {
                **POINT,
                "properties": {"x": {"type": "integer"}, "y": {}},
                "required": ["x", "y"],
                "description": "d",
            },
        ),
        (
            {"enum": ["a", None]},
            {"type": "string", "format": "enum", "enum": ["a"], "nullable": True},
        ),
        ({"enum": [1, 2]}, {"type": "integer"}),
        ({"enum": [1, 2.5]}, {"type": "number"}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "string", "enum": ["a", 1]}, {"type": "string"}),
        ({"enum": [True, False, None]}, {"type": "boolean", "nullable": True}),
        ({"const": None}, {"nullable": True}),
        ({"const": 1}, {"type": "integer"}),
        (
            {"properties": {"a": {}}, "required": ["a", "b"]},
            {"properties": {"a": {}}, "required": ["a"]},
        ),
        ({"properties": 7, "required": 7, "allOf": 7, "anyOf": 7, "enum": 7, "$ref": 7}, {}),
        (True, {}),
    ],
)
def test_what_has_a_counterpart_is_written_by_it(schema: Any, found: dict[str, Any]) -> None:
    assert gemini_schema(schema) == found


@pytest.mark.parametrize("where", ["$defs", "definitions"])
def test_what_stands_beside_a_reference_is_kept(where: str) -> None:
    schema = {
        where: {"a/b": {**POINT, "description": "any"}},
        "properties": {"p": {"$ref": f"#/{where}/a~1b", "description": "where", "nullable": True}},
    }
    found = gemini_schema(schema)["properties"]["p"]
    assert found == {**POINT, "description": "where", "nullable": True}
    root = {"$ref": f"#/{where}/a", where: {"a": POINT}}
    assert gemini_schema(root) == POINT
    for nowhere in ("#/none", "https://elsewhere.example", ""):
        assert gemini_schema({"$ref": nowhere, "title": "t"})["title"] == "t"


def test_a_type_inside_of_itself_is_an_object_of_anything() -> None:
    schema = {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/b"}}}
    found = gemini_schema(schema)["properties"]
    assert found["b"] == {"type": "object"}
    assert found["a"]["properties"]["a"] == {"type": "object"}


def test_types_that_refer_to_each_other_twice_stay_within_a_bound() -> None:
    """Written out they would be 2 ** 60."""
    types: dict[str, Any] = {
        f"t{at}": {"properties": {side: {"$ref": f"#/$defs/t{at + 1}"} for side in "ab"}}
        for at in range(60)
    }
    found = gemini_schema({"$ref": "#/$defs/t0", "$defs": types})
    assert len(msgspec.json.encode(found)) < 1_000_000


def test_no_depth_breaks_it() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        schema = {"items": schema}
    assert "items" in gemini_schema(schema)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"format": ["x"], "type": "string"}, {"type": "string"}),
        (
            {"required": [{"a": 1}, "x"], "properties": {"x": {}}},
            {"required": ["x"], "properties": {"x": {}}},
        ),
        ({"allOf": [{"required": [["a"]]}], "required": ["x"]}, {"required": ["x"]}),
    ],
)
def test_a_schema_that_is_none_breaks_no_export(schema: Any, found: dict[str, Any]) -> None:
    """A server lists what it likes."""
    assert gemini_schema(schema) == found
