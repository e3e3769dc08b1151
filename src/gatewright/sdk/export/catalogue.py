"""Exports tools as a JSON catalogue with tags (the author's, or words of category and name), and one tool as a document with examples.

Tags are the author's; where there are none they are derived from the tool's domain: the words of its category and
its name, each in one form, so that `FinancialAnalyzer` is about `financial` and `analysis`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gatewright.sdk.export.examples import examples_of
from gatewright.sdk.tool import Tool

__all__ = ["Exportable", "catalogue", "definition_of", "tags_of", "tool_document"]

Exportable = Tool | Mapping[str, Any]
"""A tool, or its MCP definition."""

VERSION = "1.0.0"
"""The version of the catalogue's form."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ONE_FORM = {
    "analyzer": "analysis",
    "analyser": "analysis",
    "analyze": "analysis",
    "analyse": "analysis",
    "analytics": "analysis",
    "finance": "financial",
    "finances": "financial",
    "searcher": "search",
    "converter": "conversion",
    "convert": "conversion",
    "translator": "translation",
    "translate": "translation",
    "validator": "validation",
    "validate": "validation",
}
_SAY_NOTHING = {"tool", "tools", "mcp", "the", "a", "an", "of", "to", "get", "set", "do", "run"}


def definition_of(tool: Exportable) -> Mapping[str, Any]:
    """The MCP definition."""
    return tool.definition() if isinstance(tool, Tool) else tool


def tags_of(tool: Exportable) -> list[str]:
    """The author's tags, or the words of category and name."""
    if isinstance(tool, Tool):
        if tool.tags:
            return list(tool.tags)
        text = f"{tool.category} {tool.name}"
    else:
        text = str(tool.get("name", ""))
    words = (one.lower() for one in _WORDS.findall(text))
    found = (_ONE_FORM.get(one, one) for one in words if one not in _SAY_NOTHING)
    return list(dict.fromkeys(found))


def catalogue(tools: Iterable[Exportable], *, now: dt.datetime) -> dict[str, Any]:
    """All tools: `tools` (name, description, inputSchema, tags), `version`, and `generated_at` in RFC 3339."""
    return {
        "tools": [{**_head(tool), "tags": tags_of(tool)} for tool in tools],
        "version": VERSION,
        "generated_at": now.astimezone(dt.UTC).isoformat(),
    }


def tool_document(tool: Exportable) -> dict[str, Any]:
    """One tool: its input schema, examples that satisfy it, and what is known of it."""
    definition = definition_of(tool)
    schema = definition.get("inputSchema", {})
    own = tool.examples if isinstance(tool, Tool) else ()
    return {
        "schema": schema,
        "examples": [dict(one) for one in own] or examples_of(schema),
        "metadata": _metadata(tool),
    }


def _metadata(tool: Exportable) -> dict[str, Any]:
    if isinstance(tool, Tool):
        return {
            "category": tool.category,
            "version": tool.version,
            "deprecated": tool.deprecated_in is not None,
            "author": tool.author,
        }
    return {"category": "", "version": VERSION, "deprecated": False, "author": ""}


def _head(tool: Exportable) -> dict[str, Any]:
    definition = definition_of(tool)
    return {
        "name": definition["name"],
        "description": definition.get("description", ""),
        "inputSchema": definition.get("inputSchema", {"type": "object"}),
    }
