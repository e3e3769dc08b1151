"""Everything that is wrong with some arguments, in words that help to correct them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.flaws import MOST, Flaw, Flaws
from tests.tool_servers.finance import ANALYZER

SCHEMA = ANALYZER["inputSchema"]


def of(schema: Any, value: Any) -> list[Flaw]:
    return Flaws().of(schema, value)


def one(schema: Any, value: Any) -> Flaw:
    """The only flaw of a value under the property `x`."""
    (found,) = of({"properties": {"x": schema}}, {"x": value})
    return found


def test_the_specifications_own_example_comes_first() -> None:
    """GGEN-err-11: the pattern, though the text is too long as well."""
    first = of(SCHEMA, {"ticker_symbol": "invalid123", "period_days": 1})[0]
    assert first == Flaw(
        "ticker_symbol",
        "pattern",
        "Pattern mismatch: expected ^[A-Z]{1,5}$, got 'invalid123'",
        ("Use uppercase letters only", "Length must be 1-5 characters"),
        "https://docs.example.com/ticker-format",
    )


def test_what_fits_has_no_flaw() -> None:
    assert of(SCHEMA, {"ticker_symbol": "AAPL", "period_days": 365}) == []


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"type": "integer"}, "5", "Type mismatch: expected integer, got string"),
        (
            {"type": ["null", "integer"]},
            True,
            "Type mismatch: expected null or integer, got boolean",
        ),
        ({"enum": ["a", 1]}, None, "Value not allowed: expected one of 'a', 1, got null"),
        ({"const": 3}, {}, "Value not allowed: expected 3, got an object"),
        ({"minimum": 1}, 0, "Out of range: expected at least 1, got 0"),
        ({"exclusiveMaximum": 1.5}, 2, "Out of range: expected less than 1.5, got 2"),
        ({"multipleOf": 2}, 3, "Out of step: expected a multiple of 2, got 3"),
        ({"minLength": 2}, "é", "Wrong length: expected at least 2 characters, got 1"),
        ({"maxItems": 1}, [1, 2], "Wrong length: expected at most 1 items, got 2"),
        ({"uniqueItems": True}, [1, 1], "Value has non-unique elements"),
    ],
)
def test_each_rule_says_what_it_wanted_and_what_it_got(
    schema: Any, value: Any, reason: str
) -> None:
    """GGEN-p4-2, GGEN-err-11."""
    found = one(schema, value)
    assert (found.field, found.reason) == ("x", reason)


def test_rules_that_stand_together_are_told_together() -> None:
    """GGEN-p4-2: constraints of one field compose, and every one that is broken is told."""
    both = {"type": "string", "minLength": 3, "pattern": "^[a-z]+$", "enum": ["abc"]}
    rules = [one.rule for one in of({"properties": {"x": both}}, {"x": "A"})]
    assert sorted(rules) == ["enum", "minLength", "pattern"]
    assert rules[0] == "enum"
    composed = {"allOf": [{"minimum": 1}, {"maximum": 3}, {"multipleOf": 2}]}
    assert of({"properties": {"x": composed}}, {"x": 2}) == []
    assert len(of({"properties": {"x": composed}}, {"x": 7})) == 2


def test_a_missing_field_is_named_as_the_field() -> None:
    found = of(SCHEMA, {})
    assert [flaw.field for flaw in found] == ["ticker_symbol", "period_days"]
    assert found[0].reason == "Required field missing: ticker_symbol"
    assert found[0].suggestions == ("Add the field ticker_symbol",)


def test_a_field_too_many_is_named() -> None:
    (found,) = of({"properties": {}, "additionalProperties": False}, {"zz": 1})
    assert (found.field, found.reason) == (None, "Unknown field: zz")


def test_fields_deep_inside_have_a_dotted_path() -> None:
    schema = {
        "$defs": {"town": {"type": "object", "properties": {"zip": {"pattern": "^[0-9]{5}$"}}}},
        "properties": {"places": {"type": "array", "items": {"$ref": "#/$defs/town"}}},
    }
    (found,) = of(schema, {"places": [{"zip": "12345"}, {"zip": "x"}]})
    assert found.field == "places.1.zip"
    assert found.suggestions == ("Use digits only",)


def test_members_that_are_called_like_numbers_are_members() -> None:
    """Found by the fuzzer of the REST door: such a step of a path is told as a number."""
    schema = {
        "type": "object",
        "properties": {"0": {"type": "integer", "examples": [7]}},
        "additionalProperties": {"type": "number"},
    }
    found = of(schema, {"0": "x", "a": None, "": None, "-1": None, "1": []})
    assert sorted(str(flaw.field) for flaw in found) == ["-1", "0", "1", "None", "a"]
    assert next(flaw for flaw in found if flaw.field == "0").suggestions[-1] == "For example 7"
    nested = {"properties": {"map": schema, "tags": {"items": {"type": "string"}}}}
    assert len(of(nested, {"map": {"0": {}, "k": "x"}, "tags": [1, 2]})) == 4


def test_a_long_value_is_cut_where_it_is_quoted() -> None:
    assert len(one({"pattern": "^a$"}, "b" * 10_000).reason) < 200


def test_no_more_than_so_many_flaws_are_told() -> None:
    schema = {"items": {"type": "string"}}
    assert len(of(schema, list(range(1000)))) == MOST


@pytest.mark.parametrize("schema", [None, 7, {"type": "nonsense"}, {"$ref": "http://x/y"}])
def test_a_schema_that_cannot_be_used_finds_nothing(schema: Any) -> None:
    assert of(schema, {"a": 1}) == []


def test_schemas_are_kept_by_what_they_are_and_not_for_ever() -> None:
    flaws = Flaws()
    schemas = [{"required": [f"a{number}"]} for number in range(600)]
    for schema in schemas * 2:
        (found,) = flaws.of(schema, {})
        assert found.field == schema["required"][0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=9,
)


NAMES = st.sampled_from([*SCHEMA["properties"], "zz", "0", "1", "-1", "", "map"])
DEEP = {
    **SCHEMA,
    "additionalProperties": {"type": ["number", "object"], "additionalProperties": False},
}


@given(
    st.sampled_from([SCHEMA, DEEP]), st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES))
)
def test_every_flaw_can_be_told(schema: Any, value: Any) -> None:
    for flaw in of(schema, value):
        assert flaw.reason
        json.dumps([flaw.reason, flaw.suggestions])


@pytest.mark.parametrize(
    ("schema", "value", "suggestions"),
    [
        ({"minimum": 1}, 0, ("Value must be at least 1",)),
        ({"maximum": 3}, 4, ("Value must be at most 3",)),
        ({"minimum": 1, "maximum": 3}, 0, ("Value must be 1-3",)),
        ({"exclusiveMinimum": 1, "maximum": 3}, 1, ("Value must be at most 3",)),
        ({"minLength": 2}, "a", ("Length must be at least 2 characters",)),
        ({"maxLength": 2}, "abc", ("Length must be at most 2 characters",)),
        ({"pattern": "^[a-z]+$"}, "A", ("Use lowercase letters only",)),
        ({"pattern": "^[a-f]+$"}, "A", ()),
        ({"pattern": "^a|b$"}, "A", ()),
        ({"type": "integer"}, "a", ("Send integer",)),
        ({"type": ["null", "integer"]}, "a", ("Send null or integer",)),
        ({"type": "integer", "examples": [5]}, "a", ("Send integer", "For example 5")),
        ({"enum": ["a"], "examples": []}, "b", ()),
        ({"enum": ["a"], "minimum": 3, "minLength": 2}, "bb", ()),
        (
            {"properties": {}, "additionalProperties": False},
            {"a": 1},
            ("Remove what the schema does not name",),
        ),
        ({"required": ["a"]}, {}, ("Add the field a",)),
    ],
)
def test_each_rule_suggests_what_its_schema_says(
    schema: Any, value: Any, suggestions: tuple[str, ...]
) -> None:
    """GGEN-err-11"""
    assert one(schema, value).suggestions == suggestions


@pytest.mark.parametrize(
    ("value", "quoted", "kind"),
    [
        (None, "null", "null"),
        (True, "true", "boolean"),
        (False, "false", "boolean"),
        (7, "7", "integer"),
        (1.5, "1.5", "number"),
        ([], "an array", "array"),
        ({}, "an object", "object"),
        ("b" * 80, "'" + "b" * 80 + "'", "string"),
        ("b" * 81, "'" + "b" * 80 + "…'", "string"),
    ],
)
def test_a_value_is_quoted_by_what_it_is(value: Any, quoted: str, kind: str) -> None:
    assert one({"const": "x"}, value).reason.endswith(f"got {quoted}")
    if kind != "integer":
        assert one({"type": "integer"}, value).reason.endswith(f"got {kind}")
    assert one({"type": "boolean"}, 7).reason.endswith("got integer")


def test_flaws_come_in_the_order_of_places_and_the_telling_ones_first() -> None:
    inner = {"properties": {"a": {"type": "string"}}, "required": ["b"], "minProperties": 3}
    schema = {"properties": {"z": {"items": inner}, "k": {"type": "null"}}, "required": ["y"]}
    value = {"z": [{"a": 1} for _ in range(3)], "k": 1}
    assert [(flaw.field, flaw.rule) for flaw in of(schema, value)] == [
        ("k", "type"),
        *[
            (f"z.{number}{name}", rule)
            for number in range(3)
            for name, rule in ((".a", "type"), (".b", "required"), ("", "minProperties"))
        ],
        ("y", "required"),
    ]


def test_a_length_is_counted_in_what_it_is_a_length_of() -> None:
    assert one({"minItems": 2}, [1]).reason == "Wrong length: expected at least 2 items, got 1"
    assert one({"maxLength": 1}, "abc").reason.endswith("at most 1 characters, got 3")
    (found,) = of({"properties": {}, "additionalProperties": False}, {"a": 1, "b": 2})
    assert found.reason == "Unknown field: a, b"


def test_references_to_references_are_followed_to_what_they_mean() -> None:
    defs: dict[str, Any] = {f"d/{n}": {"$ref": f"#/$defs/d~1{n + 1}"} for n in range(6)}
    last = {"type": "integer", "externalDocs": {"url": "https://docs.example/x"}}
    schema = {"$defs": {**defs, "d/6": last}, "properties": {"x": {"$ref": "#/$defs/d~10"}}}
    (found,) = of(schema, {"x": "a"})
    assert (found.suggestions, found.documentation_url) == (
        ("Send integer",),
        "https://docs.example/x",
    )
    assert (
        one({"type": "null", "externalDocs": "https://docs.example"}, 1).documentation_url is None
    )


def test_a_flaw_is_told_in_few_words_whatever_the_schema_says() -> None:
    texts = [f"{'x' * 100}{one}" for one in range(9000)]
    (wrong,) = of({"properties": {"a": {"enum": texts}}}, {"a": 1})
    assert "and 8980 more" in wrong.reason
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    (unknown,) = of(closed, dict.fromkeys(texts[:1500], 1))
    assert "and 1480 more" in unknown.reason
    (pattern,) = of({"properties": {"a": {"pattern": "a{1,9}" * 200}}}, {"a": "b"})
    (missing,) = of({"required": ["x" * 9000]}, {})
    (deep,) = of({"additionalProperties": {"type": "string"}}, {"y" * 100_000: 1})
    for one in (wrong, unknown, pattern, missing, deep):
        said = (one.field or "", one.reason, *one.suggestions)
        assert sum(map(len, said)) < 10_000, one.rule


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (
            {"properties": {"a": {"items": {"enum": [n + 0.5 for n in range(2000)]}}}},
            {"a": [1.25] * 100},
        ),
        ({"properties": {"a": {"anyOf": [{"items": {"type": "string"}}] * 50}}}, {"a": [1] * 400}),
    ],
)
def test_flaws_of_what_takes_long_are_not_looked_for_again(schema: Any, arguments: Any) -> None:
    """A worker judged it; the refusal says what was wrong."""
    assert Flaws().of(schema, arguments) == []
