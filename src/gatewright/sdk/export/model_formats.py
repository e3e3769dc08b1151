"""Exports tool lists in the formats of OpenAI, Anthropic and Gemini, and as MCP's `tools/list`.

Names are what all of them take: letters, digits, `_` and `-`, at most 64. A name that is more is shortened and
ends in a piece of its hash, so that two long names stay two. Gemini reads a part of OpenAPI's schema language; what
it does not know is left out, because an unknown keyword is an error there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gatewright.patterns import Pattern
from gatewright.sdk.export.catalogue import Exportable, definition_of

__all__ = ["FORMS", "for_anthropic", "for_gemini", "for_mcp", "for_openai", "model_name"]

_OTHER = Pattern(r"[^A-Za-z0-9_-]")
_NAME_MOST = 64
# Keywords of the OpenAPI subset that `generateContent` takes.
_GEMINI = {
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "default",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
}
_GEMINI_FORMATS = {"date-time", "enum", "float", "double", "int32", "int64"}


def model_name(name: str) -> str:
    """The name as model APIs take it."""
    plain = _OTHER.sub("_", name)
    if len(plain) <= _NAME_MOST:
        return plain
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _NAME_MOST - 9]}_{mark}"


def for_mcp(tools: Iterable[Exportable]) -> dict[str, Any]:
    """The result of `tools/list`."""
    return {"tools": [dict(definition_of(one)) for one in tools]}


def for_openai(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of a chat completion."""
    return [
        {
            "type": "function",
            "function": {
                "name": model_name(one["name"]),
                "description": one.get("description", ""),
                "parameters": one.get("inputSchema", {"type": "object"}),
            },
        }
        for one in map(definition_of, tools)
    ]


def for_anthropic(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of a message."""
    return [
        {
            "name": model_name(one["name"]),
            "description": one.get("description", ""),
            "input_schema": one.get("inputSchema", {"type": "object"}),
        }
        for one in map(definition_of, tools)
    ]


def for_gemini(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of `generateContent`: one entry with all function declarations."""
    declarations = []
    for one in map(definition_of, tools):
        schema = one.get("inputSchema", {"type": "object"})
        declaration = {"name": model_name(one["name"]), "description": one.get("description", "")}
        if schema.get("properties"):
            declaration["parameters"] = _gemini(schema, schema.get("$defs", {}), ())
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}]


def _gemini(schema: Any, defs: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        return {}
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in defs:
        # There are no references: a type that contains itself ends as an object of anything.
        return {"type": "object"} if name in inside else _gemini(defs[name], defs, (*inside, name))
    found = _known(schema)
    if "properties" in found:
        inner = found["properties"].items()
        found["properties"] = {key: _gemini(one, defs, inside) for key, one in inner}
    if "items" in found:
        found["items"] = _gemini(found["items"], defs, inside)
    if "anyOf" in found:
        options = [_gemini(one, defs, inside) for one in found.pop("anyOf")]
        if len(options) > 1:
            return {**found, "anyOf": options}
        return {**options[0], **found} if options else found
    return found


def _known(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The members that are understood there, before those of what is inside."""
    found = {key: value for key, value in schema.items() if key in _GEMINI}
    if "const" in schema:
        found["enum"] = [schema["const"]]
    _without_null(found)
    if found.get("format") not in _GEMINI_FORMATS:
        found.pop("format", None)
    if "enum" in found and found.get("type", "string") == "string":
        found |= {"type": "string", "format": "enum"}
    return found


def _without_null(found: dict[str, Any]) -> None:
    """`null` among the types, or the alternatives, is `nullable`."""
    kinds = found.get("type")
    if isinstance(kinds, list):
        rest = [one for one in kinds if one != "null"]
        found["type"] = rest[0] if rest else "string"
        if len(rest) < len(kinds):
            found["nullable"] = True
    options = found.get("anyOf")
    if isinstance(options, list):
        rest = [one for one in options if one != {"type": "null"}]
        if len(rest) < len(options):
            found["nullable"] = True
        found["anyOf"] = rest


FORMS: Mapping[str, Callable[[Iterable[Exportable]], Any]] = MappingProxyType(
    {"mcp": for_mcp, "openai": for_openai, "anthropic": for_anthropic, "gemini": for_gemini}
)
"""Form → what writes it."""
