"""`KEY=TEXT` becomes the value that the tool's schema takes, in every form that JSON Schema has for saying so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli.argument_types import typed
from gatewright.schemas.schema import compile_schema
from gatewright.servers.commands.tool import read_arguments

NUMBER: list[Any] = [
    {"type": ["integer", "null"]},
    {"type": ["null", "number", "boolean"]},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"oneOf": [{"type": "integer"}, {"type": "null"}]},
    {"allOf": [{"type": "integer"}]},
    {"enum": [5, 6]},
    {"enum": ["five", 5]},
    {"const": 5},
    {"$ref": "#/$defs/count"},
    {"$ref": "#/$defs/chain"},
    {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
    {"anyOf": [{"anyOf": [{"type": "integer"}]}, {"type": "null"}], "default": None},
    {"not": {"type": "string"}},
    {"minimum": 1, "type": ["integer"]},
]
TEXT: list[Any] = [
    {},
    True,
    {"type": "string"},
    {"type": ["string", "null"]},
    {"type": ["string", "integer"]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"enum": ["5"]},
    {"description": "no type"},
    {"$ref": "#/$defs/name"},
]


def schema(argument: Any) -> dict[str, Any]:
    defs = {
        "count": {"type": "integer"},
        "chain": {"$ref": "#/$defs/count"},
        "name": {"type": "string"},
    }
    return {"type": "object", "properties": {"n": argument}, "$defs": defs, "required": ["other"]}


@pytest.mark.parametrize("argument", NUMBER)
def test_what_has_to_be_a_number_is_one(argument: Any) -> None:
    assert read_arguments(["n=5"], None, schema(argument)) == {"n": 5}


@pytest.mark.parametrize("argument", TEXT)
def test_what_may_be_a_text_stays_one(argument: Any) -> None:
    assert read_arguments(["n=5"], None, schema(argument)) == {"n": "5"}
    assert read_arguments(["n:=5"], None, schema(argument)) == {"n": 5}


@pytest.mark.parametrize(
    ("argument", "text", "value"),
    [
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["boolean", "null"]}, "true", True),
        ({"type": ["array", "null"]}, "[1,2]", [1, 2]),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, '{"a":1}', {"a": 1}),
        ({"type": ["integer", "null"]}, "many", "many"),
        ({"enum": ["a", 1]}, "a", "a"),
        (False, "5", "5"),
        ({"$ref": "https://elsewhere.example/x"}, "5", "5"),
        ({"type": "nonsense"}, "5", "5"),
    ],
)
def test_every_json_type_is_read_and_what_fits_no_way_goes_as_it_is(
    argument: Any, text: str, value: Any
) -> None:
    assert read_arguments([f"n={text}"], None, schema(argument)) == {"n": value}


def test_an_argument_that_the_schema_does_not_name_is_a_text() -> None:
    assert read_arguments(["m=5"], None, schema({"type": "integer"})) == {"m": "5"}
    assert read_arguments(["m=5"], None, None) == {"m": "5"}


@given(st.sampled_from([*NUMBER, *TEXT]), st.text() | st.integers().map(str))
def test_what_is_read_fits_whenever_one_reading_does(argument: Any, text: str) -> None:
    whole = schema(argument)
    found = typed(text, "n", whole)
    fits = compile_schema({**whole, "required": []})
    if fits.objection({"n": text}) is None:
        assert found == text
    assert found == text or fits.objection({"n": found}) is None


ELSEWHERE: list[dict[str, Any]] = [
    {"allOf": [{"properties": {"n": {"type": "integer"}}}]},
    {
        "anyOf": [
            {"properties": {"n": {"type": "integer"}}},
            {"properties": {"n": {"type": "null"}}},
        ]
    },
    {"$ref": "#/$defs/whole", "$defs": {"whole": {"properties": {"n": {"type": "integer"}}}}},
    {"patternProperties": {"^n$": {"type": "integer"}}},
    {"additionalProperties": {"type": "integer"}},
    {"additionalProperties": {"type": ["integer", "null"]}},
]


@pytest.mark.parametrize("whole", ELSEWHERE)
@pytest.mark.parametrize("more", [{}, {"required": ["other"]}], ids=["alone", "with another"])
def test_an_argument_that_the_schema_names_elsewhere_gets_its_type_too(
    whole: dict[str, Any], more: dict[str, Any]
) -> None:
    assert typed("5", "n", {"type": "object", **whole, **more}) == 5


def test_what_wants_other_arguments_leaves_the_own_schema_to_decide() -> None:
    own = {"n": {"type": ["integer", "null"]}}
    both = {"properties": own, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert typed("5", "n", both) == 5
