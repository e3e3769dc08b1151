"""Every keyword of JSON Schema costs what it takes: what takes long for the event loop is not judged there.

`benchmarks/schema_costs.py` measures the same cases, and more, against the clock.
"""

from decimal import Decimal
from typing import Any

import pytest

from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.keyword_costs import costs_of, program_size
from gatewright.schemas.schema import TakesLongError, compile_schema

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
FLOATS = [number + 0.5 for number in range(3000)]
NAMES = [f"k{number}" for number in range(3000)]


def _far(count: int) -> list[int]:
    """Whole numbers that all have the same float."""
    return [10**30 + number for number in range(count)]


HOSTILE: dict[str, tuple[Any, Any]] = {
    "enum of numbers": ({"items": {"enum": [*FLOATS, "x"]}}, [FLOATS[-1]] * 100),
    "enum of whole numbers": ({"items": {"enum": list(range(3000))}}, [2999.0] * 80),
    "enum of long numbers": ({"items": {"enum": _far(500)}}, [1] * 300),
    "enum of lists": ({"items": {"enum": [[one] for one in FLOATS]}}, [[FLOATS[-1]]] * 100),
    "enum of objects": ({"items": {"enum": [{"a": n} for n in range(900)]}}, [{"a": 899}] * 300),
    "enum of many kinds": ({"items": {"enum": [*NAMES, None]}}, ["k2999"] * 1000),
    "const": ({"items": {"allOf": [{"const": 0.5}] * 300}}, [0.5] * 300),
    "uniqueItems": ({"uniqueItems": True}, _far(1000)),
    "uniqueItems of decimals": (
        {"uniqueItems": True},
        [Decimal(f"0.{10**30 + number}") for number in range(400)],
    ),
    "uniqueItems inside": ({"items": {"uniqueItems": True}}, [[{"a": one}] for one in _far(1000)]),
    "pattern": ({"pattern": "[ab]*a[ab]{3000}c"}, "ab" * 10_000),
    "pattern that looks around": ({"pattern": "(?=.*x)a"}, "a" * 10_000),
    "patternProperties": (
        {"items": {"patternProperties": {f"a{n}b": True for n in range(200)}}},
        [dict.fromkeys(NAMES[:40], 1)] * 20,
    ),
    "propertyNames": (
        {"propertyNames": {"pattern": "[a-k]*k[a-k0-9]{900}z"}},
        {f"{name}kkkkkkkk": 1 for name in NAMES[:450]},
    ),
    "dependentRequired": (
        {"items": {"dependentRequired": {name: ["z"] for name in NAMES}}},
        [{"y": 1}] * 450,
    ),
    "dependencies": (
        {"$schema": DRAFT_7, "items": {"dependencies": {name: ["z"] for name in NAMES}}},
        [{"y": 1}] * 450,
    ),
    "dependentSchemas": (
        {"items": {"dependentSchemas": {name: {"items": {}} for name in NAMES[:400]}}},
        [{"y": [1]}] * 2000,
    ),
    "properties": (
        {
            "items": {
                "properties": dict.fromkeys(NAMES * 1, True) | {f"x{n}": True for n in range(6000)}
            }
        },
        [{}] * 2000,
    ),
    "format": (
        {"$schema": DRAFT_7, "items": {"allOf": [{"format": "idn-hostname"}] * 200}},
        ["é.é"] * 450,
    ),
    "maxLength": ({"items": {"allOf": [{"maxLength": 10**6}] * 800}}, ["é" * 1000] * 20),
    "contentEncoding": (
        {"$schema": DRAFT_7, "items": {"allOf": [{"contentEncoding": "base64"}] * 300}},
        ["W1tb" * 300] * 20,
    ),
    "multipleOf": ({"items": {"allOf": [{"multipleOf": 0.01}] * 20}}, [1e308] * 450),
    "minimum": ({"items": {"allOf": [{"minimum": 0.5}] * 200}}, [5.5] * 450),
    "maximum of a long number": ({"items": {"allOf": [{"maximum": 9}] * 200}}, _far(450)),
    "contains": (
        {"items": {"allOf": [{"contains": {"const": 0.5}, "minContains": 0}] * 100}},
        [[1] * 40] * 12,
    ),
    "if": (
        {"items": {"allOf": [{"if": {"const": 0.5}, "then": {}, "else": {}}] * 200}},
        [1.5] * 450,
    ),
    "not": ({"items": {"allOf": [{"not": {"enum": FLOATS[:20]}}] * 200}}, [0.25] * 50),
    "dynamicRef": (
        {
            "$dynamicAnchor": "n",
            "items": {"anyOf": [{"$dynamicRef": "#n"}, {"allOf": [{"$dynamicRef": "#n"}]}]},
        },
        [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]],
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_takes_long_is_not_judged_on_the_event_loop(name: str) -> None:
    schema, value = HOSTILE[name]
    compiled = compile_schema(schema)
    with pytest.raises(TakesLongError):
        compiled.objection(value, at_once=True)
    with pytest.raises(TakesLongError):
        compiled.violations(value, 9, at_once=True)


ORDINARY: dict[str, tuple[Any, Any]] = {
    "enum": ({"items": {"enum": NAMES}}, NAMES),
    "enum of whole numbers": ({"items": {"enum": list(range(3000))}}, list(range(3000))),
    "enum of a few numbers": ({"items": {"enum": FLOATS[:20]}}, FLOATS[:20] * 20),
    "uniqueItems": ({"uniqueItems": True}, NAMES),
    "uniqueItems of numbers": ({"uniqueItems": True}, FLOATS),
    "uniqueItems of long ids": ({"uniqueItems": True}, [2**60 + number for number in range(500)]),
    "pattern": ({"items": {"pattern": "^[a-z0-9_-]{1,64}$"}}, NAMES),
    "pattern that looks around": ({"pattern": r"^(?!.*\.\.)[a-z.]+$"}, "a.b" * 300),
    "required": ({"required": NAMES}, dict.fromkeys(NAMES, 1)),
    "coordinates": (
        {"items": {"properties": {"lat": {"minimum": -90.5, "maximum": 90.5}}}},
        [{"lat": 1.25}] * 1000,
    ),
    "unevaluatedProperties": (
        {
            "allOf": [{"properties": {name: {"type": "integer"}}} for name in NAMES[:50]],
            "unevaluatedProperties": False,
        },
        dict.fromkeys(NAMES[:50], 1),
    ),
    "tree": ({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}}, [[[[[]] * 5] * 5] * 5] * 5),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_tools_have_every_day_is_judged_on_the_event_loop(name: str) -> None:
    schema, value = ORDINARY[name]
    assert compile_schema(schema).objection(value, at_once=True) is None


def test_what_would_take_long_anywhere_is_refused() -> None:
    compiled = compile_schema({"items": {"enum": FLOATS}})
    found = compiled.objection([FLOATS[-1]] * 3000)
    assert found is not None
    assert found.rule == "too_costly"
    assert [one.rule for one in compiled.violations([FLOATS[-1]] * 3000, 9)] == ["too_costly"]


WRONG = {
    "required": ({"items": {"required": NAMES}}, [{}] * 50, "required"),
    "dependentRequired": (
        {"items": {"dependentRequired": {"y": NAMES}}},
        [{"y": 1}] * 50,
        "required",
    ),
    "items": ({"items": {"type": "string"}}, [1] * 50_000, "type"),
    "anyOf": ({"anyOf": [{"items": {"type": "string"}}] * 50}, [1] * 2000, "schema"),
    "oneOf": ({"oneOf": [{"required": NAMES}] * 50}, {}, "schema"),
    "copied": (
        {"items": {"anyOf": [{"$ref": "#/$defs/a"}] * 20}, "$defs": {"a": {"enum": NAMES}}},
        [1] * 500,
        "schema",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_of_more_errors_than_are_made_one_is_told(name: str) -> None:
    """An error takes as long as a thousand evaluations, and those of the parts of `anyOf` are made all at once."""
    schema, value, rule = WRONG[name]
    compiled = compile_schema(schema)
    found = compiled.objection(value)
    assert found is not None
    assert found.rule == rule
    assert [one.rule for one in compiled.violations(value, 9)] == [rule]
    if rule == "schema":
        with pytest.raises(TakesLongError):
            compiled.objection(value, at_once=True)


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("^a+b?$", 2),
        ("[a-z]{64}", 64),
        ("[]a]{2}[^]a]", 3),
        (r"[\]a]{3}", 3),
        ("a{2,5}b{3,}", 8),
        ("((ab){10}c){10}", 210),
        (r"\p{L}{7}\d", 8),
        (r"\x{41}\u{42}", 2),
        ("{a", 1),
        ("a{x}", 4),
        ("(((a{1000}){1000}){1000}){1000}", 1_000_000),
        ("(", 0),
        (")", 0),
        ("[", 1),
        ("\\", 1),
    ],
)
def test_the_states_of_a_pattern_are_its_characters_as_often_as_they_are_repeated(
    pattern: str, size: int
) -> None:
    assert program_size(pattern) == size


def test_a_keyword_that_is_not_known_costs_nothing_more() -> None:
    assert costs_of({"x-other": NAMES, "type": "object", "enum": "no list"}) == costs_of({})


def test_a_schema_whose_parts_judge_each_other_again_is_unusable() -> None:
    schema: Any = {"properties": {"a": True}}
    for _ in range(30):
        schema = {"anyOf": [schema], "unevaluatedProperties": {"type": "integer"}}
    with pytest.raises(UnusableSchema):
        compile_schema(schema)
