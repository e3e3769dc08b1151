from __future__ import annotations

from typing import Any

import pytest

from gatewright.schemas.schema import compile_schema
from gatewright.sdk import constraints as c

VECTORS: list[tuple[str, list[Any], Any, bool]] = [
    # GGEN-p4-2: constraints compose; each pair is (constraints, value, whether it passes)
    ("string", [c.MinLength(2), c.MaxLength(4), c.Pattern("^[A-Z]+$")], "ABC", True),
    ("string", [c.MinLength(2), c.MaxLength(4), c.Pattern("^[A-Z]+$")], "A", False),
    ("string", [c.MinLength(2), c.MaxLength(4), c.Pattern("^[A-Z]+$")], "ABCDE", False),
    ("string", [c.MinLength(2), c.MaxLength(4), c.Pattern("^[A-Z]+$")], "abc", False),
    ("string", [c.Pattern("A"), c.Pattern("B")], "AB", True),
    ("string", [c.Pattern("A"), c.Pattern("B")], "A", False),
    ("string", [c.AnyOf(c.Length(1, 2), c.OneOf("INDEX"))], "INDEX", True),
    ("string", [c.AnyOf(c.Length(1, 2), c.OneOf("INDEX"))], "OTHER", False),
    ("string", [c.AllOf(c.Pattern("^A"), c.Not(c.Pattern("Z$")))], "AB", True),
    ("string", [c.AllOf(c.Pattern("^A"), c.Not(c.Pattern("Z$")))], "ABZ", False),
    ("integer", [c.MinValue(1), c.MaxValue(365), c.MultipleOf(5)], 90, True),
    ("integer", [c.MinValue(1), c.MaxValue(365), c.MultipleOf(5)], 91, False),
    ("integer", [c.MinValue(1), c.MaxValue(365), c.MultipleOf(5)], 0, False),
    ("integer", [c.MinValue(1), c.MinValue(10)], 5, False),
    ("array", [c.MinLength(1), c.MaxLength(2)], [1, 2, 3], False),
    ("object", [c.MinLength(1)], {}, False),
    *(("string", [c.Length(2, 3)], "x" * size, 2 <= size <= 3) for size in range(1, 5)),
    *(("array", [c.Length(1, 2)], [0] * size, 1 <= size <= 2) for size in range(4)),
    *(("object", [c.Length(1, 1)], dict.fromkeys("ab"[:size]), size == 1) for size in range(3)),
    ("string", [c.AnyOf({"const": "x"}, {"const": "y"})], "y", True),
]


@pytest.mark.parametrize(("kind", "found", "value", "passes"), VECTORS)
def test_composed_constraints_hold_together(
    kind: str, found: list[c.Constraint], value: Any, passes: bool
) -> None:
    """GGEN-p4-2"""
    schema: dict[str, Any] = {"type": kind}
    for one in found:
        schema = c.merged(schema, one.keywords(kind))
    assert (compile_schema(schema).objection(value) is None) is passes, schema


def test_a_second_word_on_the_same_keyword_adds_instead_of_replacing() -> None:
    assert c.merged({"minimum": 1}, {"minimum": 2}) == {"minimum": 1, "allOf": [{"minimum": 2}]}
    assert c.merged({"minimum": 1}, {"minimum": 1}) == {"minimum": 1}
