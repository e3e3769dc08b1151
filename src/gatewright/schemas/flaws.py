"""Lists up to 16 schema violations of a call's arguments by field, with quoted value and suggested fix; caches compiled schemas.

A caller who is told of all of them corrects them in one round; REST, ggen and MGP `validate` do so. The
value that does not fit is quoted: it goes back to who sent it, and nowhere else. What is said of it is
read from the schema alone, so that no tool needs texts of its own; a schema that brings
`externalDocs` (as OpenAPI has it) names where its author says more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from gatewright.patterns import Pattern
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.json_pointers import STEP_CHARS
from gatewright.schemas.schema import CompiledSchema, TakesLongError, Violation

__all__ = ["MOST", "Flaw", "Flaws"]

MOST = 16
"""So many flaws of one value are told."""

_QUOTED = 80
_MOST_CHARS = 4000
_LISTED = 20
"""So many options or names are told of one field."""
_EXPECTED = 300
"""So much of a pattern, and of what else a rule asks for."""

_CLASSES = {
    "A-Z": "uppercase letters",
    "a-z": "lowercase letters",
    "A-Za-z": "letters",
    "a-zA-Z": "letters",
    "0-9": "digits",
    "A-Z0-9": "uppercase letters and digits",
    "a-z0-9": "lowercase letters and digits",
    "A-Za-z0-9": "letters and digits",
    "a-zA-Z0-9": "letters and digits",
}
_ONE_CLASS = Pattern(r"\^\[([A-Za-z0-9-]+)\](?:\+|\*|\{[0-9,]+\})\$")
"""A pattern that says nothing but of which letters a text is made."""

_ORDER = ("required", "additionalProperties", "type", "enum", "pattern")
"""What is told first of several flaws of one field: the others often follow from it."""


class Flaw(msgspec.Struct, frozen=True):
    """One thing that is wrong. `field` is the dotted path, None for the arguments as a whole."""

    field: str | None
    rule: str
    reason: str
    suggestions: tuple[str, ...] = ()
    documentation_url: str | None = None


class Flaws:
    """Validates arguments again after they were refused, or before they are sent. Schemas are compiled once
    and kept by their identity, as many as were asked about last."""

    def __init__(self, depth: int = 32, subschemas: int = 1000) -> None:
        """The bounds of any one schema, as the gate has them."""
        self._kept = Compiled(depth, subschemas)

    def of(self, schema: Any, arguments: Any) -> list[Flaw]:
        """What is wrong, at most `MOST` flaws, the telling ones first. There are none where the schema says nothing
        or cannot be used, nor where a worker judged the arguments because that takes too long for the event loop."""
        compiled = None if schema is None else self._kept.of(schema)
        if not isinstance(compiled, CompiledSchema):
            return []
        try:
            found = compiled.violations(arguments, MOST, at_once=True)
        except TakesLongError:
            return []
        # By place, arrays before objects; at one place by what makes the other flaws follow (`_ORDER`).
        found.sort(key=lambda one: (*map(_place, one.path), (3, _rank(one.rule), "")))
        return [_flaw(schema, arguments, one) for one in found]


def _place(step: str | int) -> tuple[int, int, str]:
    """Where a step comes in its level: a member whose name is a number is told like an item of a list."""
    return (1, step, "") if isinstance(step, int) else (2, 0, step)


def _rank(rule: str) -> int:
    return _ORDER.index(rule) if rule in _ORDER else len(_ORDER)


def _flaw(schema: Any, arguments: Any, found: Violation) -> Flaw:
    steps = list(found.path)
    if found.rule == "required" and isinstance(found.expected, str):
        steps.append(found.expected)
    value = _at(arguments, found.path)
    said = _REASONS.get(found.rule)
    reason = said(found.expected, value) if said is not None else _sentence(found.message)
    reason = reason if len(reason) <= _MOST_CHARS else f"{reason[:_MOST_CHARS]}…"
    rules = _schema_at(schema, steps)
    return Flaw(
        ".".join(str(one)[:STEP_CHARS] for one in steps) or None,
        found.rule,
        reason,
        _suggestions(found, rules),
        _documentation(rules),
    )


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


# -- why


def _quoted(value: Any) -> str:
    if not isinstance(value, str):
        return _kind(value)
    text = value if len(value) <= _QUOTED else value[:_QUOTED] + "…"
    return f"'{text}'"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return f"{value}"[:_QUOTED]
    return "an array" if isinstance(value, list) else "an object"


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names: Mapping[type, str] = {str: "string", int: "integer", dict: "object", list: "array"}
    return "null" if value is None else names.get(type(value), "number")


def _listed(options: Any) -> str:
    said = ", ".join(_quoted(one) for one in islice(options, _LISTED))
    return said if len(options) <= _LISTED else f"{said} and {len(options) - _LISTED} more"


def _named(names: Any) -> str:
    said = ", ".join(one[:_QUOTED] for one in islice(names, _LISTED))
    return said if len(names) <= _LISTED else f"{said} and {len(names) - _LISTED} more"


_Say = Callable[[Any, Any], str]


def _size(unit: str, words: str) -> _Say:
    def say(limit: Any, value: Any) -> str:
        count = len(value) if isinstance(value, str | list | dict) else 0
        return f"Wrong length: expected {words} {limit} {unit}, got {count}"

    return say


def _range(words: str) -> _Say:
    return lambda limit, value: f"Out of range: expected {words} {limit}, got {_quoted(value)}"


_REASONS: Mapping[str, _Say] = {
    "pattern": lambda pattern, value: (
        f"Pattern mismatch: expected {pattern[:_EXPECTED]}, got {_quoted(value)}"
    ),
    "type": lambda types, value: (
        f"Type mismatch: expected {_listed_types(types)}, got {_type_of(value)}"
    ),
    "enum": lambda options, value: (
        f"Value not allowed: expected one of {_listed(options)}, got {_quoted(value)}"
    ),
    "const": lambda value, got: f"Value not allowed: expected {_quoted(value)}, got {_quoted(got)}",
    "required": lambda name, _: f"Required field missing: {name[:_EXPECTED]}",
    "additionalProperties": lambda names, _: f"Unknown field: {_named(names)}",
    "minLength": _size("characters", "at least"),
    "maxLength": _size("characters", "at most"),
    "minItems": _size("items", "at least"),
    "maxItems": _size("items", "at most"),
    "minimum": _range("at least"),
    "maximum": _range("at most"),
    "exclusiveMinimum": _range("more than"),
    "exclusiveMaximum": _range("less than"),
    "multipleOf": lambda step, value: f"Out of step: expected a multiple of {step}, got {value}",
}


# -- what to do


def _suggestions(found: Violation, rules: Mapping[str, Any]) -> tuple[str, ...]:
    said: list[str] = []
    if found.rule == "required":
        said.append(f"Add the field {found.expected[:_EXPECTED]}")
    if found.rule == "additionalProperties":
        said.append("Remove what the schema does not name")
    if found.rule in ("pattern", "minLength", "maxLength"):
        said += _of_text(rules)
    if found.rule in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        said += _between("Value", rules.get("minimum"), rules.get("maximum"), "")
    if found.rule == "type" and "type" in rules:
        said.append(f"Send {_listed_types(rules['type'])}")
    examples = rules.get("examples")
    if isinstance(examples, list) and examples:
        said.append(f"For example {_quoted(examples[0])}")
    return tuple(said)


def _listed_types(types: Any) -> str:
    names = types if isinstance(types, list) else [types]
    return " or ".join(map(str, names))


def _of_text(rules: Mapping[str, Any]) -> list[str]:
    pattern = rules.get("pattern")
    alone = _ONE_CLASS.fullmatch(pattern) if isinstance(pattern, str) else None
    words = _CLASSES.get(alone[1]) if alone is not None else None
    said = [] if words is None else [f"Use {words} only"]
    return said + _between("Length", rules.get("minLength"), rules.get("maxLength"), " characters")


def _between(what: str, least: Any, most: Any, unit: str) -> list[str]:
    if least is not None and most is not None:
        return [f"{what} must be {least}-{most}{unit}"]
    if least is not None:
        return [f"{what} must be at least {least}{unit}"]
    return [] if most is None else [f"{what} must be at most {most}{unit}"]


def _documentation(rules: Mapping[str, Any]) -> str | None:
    docs = rules.get("externalDocs")
    url = docs.get("url") if isinstance(docs, dict) else None
    return url if isinstance(url, str) and len(url) <= _MOST_CHARS else None


# -- where


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _schema_at(schema: Any, steps: Sequence[str | int]) -> Mapping[str, Any]:
    """The schema of a field, as far as plain `properties` and `items` lead to it."""
    found = _resolved(schema, schema)
    for step in steps:
        named = found.get("properties")
        inner = named.get(str(step)) if isinstance(named, dict) else None
        if inner is None and isinstance(step, int):
            inner = found.get("items")
        found = _resolved(schema, inner)
    return found


def _resolved(root: Any, schema: Any) -> Mapping[str, Any]:
    # A reference may lead to another one, or back to itself.
    for _ in range(8):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        steps = [one.replace("~1", "/").replace("~0", "~") for one in reference[2:].split("/")]
        schema = _at(root, steps)
    return schema if isinstance(schema, dict) else {}
