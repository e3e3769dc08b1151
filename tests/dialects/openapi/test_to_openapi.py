"""JSON Schema in OpenAPI's older dialect: valid, and never stricter than what it was made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from openapi_schema_validator import OAS30Validator

from gatewright.dialects.openapi.to_openapi import ROOM, Schemas, component_name
from gatewright.mcp.wire import jsonrpc


def translated(schema: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    schemas = Schemas()
    return schemas.translated(schema, "tool"), schemas.components


def accepts(schema: Any, value: Any) -> bool:
    """Whether the translation of a schema takes a value."""
    found, components = translated(schema)
    whole = {"allOf": [found], "components": {"schemas": components}}
    return bool(OAS30Validator(whole).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, {}),
        (False, {"not": {}}),
        ({"const": 3}, {"enum": [3]}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "null"}, {"enum": [None], "nullable": True}),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"exclusiveMinimum": 0}, {"minimum": 0, "exclusiveMinimum": True}),
        ({"exclusiveMaximum": 5, "maximum": 3}, {"maximum": 3}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"minimum": 1, "exclusiveMinimum": True}),
        ({"examples": [1, 2]}, {"example": 1}),
        ({"$schema": "x", "$id": "y", "$comment": "z"}, {}),
        ({"externalDocs": {"url": "https://x", "more": 1}}, {"externalDocs": {"url": "https://x"}}),
        ({"required": []}, {}),
        ({"required": ["a", "a"]}, {}),
        ({"enum": []}, {}),
        ({"minLength": -1, "maxLength": "3", "pattern": 7, "uniqueItems": "yes"}, {}),
        ({"type": "nonsense"}, {}),
        ({"pattern": r"^\p{L}+$", "minLength": 1}, {"minLength": 1}),
        ({"not": {"pattern": r"^\p{L}+$"}}, {}),
        (7, {}),
    ],
)
def test_each_keyword_has_its_counterpart_or_is_left_out(schema: Any, expected: Any) -> None:
    """GGEN-oas-1."""
    assert translated(schema)[0] == expected


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string", "default": "technical", "enum": ["technical", "x"]}, True),
        ({"type": "integer", "default": 3, "minimum": 1, "maximum": 3}, True),
        ({"type": ["string", "null"], "default": None}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, True),
        ({"type": "array", "items": {"type": "string"}, "default": ["a"]}, True),
        ({"type": "object", "default": {}}, True),
        ({"default": False}, True),
        ({"type": "string", "default": None}, False),
        ({"type": "integer", "default": "3"}, False),
        ({"type": "integer", "default": True}, False),
        ({"type": "integer", "default": 1.5}, False),
        ({"type": "number", "exclusiveMinimum": 0, "default": 0}, False),
        ({"type": "string", "maxLength": 1, "default": "ab"}, False),
        ({"type": "array", "items": {"type": "string"}, "default": [1]}, False),
        ({"type": "object", "required": ["a"], "default": {}}, False),
        ({"enum": [1], "default": None}, False),
        ({"anyOf": [{"type": "string"}, {"type": "array"}], "default": 1}, False),
        ({"type": "string", "format": "uuid", "default": "x"}, False),
    ],
)
def test_a_default_is_kept_where_it_is_one(schema: Any, kept: bool) -> None:
    """GGEN-oas-1: a public validator refuses a whole document for a default that does not fit its schema, and servers
    write such: `"type": "string", "default": null`."""
    assert ("default" in translated(schema)[0]) is kept
    assert not kept or accepts(schema, schema["default"])


def test_what_is_referred_to_becomes_a_component() -> None:
    """GGEN-oas-2: every reference of the document leads to a component of it."""
    schema = {
        "$defs": {"a/b": {"type": "string"}},
        "properties": {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/a~1b", "title": "Y"}},
    }
    found, components = translated(schema)
    reference = {"$ref": "#/components/schemas/tool.a_1b"}
    assert found["properties"] == {"x": reference, "y": {"allOf": [reference, {"title": "Y"}]}}
    assert components == {"tool.a_1b": {"type": "string"}}


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"properties": {"again": {"$ref": "#"}}}
    found, components = translated(schema)
    assert found == {"properties": {"again": {"$ref": "#/components/schemas/tool.self"}}}
    assert components["tool.self"] == found


SPELLINGS = ["#/$defs/ab", "#/$defs/%61b", "#/$defs/a%62", "#/%24defs/ab", "#/$defs%2Fab"]


def test_however_a_definition_is_spelled_it_is_one_component() -> None:
    schema = {"$defs": {"ab": {"type": "string"}}, "allOf": [{"$ref": one} for one in SPELLINGS]}
    found, components = translated(schema)
    assert components == {"tool.ab": {"type": "string"}}
    assert found["allOf"] == [{"$ref": "#/components/schemas/tool.ab"}] * len(SPELLINGS)


def _nested(depth: int) -> dict[str, Any]:
    """Each level is referred to by itself, and the bulk is in the innermost."""
    inner: dict[str, Any] = {"enum": ["x" * 20_000]}
    for _ in range(depth):
        inner = {"properties": {"p": inner}}
    pointers = ["#" + "/properties/p" * level for level in range(1, depth)]
    return {**inner, "anyOf": [{"$ref": one} for one in pointers]}


def _spelled() -> dict[str, Any]:
    names = [
        f"#/$defs/{'%64' if number & 1 else 'd'}{'%65' if number & 2 else 'e'}{'f' * 9}"
        for number in range(4)
    ]
    members = {f"m{number}": {"type": "string"} for number in range(400)}
    return {
        "$defs": {"de" + "f" * 9: {"properties": members}},
        "anyOf": [{"$ref": one} for one in names * 50],
    }


def _named_long() -> dict[str, Any]:
    return {"$defs": {"a": {}}, "anyOf": [{"$ref": "#/$defs/a"}] * 2000}


@pytest.mark.parametrize("schema", [_nested(50), _spelled(), _named_long()])
def test_a_document_is_about_as_long_as_what_it_is_made_of(schema: dict[str, Any]) -> None:
    """Whatever refers to what in it: a server writes the schema, and any caller asks for the document."""
    schemas = Schemas()
    found = schemas.translated(schema, "o" * 128)
    size = len(jsonrpc.encode(schema))
    assert len(jsonrpc.encode([found, schemas.components])) <= (ROOM + 2) * size


def test_where_there_is_no_room_for_a_reference_all_is_allowed() -> None:
    found, components = translated(_nested(50))
    assert {} in found["anyOf"]
    assert found["anyOf"][0] == {"$ref": "#/components/schemas/tool.p"}
    assert "tool.p" in components


@pytest.mark.parametrize(
    "items",
    [
        {"anyOf": [*[{"type": "string"}] * 2000, {"type": "integer"}]},
        {"enum": [f"{number}" for number in range(3000)] + [2999]},
    ],
)
def test_a_default_that_is_dear_to_compare_is_left_out(items: dict[str, Any]) -> None:
    """The comparisons are counted: values times branches would be the square of what was written."""
    schema = {"type": "array", "items": items, "default": [2999] * 3000}
    assert "default" not in translated(schema)[0]
    assert translated({**schema, "default": [2999]})[0]["default"] == [2999]


def test_a_definition_is_measured_no_more_once_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of many references to a large one would measure it again."""
    measured: list[int] = []
    encode = jsonrpc.encode

    def count(value: Any) -> bytes:
        measured.append(len(found := encode(value)))
        return found

    monkeypatch.setattr(jsonrpc, "encode", count)
    fillers = [{"$ref": "#/$defs/a"}] * 600
    large = [{"$ref": "#/$defs/b"}] * 50
    schema = {"$defs": {"a": {}, "b": {"title": "x" * 50_000}}, "anyOf": [*fillers, *large]}
    Schemas().translated(schema, "o" * 1000)
    assert sum(measured) <= (ROOM + 2) * len(encode(schema))


