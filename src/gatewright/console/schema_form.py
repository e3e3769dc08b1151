"""Maps a tool's JSON Schema to form fields for its arguments: text, number, boolean, choice; everything else as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

__all__ = ["MOST_FIELDS", "Field", "fields_of"]

MOST_FIELDS = 64
_CHOICES = 100
_LONG_CHARS = 200
"""A text that may be longer is written in several lines."""
Kind = Literal["string", "text", "number", "integer", "boolean", "choice", "json"]
_PLAIN: Mapping[str, Kind] = {"number": "number", "integer": "integer", "boolean": "boolean"}


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One member of the arguments."""

    name: str
    kind: Kind
    required: bool
    description: str = ""
    choices: list[str] = []
    """Of a choice: JSON texts."""
    usual: str = ""
    """Its default, JSON text."""
    least: str = ""
    most: str = ""
    shape: str = ""
    """What the JSON text has to be: `array`, `object`."""


def fields_of(schema: Any) -> list[Field] | None:
    """The fields, required ones first; None where the schema is not one of an object with few members: then all arguments are
    written as one JSON text."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if properties is None and isinstance(schema, Mapping) and schema.get("type") == "object":
        return []
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        return None
    needed = schema.get("required")
    required = needed if isinstance(needed, list) else []
    found = [_field(name, one, name in required) for name, one in properties.items()]
    return sorted(found, key=lambda one: not one.required)


def _field(name: str, schema: Any, required: bool) -> Field:
    said: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    told = said.get("description")
    common: dict[str, Any] = {
        "name": name,
        "required": required,
        "description": told if isinstance(told, str) else "",
        "usual": json.dumps(said["default"], ensure_ascii=False) if "default" in said else "",
    }
    choices = said.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= _CHOICES:
        texts = [json.dumps(one, ensure_ascii=False) for one in choices]
        return Field(kind="choice", choices=texts, **common)
    kind = said.get("type")
    if kind == "string":
        longest = said.get("maxLength")
        is_long = isinstance(longest, int) and longest > _LONG_CHARS
        return Field(kind="text" if is_long else "string", **common)
    if isinstance(kind, str) and kind in _PLAIN:
        return Field(
            kind=_PLAIN[kind],
            least=_number(said.get("minimum")),
            most=_number(said.get("maximum")),
            **common,
        )
    return Field(kind="json", shape=kind if isinstance(kind, str) else "", **common)


def _number(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else ""
