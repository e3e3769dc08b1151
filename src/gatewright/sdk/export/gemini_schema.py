"""Converts JSON Schema to the OpenAPI subset that Gemini's `generateContent` accepts: inlines `$ref`, string enums, bounded size.

An unknown keyword is an error there, so what has no counterpart is left out, and what has one is written by it: `oneOf` as `anyOf`,
`allOf` as one schema, `null` as `nullable`. Types that refer to each other are written out, which takes a power of their number where
each refers to the next twice: beyond a bound, as inside of itself, a type is an object of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["gemini_schema"]

_KNOWN = frozenset(
    "type format title description nullable enum default items minItems maxItems properties required minProperties maxProperties "
    "minimum maximum minLength maxLength pattern example anyOf propertyOrdering".split()
)
_FORMATS = frozenset({"date-time", "enum", "float", "double", "int32", "int64"})
_MOST, _DEEPEST = 5_000, 64
"""Schemas within one tool's, and levels."""
_ANYTHING = {"type": "object"}


def gemini_schema(schema: Any) -> dict[str, Any]:
    """The schema of a tool's arguments as Gemini takes it."""
    return _Reduction(schema).of(schema, ())


class _Reduction:
    """Of one schema, whose references lead into itself."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST

    def of(self, schema: Any, inside: tuple[str, ...], depth: int = 0) -> dict[str, Any]:
        """`inside` are the references that led here."""
        self._left -= 1
        if not isinstance(schema, Mapping):
            return {}
        if self._left < 0 or depth > _DEEPEST:
            return dict(_ANYTHING)
        found = self._known(schema, inside, depth + 1)
        for one in _list(schema.get("allOf")):
            _join(found, self.of(one, inside, depth + 1))
        reference = schema.get("$ref")
        if isinstance(reference, str):
            # What stands beside a reference is said as well, and says more of this place.
            _join(found, self._referred(reference, inside, depth + 1))
        if "required" in found and "properties" in found:
            found["required"] = [one for one in found["required"] if one in found["properties"]]
        return found

    def _referred(self, reference: str, inside: tuple[str, ...], depth: int) -> dict[str, Any]:
        if reference in inside:
            return dict(_ANYTHING)
        target = self._root
        for step in reference.split("/")[1:] if reference.startswith("#") else [reference]:
            name = step.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, Mapping) else None
        return self.of(target, (*inside, reference), depth)

    def _known(
        self, schema: Mapping[str, Any], inside: tuple[str, ...], depth: int
    ) -> dict[str, Any]:
        found = {key: value for key, value in schema.items() if key in _KNOWN}
        options = _list(found.pop("anyOf", None)) + _list(schema.get("oneOf"))
        if isinstance(kinds := found.get("type"), list):
            rest = [one for one in kinds if one != "null"]
            found["type"] = rest[0] if rest else "string"
            found |= {"nullable": True} if len(rest) < len(kinds) else {}
            if len(rest) > 1 and not options:
                del found["type"]
                options = [{"type": one} for one in rest]
        _choose(found, [schema["const"]] if "const" in schema else found.pop("enum", None))
        # Nobody has checked it: a list is in no set.
        if not isinstance(named := found.get("format"), str) or named not in _FORMATS:
            found.pop("format", None)
        self._go_in(found, inside, depth)
        rest = [one for one in options if one != {"type": "null"}]
        found |= {"nullable": True} if len(rest) < len(options) else {}
        inner = [self.of(one, inside, depth) for one in rest]
        if len(inner) > 1:
            found["anyOf"] = inner
        elif inner:
            _join(found, inner[0])
        return found

    def _go_in(self, found: dict[str, Any], inside: tuple[str, ...], depth: int) -> None:
        properties = found.pop("properties", None)
        if isinstance(properties, Mapping):
            found["properties"] = {
                key: self.of(one, inside, depth) for key, one in properties.items()
            }
        if "items" in found:
            found["items"] = self.of(found["items"], inside, depth)
        if isinstance(required := found.pop("required", None), list):
            found["required"] = [one for one in required if isinstance(one, str)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _choose(found: dict[str, Any], values: Any) -> None:
    """Only text is chosen from there; of other values their type is said."""
    if not isinstance(values, list):
        return
    rest = [one for one in values if one is not None]
    if len(rest) < len(values):
        found["nullable"] = True
    kinds = {_kind(one) for one in rest}
    if kinds == {"string"} and found.get("type", "string") == "string":
        found |= {"type": "string", "format": "enum", "enum": rest}
    elif kinds and kinds <= {"integer", "number"}:
        found.setdefault("type", "integer" if kinds == {"integer"} else "number")
    elif len(kinds) == 1:
        found.setdefault("type", kinds.pop())


def _kind(value: Any) -> str:
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
    return kinds.get(type(value), "object")


def _join(found: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add what another schema says of the same value; what is there stays."""
    for key, value in more.items():
        if key == "properties":
            found[key] = {**value, **found.get(key, {})}
        elif key == "required":
            found[key] = list(dict.fromkeys([*found.get(key, []), *value]))
        else:
            found.setdefault(key, value)
