"""Exports tool lists for OpenAI, Anthropic, Gemini (reduced schemas) and as MCP's `tools/list`; fits names to those model APIs.

Names are what all of them take: letters, digits, `_` and `-`, at most 64. A name that is more is shortened and
ends in a piece of its hash, so that two long names stay two; so does one that would become another's in the same list.
Gemini reads a part of OpenAPI's schema language (`gemini_schema`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gatewright.patterns import Pattern
from gatewright.sdk.export.catalogue import Exportable, definition_of
from gatewright.sdk.export.gemini_schema import gemini_schema

__all__ = [
    "FORMS",
    "for_anthropic",
    "for_gemini",
    "for_mcp",
    "for_openai",
    "model_name",
    "model_names",
]

_OTHER = Pattern(r"[^A-Za-z0-9_-]")
_NAME_MOST = 64
_DIGITS = 8
"""Of a hash that keep two names apart."""


def model_name(name: str) -> str:
    """The name as model APIs take it."""
    plain = _OTHER.sub("_", name)
    return plain if len(plain) <= _NAME_MOST else _marked(name)


def model_names(names: Iterable[str]) -> dict[str, str]:
    """Each name as model APIs take it in one list, where no two may be the same: `a.b` beside `a_b` has a piece of its hash."""
    every = list(dict.fromkeys(names))
    found = {name: name for name in every if model_name(name) == name}
    taken = set(found)
    for name in every:
        if name in found:
            continue
        plain, digits = model_name(name), _DIGITS
        while plain in taken:
            plain, digits = _marked(name, digits), digits * 2
        found[name] = plain
        taken.add(plain)
    return found


def _marked(name: str, digits: int = _DIGITS) -> str:
    plain = _OTHER.sub("_", name)
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    return f"{plain[: max(0, _NAME_MOST - 1 - len(mark))]}_{mark}"[-_NAME_MOST:]


def _named(tools: Iterable[Exportable]) -> list[tuple[str, Mapping[str, Any]]]:
    """Each definition with its name among them."""
    definitions = [definition_of(one) for one in tools]
    names = model_names(one["name"] for one in definitions)
    return [(names[one["name"]], one) for one in definitions]


def for_mcp(tools: Iterable[Exportable]) -> dict[str, Any]:
    """The result of `tools/list`."""
    return {"tools": [dict(definition_of(one)) for one in tools]}


def for_openai(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of a chat completion."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": one.get("description", ""),
                "parameters": one.get("inputSchema", {"type": "object"}),
            },
        }
        for name, one in _named(tools)
    ]


def for_anthropic(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of a message."""
    return [
        {
            "name": name,
            "description": one.get("description", ""),
            "input_schema": one.get("inputSchema", {"type": "object"}),
        }
        for name, one in _named(tools)
    ]


def for_gemini(tools: Iterable[Exportable]) -> list[dict[str, Any]]:
    """The `tools` of `generateContent`: one entry with all function declarations."""
    declarations = []
    for name, one in _named(tools):
        declaration = {"name": name, "description": one.get("description", "")}
        parameters = gemini_schema(one.get("inputSchema", {"type": "object"}))
        if parameters.get("properties") or parameters.get("anyOf"):
            declaration["parameters"] = parameters
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}]


FORMS: Mapping[str, Callable[[Iterable[Exportable]], Any]] = MappingProxyType(
    {"mcp": for_mcp, "openai": for_openai, "anthropic": for_anthropic, "gemini": for_gemini}
)
"""Form → what writes it."""
