"""Converts a `KEY=TEXT` argument of `gatewright tool call TOOL` to the JSON type that the tool's input schema accepts.

The text itself where the schema takes it as a text; else the JSON value that it spells, where the schema takes that. So
`n=5` is a number for `["integer", "null"]`, for `anyOf`, `enum` and `$ref` alike, and stays a text where a text would do:
`KEY:=JSON` says otherwise. What fits neither way goes as it is, so that the gateway says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gatewright.mcp.wire import jsonrpc

__all__ = ["SINGLE", "typed"]

SINGLE = frozenset({"integer", "number", "boolean", "object", "array", "null"})
"""Types whose values are written as JSON."""

_OWN = ("$schema", "$id", "$defs", "definitions", "properties")
"""What a reference in an argument's schema may lead to, and what tells how it is read."""
_SHARED = (*_OWN, "allOf", "anyOf", "$ref", "patternProperties", "additionalProperties")
"""The same with what else may say something of an argument. It may also want others beside it, which are not looked at here: where
neither a text nor a value will do, the argument's own schema decides."""


def typed(text: str, key: str, schema: Any) -> Any:
    """The value for the argument `key` of a tool with this input schema."""
    try:
        value = jsonrpc.decode_whole(text.encode(errors="surrogateescape"))
    except ValueError:
        return text
    for members in (_SHARED, _OWN):
        takes = _taking(key, schema, members)
        if takes is None or takes(text):
            return text
        if takes(value):
            return value
    return text


def _taking(key: str, schema: Any, members: Sequence[str]) -> Any:
    """Says whether the schema takes a value for the argument; None where nobody can tell."""
    # Only an argument whose schema names no single type pays for the library.
    from gatewright.schemas.graph import UnusableSchema  # noqa: PLC0415
    from gatewright.schemas.schema import compile_schema  # noqa: PLC0415

    if not isinstance(schema, dict):
        return None
    try:
        compiled = compile_schema({one: schema[one] for one in members if one in schema})
    except UnusableSchema:
        return None
    return lambda value: compiled.objection({key: value}) is None
