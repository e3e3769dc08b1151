"""A stdio MCP server whose tools have schemas of every kind, and give back what they were given.

It is a file, so it may be started from anywhere. What is judged with it is how the gateway describes such
schemas to others, and that it takes what it describes and nothing else.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["TOOLS", "main"]

_DIGIT = {"type": "integer", "minimum": 0, "maximum": 9}
"""Integers are bounded: 1e20 is one in JSON Schema, and none in OpenAPI 3.0, which wants no exponent."""
_TEXT = {"type": "string", "minLength": 1, "maxLength": 20}

_GIVEN: dict[str, dict[str, Any]] = {
    "FinancialAnalyzer": {
        "properties": {
            "ticker_symbol": {"type": "string", "pattern": "^[A-Z]{1,5}$", "maxLength": 5},
            "period_days": {"type": "integer", "minimum": 1, "maximum": 365},
            "analysis_type": {"type": "string", "enum": ["technical", "fundamental", "sentiment"]},
        },
        "required": ["ticker_symbol", "period_days"],
    },
    "nothing": {"additionalProperties": False},
    "numbers": {
        "properties": {
            "above": {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
            "step": {"type": "integer", "multipleOf": 3, "minimum": -30, "maximum": 30},
        },
        "required": ["above"],
        "additionalProperties": False,
    },
    "maybe": {
        "properties": {
            "text": {"type": ["string", "null"], "maxLength": 9},
            "either": {"type": ["integer", "boolean"], "minimum": 0, "maximum": 9},
            "fixed": {"const": "only this"},
        },
        "required": ["text", "either"],
    },
    "tree": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": _TEXT,
                    "children": {
                        "type": "array",
                        "maxItems": 2,
                        "items": {"$ref": "#/$defs/leaf"},
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            "leaf": {"type": "object", "properties": {"name": _TEXT}, "required": ["name"]},
        },
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
    },
    "choice": {
        "properties": {
            "of": {
                "oneOf": [
                    {"type": "string", "maxLength": 5},
                    {"type": "integer", "minimum": 0, "maximum": 9},
                ]
            },
            "any": {
                "anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]
            },
            "all": {"allOf": [{"type": "integer"}, {"minimum": 1}, {"maximum": 5}]},
            "not_zero": {"type": "integer", "not": {"enum": [0]}},
        },
        "required": ["of"],
        "additionalProperties": False,
    },
    "lists": {
        "properties": {
            "tags": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 4},
            "unique": {"type": "array", "items": _DIGIT, "uniqueItems": True},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "minProperties": 1,
        "additionalProperties": False,
    },
}


def _tool(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Takes {name}, gives it back",
        "inputSchema": {"type": "object", **schema},
        "outputSchema": {
            "type": "object",
            "properties": {"given": {"type": "object"}},
            "required": ["given"],
        },
    }


TOOLS = [_tool(name, schema) for name, schema in _GIVEN.items()]


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "tools/call":
        return {"content": [], "structuredContent": {"given": params.get("arguments") or {}}}
    if method == "tools/list":
        return {"tools": TOOLS}
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "shapes", "version": "1"},
    }


def main() -> int:
    """Answer line by line, as long as there are lines."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = _answer(message["method"], message.get("params") or {})
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            if message["method"] in ("server/discover", "ping"):
                answer = {"jsonrpc": "2.0", "id": message["id"], "error": _UNKNOWN}
            print(json.dumps(answer), flush=True)
    return 0


_UNKNOWN = {"code": -32601, "message": "Method not found"}

if __name__ == "__main__":
    sys.exit(main())
