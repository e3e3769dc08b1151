"""Every argument that is wrong or missing is named, with what may have been meant, and no value is repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas import violation_details as misfits_module
from gatewright.schemas.nearest import NAME_CHARS
from gatewright.schemas.schema import compile_schema
from gatewright.schemas.violation_details import MOST, misfits

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def said(schema: Any, arguments: dict[str, Any]) -> list[str]:
    violations = compile_schema(schema).violations(arguments, MOST)
    return [one["message"] for one in misfits(schema, arguments, violations)]


def test_each_missing_and_each_wrong_argument_is_named_once() -> None:
    found = "; ".join(said(PERSON, {"nam": "SECRET", "age": -1}))
    assert "arguments: 'name' is missing; it has no 'nam', which may have been meant" in found
    assert "takes no 'nam' (did you mean 'name'?); it takes 'name', 'age'" in found
    assert "arguments/age:" in found
    assert "SECRET" not in found


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"who": PERSON}}, {"who": {"nam": "x", "age": 1}}),
        ({"properties": {"who": {"items": PERSON}}}, {"who": [{"nam": "x", "age": 1}]}),
        (
            {"properties": {"who": {"$ref": "#/$defs/p"}}, "$defs": {"p": PERSON}},
            {"who": {"nam": "x", "age": 1}},
        ),
    ],
)
def test_what_was_meant_is_found_below_the_surface(schema: Any, arguments: dict[str, Any]) -> None:
    found = "; ".join(said(schema, arguments))
    assert "'name' is missing" in found
    assert "(did you mean 'name'?)" in found


def test_a_known_argument_is_never_taken_for_the_missing_one() -> None:
    schema = {"properties": {"name1": {}, "name2": {}}, "required": ["name1", "name2"]}
    assert said(schema, {"name1": 1}) == ["arguments: 'name2' is missing"]


_VALUES = st.recursive(
    st.sampled_from(["SECRET1", "SECRET2"]) | st.integers() | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "nam", "age", "x/y~z"]), inner, max_size=4)
    ),
    max_leaves=8,
)
_RULES = st.sampled_from(
    [
        PERSON,
        {"type": ["string", "null"]},
        {"enum": [1, "a"]},
        {"const": {"a": 1}},
        {"anyOf": [PERSON, {"type": "string"}]},
        {"oneOf": [{}, {}]},
        {"not": {}},
        {"$ref": "#/$defs/p"},
        {"$ref": "#/$defs/loop"},
        {"pattern": "^a"},
        {"items": PERSON},
        {"minProperties": 9},
        {"dependentRequired": {"age": ["born"]}},
        {"propertyNames": {"pattern": "^q"}},
        {"unevaluatedProperties": False},
        False,
    ]
)


@given(
    st.dictionaries(st.sampled_from(["name", "nam", "x/y~z"]), _VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["name", "nam", "x/y~z"]), _RULES, max_size=3),
    _RULES,
)
def test_whatever_the_schema_and_the_arguments_every_flaw_is_a_clause_with_a_place(
    arguments: dict[str, Any], members: dict[str, Any], rule: Any
) -> None:
    schema = {
        "properties": members,
        "allOf": [rule],
        "required": ["name"],
        "$defs": {"p": PERSON, "loop": {"properties": {"name": {"$ref": "#/$defs/loop"}}}},
    }
    violations = compile_schema(schema).violations(arguments, MOST)
    found = misfits(schema, arguments, violations)
    assert bool(found) == bool(violations)
    for one in found:
        assert one["message"].startswith("arguments" + one["path"] + ":")
        assert "SECRET" not in one["message"]


LONG = {f"{'ab' * 60}{one:03}": {"type": "string"} for one in range(200)}


def test_how_many_names_are_compared_for_one_refusal_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def noted(wanted: str, names: Sequence[str], most: int) -> list[str]:
        compared.extend(names)
        return []

    monkeypatch.setattr(misfits_module, "closest", noted)
    row = {"type": "object", "properties": LONG, "additionalProperties": False}
    schema = {"properties": {"rows": {"items": row}}}
    many = {"rows": [{f"x{one}": 1 for one in range(20)} for _ in range(20)]}
    assert len(said(schema, many)) == MOST
    assert 0 < sum(min(len(one), NAME_CHARS) for one in compared) <= 40_000


def test_the_words_of_a_refusal_are_short_whatever_the_arguments_are_called() -> None:
    schema = {"additionalProperties": {"type": "object", "additionalProperties": False}}
    name = "~/" * 500_000
    flaws = misfits(
        schema, {name: {name: 1}}, compile_schema(schema).violations({name: {name: 1}}, MOST)
    )
    assert flaws
    assert all(len(one["message"]) + len(one["path"]) < 2000 for one in flaws)
    wrong = {"enum": [f"{'x' * 100}{one}" for one in range(9000)]}
    assert all(len(one) < 1000 for one in said({"properties": {"a": wrong}}, {"a": 1}))
