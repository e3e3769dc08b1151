"""Does a JSON Schema's counted cost cover what validating takes? Keywords by what is in the schema and in the value.

    python -m benchmarks.schema_costs [NAME]

For each case the processor time of one validation in this thread, and its ratio to the counted evaluations of 15 ns: above 1 a
keyword takes longer than is counted, and `schemas/keyword_costs.py` has to say so. Cases below a millisecond are not judged.
0 where all that is judged is at most 3.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import jsonschema_rs

from gatewright.schemas.cost import cost_of
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.schema import compile_schema

__all__ = ["main"]

NS = 15
MOST_RATIO, LEAST_S = 3.0, 0.001
_COUNT = 400
_DRAFT_7 = "http://json-schema.org/draft-07/schema#"
_NAMES = [f"k{number}" for number in range(_COUNT)]
_ANY = {"type": ["object", "array", "string", "number", "boolean", "null"]}

Case = tuple[str, Any, Any]

_KINDS: dict[str, list[Any]] = {
    "whole": list(range(_COUNT)),
    "fractions": [number + 0.5 for number in range(_COUNT)],
    "64 bits": [2**63 + number for number in range(_COUNT)],
    "long": [10**30 + number for number in range(_COUNT)],
    "decimals": [Decimal(f"0.{10**30 + number}") for number in range(_COUNT)],
    "texts": [f"{'a' * 40}{number}" for number in range(_COUNT)],
    "lists": [[0.5] * 10 + [number] for number in range(_COUNT // 8)],
    "objects": [{"a": 0.5, "b": number} for number in range(_COUNT // 4)],
    "mixed": [None, True, *_NAMES[:100], *range(100), 0.5],
}
_TEXTS = {"ab": "ab" * 5000, "a": "a" * 10_000, "letters": "aéж-" * 2500, "dots": "a." * 5000}
_PATTERNS = (
    "[ab]*a[ab]{300}c",
    r"[\w-]*a[\w-]{60}[!?]",
    r"^[a-z]{1,64}$",
    ".*a.{200}[!?]",
    "(?=.*x)a",
    "(?!.*z)a*y",
    r"(a)\1*b",
)
_FORMATS = (
    "date date-time time email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uri-template "
    "json-pointer relative-json-pointer regex"
).split()


def _cases() -> Iterator[Case]:
    yield from _of_options()
    yield from _of_texts()
    yield from _of_objects()
    yield from _of_parts()


def _of_options() -> Iterator[Case]:
    for options, listed in _KINDS.items():
        for kind, values in _KINDS.items():
            value = [values[-1]] * 200
            yield f"enum of {options}, {kind}", {"items": {"not": {"enum": listed[:-1]}}}, value
        yield f"const of {options}", {"items": {"allOf": [{"const": listed[-1]}] * 100}}, value
        yield f"uniqueItems of {options}", {"uniqueItems": True}, listed
        for limit in ("minimum", "maximum", "multipleOf"):
            for number in (3, 0.05):
                schema = {"items": {"allOf": [{"not": {limit: number}}] * 50}}
                yield f"{limit} {number} of {options}", schema, listed


def _of_texts() -> Iterator[Case]:
    for text, value in _TEXTS.items():
        for pattern in _PATTERNS:
            yield f"pattern {pattern}, {text}", {"pattern": pattern}, value
            yield (
                f"propertyNames {pattern}, {text}",
                {"propertyNames": {"pattern": pattern}},
                {value: 1},
            )
        for name in _FORMATS:
            parts = {"allOf": [{"not": {"not": {"format": name}}}] * 30}
            yield (
                f"format {name}, {text}",
                {"$schema": _DRAFT_7, "items": parts},
                [value[:500]] * 50,
            )
        for name in ("minLength", "maxLength"):
            yield f"{name}, {text}", {"items": {"allOf": [{name: 9}] * 100}}, [value] * 10


def _of_objects() -> Iterator[Case]:
    given: dict[str, list[Any]] = {
        "whole": [dict.fromkeys(_NAMES[:100], 1)] * 20,
        "empty": [{}] * 2000,
    }
    for title, objects in given.items():
        for keyword, said in {
            "required": _NAMES[:100],
            "dependentRequired": dict.fromkeys(_NAMES[:100], _NAMES[:100]),
            "dependencies": dict.fromkeys(_NAMES[:100], _NAMES[:100]),
            "dependentSchemas": {key: {} for key in _NAMES},
            "properties": dict.fromkeys([f"x{number}" for number in range(9000)], True),
            "patternProperties": {f"a{number}b": {} for number in range(200)},
            "propertyNames": {"not": {"enum": _NAMES[100:]}},
            "additionalProperties": {"type": "integer"},
        }.items():
            yield f"{keyword}, {title}", {"items": {keyword: said}}, objects


def _of_parts() -> Iterator[Case]:
    for inside in ("allOf", "anyOf", "oneOf"):
        parts = [{"not": {"const": number}} for number in _KINDS["fractions"]]
        yield inside, {"items": {inside: parts}}, [1.25] * 200
        for keyword in ("unevaluatedProperties", "unevaluatedItems"):
            given: Any = (
                dict.fromkeys(_NAMES[:20], 1) if keyword.endswith("Properties") else [1] * 20
            )
            schema: dict[str, Any] = {"properties": {"a": True}, "prefixItems": [True]}
            for _ in range(11):
                schema = {inside: [schema], keyword: {"type": "integer"}}
            yield f"{keyword} in {inside}", schema, given
        contains = [{"contains": {"const": number}} for number in range(300)]
        yield f"contains in {inside}", {inside: contains, "unevaluatedItems": {}}, [*range(1000)]
    yield "if", {"items": {"allOf": [{"if": {"const": 1}, "then": {}}] * 200}}, [1] * 500
    yield (
        "dynamicRef",
        {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}},
        [[[[1] * 9] * 9] * 9] * 9,
    )


def _took(check: Any, value: Any) -> float:
    began = time.thread_time()
    check.is_valid(value)
    return time.thread_time() - began


def main(arguments: list[str]) -> int:
    """Print a row for each case."""
    worst = 0.0
    handed = jsonschema_rs.validator_for(_ANY)
    for name, schema, value in _cases():
        if arguments and arguments[0] not in name:
            continue
        try:
            compiled, cost = compile_schema(schema), cost_of(schema)
        except UnusableSchema as problem:
            print(f"{name:60} unusable: it {problem}"[:120])
            continue
        cost.backtracks = compiled.backtracks
        load = cost.load(value)
        if load is None:
            print(f"{name:60} refused")
            continue
        took = max(0.0, _took(compiled.check, value) - _took(handed, value))
        counted = (load.work + load.text) * NS / 1e9
        worst = max(worst, took / counted if took > LEAST_S else 0.0)
        print(
            f"{name:60} {took * 1000:9.2f} ms, {counted * 1000:10.2f} ms counted, {took / counted:7.3f}"
        )
    print(f"{'worst':60} {worst:.3f}")
    return 0 if worst <= MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
