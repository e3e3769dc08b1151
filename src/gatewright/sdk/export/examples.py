"""Generates example arguments from a JSON Schema and keeps those that validate.

Theory: making a value for any schema is as hard as any problem, so candidates are made from the keywords that
tools use, and whatever does not satisfy the whole schema is thrown away. What is left is always valid; for a schema
that is beyond this there is no example instead of a wrong one. The same schema gives the same examples.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.sdk.export.sample_text import texts

__all__ = ["examples_of"]

# Levels below which optional members and further references are left out.
_DEEPEST = 6
# Candidates for each example that is asked for.
_ROUNDS = 4
_MOST_VALUES = 10_000
"""Values in one candidate. A schema may ask for a billion, or for twelve of itself in each of itself."""
_COUNTS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Length", "Items", "Properties")
)


def examples_of(schema: Mapping[str, Any], most: int = 2) -> list[dict[str, Any]]:
    """Up to `most` different arguments that satisfy the schema: the least first, then one with every member."""
    from gatewright.schemas.graph import UnusableSchema
    from gatewright.schemas.schema import compile_schema

    try:
        objection = compile_schema(dict(schema)).objection
    except UnusableSchema:
        return []
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    for turn in range(_ROUNDS * most):
        try:
            made = _Maker(schema, turn, full=turn % 2 == 1).value(schema, 0)
        except _TooLargeError:
            continue
        text = json.dumps(made, sort_keys=True, default=str)
        if isinstance(made, dict) and text not in seen and objection(made) is None:
            found.append(made)
            seen.add(text)
        if len(found) == most:
            break
    return found


class _TooLargeError(Exception):
    """The candidate would have more values than are made."""


class _Maker:
    """Makes the candidate of one turn; another turn picks other alternatives and numbers."""

    def __init__(self, root: Mapping[str, Any], turn: int, *, full: bool) -> None:
        self.left = _MOST_VALUES
        self._root = root
        self._turn = turn
        self._full = full

    def value(self, schema: Any, depth: int) -> Any:
        """A candidate for a schema at a depth. Raises `_TooLargeError`."""
        self._take()
        if not isinstance(schema, Mapping):
            return "text"
        schema = self._flat(schema, depth)
        given = self._given(schema)
        if given:
            return given[self._turn % len(given)]
        kind = self._kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        return self._scalar(schema, kind)

    def _take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError

    def _kind(self, schema: Mapping[str, Any]) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = kind[self._turn % len(kind)] if kind else None
        return kind or ("object" if "properties" in schema else "string")

    def _scalar(self, schema: Mapping[str, Any], kind: Any) -> Any:
        if kind in {"integer", "number"}:
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self._turn % 2 == 0
        return self._text(schema) if kind == "string" else None

    def _flat(self, schema: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
        """The schema with its reference followed, all of `allOf` and one alternative laid over it."""
        self._take()
        found = {name: _whole(name, value) for name, value in schema.items()}
        if depth > _DEEPEST:
            return {"type": found.get("type", "null")}
        target = self._target(found.pop("$ref", None))
        parts = [target] if target is not None else []
        parts += [one for one in found.pop("allOf", ()) if isinstance(one, Mapping)]
        for keyword in ("anyOf", "oneOf"):
            options = found.pop(keyword, ())
            if options:
                parts.append(options[self._turn // 2 % len(options)])
        for part in parts:
            if isinstance(part, Mapping):
                found = _laid_over(found, self._flat(part, depth + 1))
        return found

    def _target(self, reference: Any) -> Mapping[str, Any] | None:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        at: Any = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            at = at.get(name) if isinstance(at, Mapping) else None
        return at if isinstance(at, Mapping) else None

    def _given(self, schema: Mapping[str, Any]) -> list[Any]:
        if "const" in schema:
            return [schema["const"]]
        given = [*schema.get("examples", ()), *schema.get("enum", ())]
        # The default twice, least and full; later turns look for other values.
        if "default" in schema and self._turn < 2 and schema["default"] is not None:
            given = [schema["default"]]
        return given

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        names = [one for one in properties if self._full or one in required]
        found = {
            one: self.value(properties[one], depth + 1)
            for one in names
            if depth < _DEEPEST or one in required
        }
        for one in required:
            found.setdefault(one, "text")
        more = schema.get("additionalProperties", True)
        for number in range(schema.get("minProperties", 0) - len(found)):
            found[f"key{number + 1}"] = self.value(more, depth + 1)
        return found

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = [self.value(one, depth + 1) for one in schema.get("prefixItems", ())]
        least = max(schema.get("minItems", 0), len(first))
        count = max(least, 1 if self._full and depth < _DEEPEST else 0)
        count = min(count, schema.get("maxItems", count))
        found = first[:count]
        items = schema.get("items", {})
        while len(found) < count:
            turn = self._turn + (len(found) if schema.get("uniqueItems") else 0)
            inside = _Maker(self._root, turn, full=self._full)
            inside.left = self.left
            found.append(inside.value(items, depth + 1))
            self.left = inside.left
        return found

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None:
            low = min(1, high) if high is not None else 1
        step = schema.get("multipleOf") or _step(low, high, whole=whole)
        made = -(-low // step) * step
        if not math.isfinite(made):  # beyond what a float can be divided into
            made = low
        if made == schema.get("exclusiveMinimum"):
            made += step
        # Somewhere between the bounds, another place each turn.
        room = int(((made + 30 * step if high is None else high) - made) // step)
        made += step * (room * (self._turn % 4) // 4)
        return int(made) if whole else made

    def _text(self, schema: Mapping[str, Any]) -> str:
        return next(_later(texts(schema), self._turn), "text")


def _whole(keyword: str, value: Any) -> Any:
    """A count may be written `2.0` (JSON Schema 2020-12, validation, section 6.3)."""
    return int(value) if isinstance(value, float) and keyword in _COUNTS else value


def _step(low: float, high: float | None, *, whole: bool) -> float:
    if whole:
        return 1
    return 0.5 if high is None or high - low >= 1 else (high - low) / 4 or 0.5


def _later(found: Iterator[str], turn: int) -> Iterator[str]:
    """The iterator, begun at another place each turn where it has so many."""
    kept = [one for one, _ in zip(found, range(4), strict=False)]
    return iter(kept[turn % len(kept) :] if kept else ())


def _laid_over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    found = {**under, **over}
    if "properties" in under and "properties" in over:
        found["properties"] = {**under["properties"], **over["properties"]}
    if "required" in under and "required" in over:
        found["required"] = list(dict.fromkeys([*under["required"], *over["required"]]))
    for keyword, pick in (
        ("minimum", max),
        ("minLength", max),
        ("maximum", min),
        ("maxLength", min),
    ):
        if keyword in under and keyword in over:
            found[keyword] = pick(under[keyword], over[keyword])
    return found