def test_two_definitions_of_one_name_are_two_components() -> None:
    schema = {
        "$defs": {"x": {"type": "string"}},
        "definitions": {"x": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/definitions/x"}},
    }
    assert sorted(translated(schema)[1]) == ["tool.x", "tool.x_2"]


@pytest.mark.parametrize("pointer", ["http://evil/x", "#/nowhere", "other.json", "#anchor"])
def test_a_reference_that_leads_nowhere_is_left_out(pointer: str) -> None:
    """GGEN-oas-2: nothing outside the document is named in it."""
    assert translated({"$ref": pointer, "type": "string"}) == ({"type": "string"}, {})


def test_what_cannot_be_said_is_not_forbidden_instead() -> None:
    """Left out under `not`, something would be forbidden that was allowed."""
    loose = {"patternProperties": {"^a": {}}, "additionalProperties": False}
    assert translated(loose)[0] == {}
    assert "not" not in translated({"not": loose})[0]
    assert "oneOf" not in translated({"oneOf": [loose, {"type": "string"}]})[0]
    named = {"$defs": {"l": loose}, "allOf": [{"$ref": "#/$defs/l"}], "not": {"$ref": "#/$defs/l"}}
    assert "not" not in translated(named)[0]


def test_a_name_of_a_component_has_no_foreign_characters() -> None:
    assert component_name("a b/c.d-e_f") == "a_b_c.d-e_f"
    assert component_name("") == "_"


NAMES = st.sampled_from(["a", "b"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2.5, "", "a", "bb"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
LEAVES = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": TYPES}),
    st.fixed_dictionaries({"type": st.lists(TYPES, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"const": SCALARS}),
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"minLength": st.integers(0, 2), "maxLength": st.integers(0, 2)}),
    st.fixed_dictionaries({"minimum": st.integers(0, 2), "exclusiveMinimum": st.integers(0, 2)}),
    st.fixed_dictionaries({"maximum": st.integers(0, 2), "exclusiveMaximum": st.integers(0, 2)}),
    st.fixed_dictionaries({"multipleOf": st.integers(1, 2)}),
    st.fixed_dictionaries({"required": st.lists(NAMES, max_size=2, unique=True)}),
    st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/d", "#/$defs/none"])}),
    st.fixed_dictionaries({"contains": st.just({"type": "string"})}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=2)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"prefixItems": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
        st.fixed_dictionaries({"patternProperties": st.fixed_dictionaries({"^a": inner})}),
        st.fixed_dictionaries(
            {"patternProperties": st.just({"^a": True}), "additionalProperties": inner}
        ),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}),
        st.fixed_dictionaries({"type": TYPES, "anyOf": st.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=6,
)


@given(SCHEMAS, LEAVES, VALUES)
def test_what_the_tool_takes_the_document_takes_too(schema: Any, named: Any, value: Any) -> None:
    """GGEN-oas-3: whoever follows the document can send every good value."""
    if isinstance(schema, dict):
        definition = {} if isinstance(named, dict) and "$ref" in named else named
        schema = {**schema, "$defs": {"d": definition}}
        if "#/$defs/none" in repr(schema):
            translated(schema)  # cannot be asked, but can be told
            return
    if Draft202012Validator(schema).is_valid(value):
        assert accepts(schema, value)
