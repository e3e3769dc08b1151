from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.schema import compile_schema
from gatewright.sdk.export import examples_of
from tests.sdk.test_signature import SEED

SCALARS = st.one_of(
    st.builds(
        lambda low, size: {"type": "integer", "minimum": low, "maximum": low + size},
        st.integers(-50, 50),
        st.integers(0, 50),
    ),
    st.builds(
        lambda low, size: {"type": "number", "exclusiveMinimum": low, "maximum": low + size},
        st.integers(-5, 5),
        st.sampled_from([0.25, 1, 3.5]),
    ),
    st.builds(
        lambda low, size: {"type": "string", "minLength": low, "maxLength": low + size},
        st.integers(0, 30),
        st.integers(0, 5),
    ),
    st.builds(
        lambda low, size: {"type": "string", "pattern": f"^[a-z]{{{low},{low + size}}}-[0-9]+$"},
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"enum": ["a", 1, None]},
            {"const": 3},
            {"type": "integer", "multipleOf": 7},
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            {"type": ["integer", "null"]},
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.builds(
        lambda item, least: {"type": "array", "items": item, "minItems": least},
        inner,
        st.integers(0, 3),
    ),
    max_leaves=3,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4).flatmap(
    lambda properties: st.sets(st.sampled_from("abcd")).map(
        lambda names: {
            "type": "object",
            "properties": properties,
            "required": sorted(names & properties.keys()),
        }
    )
)


@given(OBJECTS)
def test_every_example_satisfies_its_schema_and_there_is_one(schema: dict[str, Any]) -> None:
    """GGEN-exp-4"""
    found = examples_of(schema)
    assert found
    check = compile_schema(schema)
    assert [check.objection(one) for one in found] == [None] * len(found)


def test_the_examples_of_the_financial_analyzer_are_valid_and_different() -> None:
    """GGEN-exp-4: the least first, then one with every member."""
    found = examples_of(SEED["inputSchema"])  # type: ignore[arg-type]
    assert [sorted(one) for one in found] == [
        ["period_days", "ticker_symbol"],
        ["analysis_type", "period_days", "ticker_symbol"],
    ]


@pytest.mark.parametrize(
    "property_",
    [
        {"type": "string", "pattern": r"^(\d{4})-(\d{2})$"},
        {"type": "string", "pattern": r"^(a|bc)+[^0-9]{3}\w?x*$", "minLength": 9},
        {"type": "string", "pattern": "^[a-z]+$", "minLength": 12, "maxLength": 14},
        {"type": "string", "pattern": r"^(ab)\1\.\S$"},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.3},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
        {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 4}]},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#/$defs/Node"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "contentEncoding": "base64"},
        True,
    ],
)
def test_the_keywords_that_tools_use_all_have_an_example(property_: Any) -> None:
    """GGEN-exp-4"""
    node = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["n"],
    }
    schema = {
        "type": "object",
        "properties": {"a": property_},
        "required": ["a"],
        "$defs": {"Node": node},
    }
    assert examples_of(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "not": {}},
        {"type": "object", "properties": {"a": {"pattern": "("}}, "required": ["a"]},
        {
            "type": "object",
            "properties": {"a": {"pattern": "^(?=b)a$", "type": "string"}},
            "required": ["a"],
        },
    ],
)
def test_a_schema_that_nothing_satisfies_has_no_example_instead_of_a_wrong_one(
    schema: dict[str, Any],
) -> None:
    """GGEN-exp-4"""
    assert examples_of(schema) == []


def test_counts_may_be_written_as_numbers_with_a_point() -> None:
    """GGEN-exp-4; JSON Schema 2020-12, validation, section 6.3: `2.0` is an integer."""
    schema = {
        "type": "object",
        "required": ["text", "items", "more", "vast"],
        "properties": {
            "vast": {"type": "number", "minimum": 1e308},
            "text": {"type": "string", "minLength": 30.0, "maxLength": 40.0},
            "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2.0},
            "more": {"type": "object", "minProperties": 2.0},
        },
    }
    found = examples_of(schema)
    assert found
    assert [compile_schema(schema).objection(one) for one in found] == [None] * len(found)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 10**9},
        {"type": "object", "minProperties": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "string", "pattern": "^a{1000}{1000}{1000}$"},
        {"type": "string", "pattern": "((a{500}){500}){500}"},
        {"type": "string", "pattern": "(?=b)(a+)+$"},
    ],
)
def test_a_schema_that_asks_for_more_than_is_made_has_no_example(schema: Any) -> None:
    assert examples_of({"type": "object", "properties": {"a": schema}, "required": ["a"]}) == []


def test_a_schema_that_holds_itself_many_times_has_the_least_example() -> None:
    schema = {"properties": {f"p{number}": {"$ref": "#"} for number in range(12)}}
    assert examples_of({"type": "object", **schema})[:1] == [{}]
