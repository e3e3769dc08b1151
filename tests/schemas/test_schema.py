"""Compiled input schemas: right, exact with numbers, and never a way to hold up the gateway."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.jsonrpc import Num, decode
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.schema import compile_schema

OBJECT = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10**30},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def test_arguments_that_fit_pass() -> None:
    compiled = compile_schema(OBJECT)
    assert compiled.objection({"path": "x", "limit": 3, "tags": ["a"]}) is None


@pytest.mark.parametrize(
    ("arguments", "path", "rule"),
    [
        ({}, "", "required"),
        ({"path": 7}, "/path", "type"),
        ({"path": ""}, "/path", "minLength"),
        ({"path": "x", "limit": 0}, "/limit", "minimum"),
        ({"path": "x", "tags": ["a", "c"]}, "/tags/1", "enum"),
        ({"path": "x", "more": 1}, "", "additionalProperties"),
        ([], "", "type"),
    ],
)
def test_an_objection_names_the_place_and_the_rule(arguments: Any, path: str, rule: str) -> None:
    found = compile_schema(OBJECT).objection(arguments)
    assert found is not None
    assert (found.path, found.rule) == (path, rule)
    assert found.message


def test_an_objection_does_not_repeat_the_value() -> None:
    found = compile_schema({"properties": {"key": {"type": "integer"}}}).objection(
        {"key": "s3cr3t"}
    )
    assert found is not None
    assert "s3cr3t" not in found.message


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (b"1", True),
        (b"18446744073709551616", True),
        (b"1000000000000000000000000000000", True),
        (b"1000000000000000000000000000001", False),
        (b"-9223372036854775809", False),
        (b"1.0", True),
        (b"1.00", True),
        (b"1e3", True),
        (b"1.10", False),
        (b"0.00", False),
        (b"1e400", False),
    ],
)
def test_numbers_of_any_size_and_spelling_are_compared_exactly(text: bytes, fits: bool) -> None:
    found = compile_schema(OBJECT).objection({"path": "x", "limit": decode(text)})
    assert (found is None) is fits


@pytest.mark.parametrize(
    "schema", [{"maximum": 5}, {"not": {"type": "number"}}, {"if": {"minimum": 9}, "then": False}]
)
def test_a_number_with_its_own_spelling_does_not_slip_past_a_rule(schema: dict[str, Any]) -> None:
    number = decode(b'{"x":10.10}')
    assert type(number["x"]) is Num
    compiled = compile_schema({"properties": {"x": schema}})
    assert compiled.objection(number) is not None
    assert compiled.objection({"x": 10.1}) is not None
    listed = compile_schema({"items": {"items": schema}})
    assert listed.objection([[number["x"]]]) is not None


def test_a_schema_may_spell_its_numbers_as_it_likes() -> None:
    schema = decode(b'{"properties":{"x":{"minimum":0.10,"maximum":1e400,"multipleOf":1.0e-2}}}')
    compiled = compile_schema(schema)
    assert compiled.objection({"x": 0.1}) is None
    assert compiled.objection({"x": decode(b"0.1000")}) is None
    assert compiled.objection({"x": 0.09}) is not None
    assert compiled.objection({"x": decode(b"0.105")}) is not None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-9, max_value=9))
def test_decimals_keep_every_digit_in_comparisons(number: Decimal) -> None:
    limit = number + Decimal("1e-20")
    compiled = compile_schema({"exclusiveMinimum": 0})
    found = compiled.objection(Num(str(limit)))
    assert (found is None) is (limit > 0)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"address": {"$anchor": "addr", "type": "object", "required": ["street"]}},
            "type": "object",
            "properties": {"home": {"$ref": "#/$defs/address"}, "work": {"$ref": "#addr"}},
            "additionalProperties": False,
            "allOf": [{"anyOf": [{"required": ["home"]}, {"required": ["work"]}]}],
            "if": {"required": ["home"]},
            "then": {"properties": {"home": {"type": "object"}}},
            "else": {"properties": {"work": {"type": "object"}}},
        },
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"address": {"type": "object", "required": ["street"]}},
            "type": "object",
            "properties": {"home": {"$ref": "#/definitions/address"}},
            "required": ["home"],
        },
    ],
)
def test_what_real_servers_declare_compiles_and_holds(schema: dict[str, Any]) -> None:
    compiled = compile_schema(schema)
    assert compiled.objection({"home": {"street": "x"}}) is None
    assert compiled.objection({"home": {}}) is not None
    assert compiled.objection({}) is not None


@pytest.mark.parametrize("schema", [{}, True, {"type": "object"}])
def test_an_open_schema_lets_everything_pass(schema: Any) -> None:
    assert compile_schema(schema).objection({"anything": [1, {"x": None}]}) is None


def test_the_schema_false_lets_nothing_pass() -> None:
    assert compile_schema(False).objection({}) is not None


@pytest.mark.parametrize(
    "schema",
    [
        [],
        "object",
        7,
        {"type": "wizard"},
        {"properties": 7},
        {"pattern": "["},
        {"pattern": r"^(\w{1000}){1000}$"},
        {"$schema": "http://evil.example/meta"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"$dynamicRef": "http://evil.example/#a"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}},
        {"properties": {f"p{n}": {} for n in range(200_000)}},
    ],
)
def test_a_hostile_or_broken_schema_is_unusable_and_says_why(schema: Any) -> None:
    with pytest.raises(UnusableSchema) as raised:
        compile_schema(schema)
    assert str(raised.value)


def test_a_reference_to_the_meta_schema_of_its_own_draft_needs_no_fetching() -> None:
    draft = "http://json-schema.org/draft-07/schema#"
    compiled = compile_schema({"$schema": draft, "$ref": draft})
    assert compiled.objection({"type": "string"}) is None
    assert compiled.objection({"type": "wizard"}) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://json-schema.org/draft/unknown"},
        # A name that stands in data is a name to our reading, and none to the library's.
        {"default": {"$id": "http://127.0.0.1:9/s"}, "$ref": "http://127.0.0.1:9/s"},
    ],
)
def test_the_library_fetches_nothing_where_it_reads_a_schema_differently(schema: Any) -> None:
    with pytest.raises(UnusableSchema, match="cannot be compiled"):
        compile_schema(schema)


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"^(?=a)(a+)+$"])
@pytest.mark.timeout(60)
def test_a_pattern_that_explodes_elsewhere_is_answered_here(pattern: str) -> None:
    compiled = compile_schema({"properties": {"a": {"pattern": pattern}}})
    found = compiled.objection({"a": "a" * 30_000 + "!"})
    assert found is not None
    assert found.rule == "pattern"


@pytest.mark.parametrize(
    ("pattern", "heavy"),
    [
        (r"^\w{1,255}$", False),
        (r"^[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,253}\.[a-z]{2,63}$", False),
        (r"^.{1,4000}$", True),
        (r"^[\p{L}\p{N} _.-]{1,64}$", True),
    ],
)
def test_a_pattern_with_a_large_program_works_and_is_known_as_heavy(
    pattern: str, heavy: bool
) -> None:
    compiled = compile_schema({"type": "string", "pattern": pattern})
    assert compiled.heavy is heavy
    assert compiled.objection("") is not None


@pytest.mark.timeout(60)
def test_many_patterns_with_large_programs_are_too_much() -> None:
    many = {f"p{n}": {"pattern": rf"^\p{{L}}{{1,100}}{n}$"} for n in range(200)}
    with pytest.raises(UnusableSchema, match="cannot be compiled"):
        compile_schema({"properties": many})


def test_a_pattern_that_looks_around_still_works() -> None:
    compiled = compile_schema({"type": "string", "pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"})
    assert compiled.objection("passwordA1") is None
    assert compiled.objection("password") is not None


@pytest.mark.timeout(60)
def test_a_value_that_would_take_too_long_is_objected_to() -> None:
    compiled = compile_schema({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}})
    value: Any = 5
    for _ in range(60):
        value = {"a": value}
    found = compiled.objection(value)
    assert found is not None
    assert found.rule == "too_costly"


def test_what_is_dear_and_still_within_the_budget_is_checked() -> None:
    schema = compile_schema({"items": {"allOf": [{"type": "integer"}] * 700}})
    assert schema.violations([1, 2], 9) == []
    assert schema.objection([1, 2]) is None
    found = schema.objection([1] * 100_000)
    assert found is not None
    assert found.rule == "too_costly"
    assert [one.rule for one in schema.violations([1] * 100_000, 9)] == ["too_costly"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"pattern": "^a$"}, "b", "^a$"),
        ({"minimum": 3}, 1, 3),
        ({"enum": ["a", "b"]}, "c", ["a", "b"]),
        ({"required": ["a"]}, {}, "a"),
        ({"minLength": 2}, "x", 2),
        ({"uniqueItems": True}, [1, 1], None),
    ],
)
def test_a_violation_says_what_was_asked_for(schema: Any, value: Any, expected: Any) -> None:
    (found,) = compile_schema(schema).violations(value, 9)
    assert found.expected == expected


@pytest.mark.parametrize(
    ("schema", "text", "rule"),
    [
        ({"maximum": 5}, "1e99999999999999999999", "maximum"),
        ({"maximum": 5}, "-1.5E+99999999999999999999", None),
        ({"exclusiveMinimum": 0}, "1e-99999999999999999999", None),
        ({"minimum": 0}, "-1e-99999999999999999999", "minimum"),
        ({"const": 0}, "0.0e99999999999999999999", None),
        ({"type": "integer"}, "1e-99999999999999999999", "type"),
        ({"type": "string"}, "1e99999999999999999999", "type"),
        ({}, "1e99999999999999999999", None),
    ],
)
def test_a_number_beyond_every_decimal_is_larger_or_smaller_than_all_others(
    schema: dict[str, Any], text: str, rule: str | None
) -> None:
    compiled = compile_schema(schema)
    value = decode(text.encode())
    found = compiled.objection(value)
    assert (None if found is None else found.rule) == rule
    assert [one.rule for one in compiled.violations(value, 9)] == ([rule] if rule else [])
    compile_schema({"maximum": value, "enum": [value]})


@pytest.mark.parametrize(
    "text",
    [
        b'{"path":"x","limit":3}',
        b'{"path":"x","limit":3.0}',
        b'{"path":"x","limit":3.50}',
        b'{"path":"x","limit":10000000000000000000000000000000}',
        b'{"path":""}',
        b'{"path":"x","Path":"y"}',
        b"{}",
    ],
)
@pytest.mark.parametrize("schema", [OBJECT, {**OBJECT, "additionalProperties": True}, True])
def test_arguments_are_accepted_where_there_is_no_objection(schema: Any, text: bytes) -> None:
    compiled, arguments = compile_schema(schema), decode(text)
    assert compiled.accepts(arguments) is (compiled.objection(arguments) is None)
