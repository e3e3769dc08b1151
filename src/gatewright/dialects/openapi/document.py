"""Describes the REST endpoint as OpenAPI 3.0 for given tools: listing, any tool by name, typed operations for each, error responses (ggen).

It says what the REST endpoint does and nothing else: one operation for any tool by its name, as the
specification has it, and one for each tool with its own schema, so that a client made from the document
has typed functions. Version 3.0.0 of the format, because that is what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from gatewright.dialects.openapi.to_openapi import Schemas, component_name

__all__ = ["TITLE", "VERSION", "document"]

TITLE = "ggen Tool Registry"
VERSION = "1.0.0"

_REFUSALS: Mapping[str, tuple[str, str]] = {
    "400": ("ValidationError", "The input does not fit the tool's schema, or is no JSON object"),
    "401": ("AuthenticationError", "Nobody is known by this credential"),
    "403": ("AuthorizationError", "Policy does not let this caller do that"),
    "404": ("NotFound", "There is no such tool"),
    "406": ("NotAcceptable", "The answer is JSON, which the client does not take"),
    "408": ("RequestTimeout", "The body did not arrive in time"),
    "413": ("TooLarge", "The body is too long"),
    "415": ("UnsupportedMedia", "The body is not JSON"),
    "429": ("RateLimitExceeded", "Too many calls; data.retry_after_ms says when to come back"),
    "422": (
        "NotAgain",
        "The call may have been carried out, and then failed; sending it again may do it twice",
    ),
    "500": ("InternalError", "The gateway is broken"),
    "502": ("ToolExecution", "The tool failed, or answered with something that cannot be used"),
    "503": ("Unavailable", "The tool's server is not there, or there is no room"),
    "504": ("ToolTimeout", "The tool did not answer in time"),
}
_READ = ("401", "403", "404", "406", "429", "500", "503")

_ERROR: Mapping[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "data"],
            "properties": {
                "code": {"type": "integer"},
                "message": {"type": "string"},
                "data": {"$ref": "#/components/schemas/ErrorData"},
            },
        }
    },
}
_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": "string", "nullable": True}
_ERROR_DATA: Mapping[str, Any] = {
    "type": "object",
    "required": ["error_type", "field", "reason", "trace_id", "suggestions", "documentation_url"],
    "properties": {
        "error_type": _TEXT,
        "field": _TEXT_OR_NULL,
        "reason": _TEXT,
        "trace_id": _TEXT,
        "suggestions": {"type": "array", "items": _TEXT},
        "documentation_url": _TEXT_OR_NULL,
        "kind": _TEXT,
        "retryable": {"type": "boolean"},
        "retry_after_ms": {"type": "integer"},
    },
}
_DEFINITION: Mapping[str, Any] = {
    "type": "object",
    "required": ["name", "description", "inputSchema"],
    "properties": {"name": _TEXT, "description": _TEXT, "inputSchema": {"type": "object"}},
}
_LIST: Mapping[str, Any] = {
    "type": "object",
    "required": ["tools"],
    "properties": {"tools": {"type": "array", "items": {"$ref": "#/components/schemas/Tool"}}},
}


def document(
    tools: Iterable[Mapping[str, Any]], *, base: str = "/", anonymous: bool = False
) -> dict[str, Any]:
    """The document. `tools` are decoded definitions, `base` is where the paths begin, `anonymous` says
    that callers without a credential are let in."""
    schemas = Schemas()
    paths: dict[str, Any] = {"/tools": {"get": _listing()}, "/tools/{tool_name}": _any_tool()}
    keys = {"tool": 1}  # `get_tool` is the operation for any tool
    for tool in tools:
        path = f"/tools/{quote(tool['name'], safe='')}"
        paths[path] = _one_tool(tool, _key(tool["name"], keys), schemas)
    bearer: list[dict[str, Any]] = [{"bearer": []}]
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": VERSION},
        "servers": [{"url": base}],
        "security": [{}, *bearer] if anonymous else bearer,
        "paths": paths,
        "components": _components(schemas),
    }


def _components(schemas: Schemas) -> dict[str, Any]:
    own = {
        "ToolInput": {
            "type": "object",
            "description": "The tool's arguments, as its schema has them",
        },
        "ToolOutput": {"description": "What the tool gave: any JSON value"},
        "Tool": _DEFINITION,
        "ToolList": _LIST,
        "Error": _ERROR,
        "ErrorData": _ERROR_DATA,
    }
    said = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "schemas": {**schemas.components, **own},
        "responses": {
            name: {"description": text, "content": said} for name, text in _REFUSALS.values()
        },
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    }


def _listing() -> dict[str, Any]:
    return {
        "summary": "List the tools that the caller may call",
        "operationId": "list_tools",
        "responses": {"200": _ok("The tools", _ref("ToolList")), **_refusals(_READ)},
    }


def _any_tool() -> dict[str, Any]:
    named = {"name": "tool_name", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "get": {"parameters": [named], **_definition("get_tool")},
        "post": {
            "summary": "Invoke a tool",
            "operationId": "invoke_tool",
            "parameters": [named],
            "requestBody": _body(_ref("ToolInput")),
            "responses": {
                "200": _ok("Tool execution successful", _ref("ToolOutput")),
                **_refusals(_REFUSALS),
            },
        },
    }


def _key(name: str, taken: dict[str, int]) -> str:
    """What a tool is called where fewer characters are allowed; each key is given once. `taken` has how often each was wanted: names
    of another script are all wanted as underscores."""
    wanted = key = component_name(name)
    while key in taken:
        taken[wanted] += 1
        key = f"{wanted}_{taken[wanted]}"
    taken[key] = 1
    return key


def _one_tool(tool: Mapping[str, Any], key: str, schemas: Schemas) -> dict[str, Any]:
    given = schemas.translated(tool.get("inputSchema", {}), key + ".input")
    output = tool.get("outputSchema")
    gives = _ref("ToolOutput") if output is None else schemas.translated(output, key + ".output")
    post: dict[str, Any] = {
        "summary": _line(tool.get("title") or tool["name"]),
        "operationId": "call_" + key,
        "requestBody": _body(given),
        "responses": {"200": _ok("What the tool gave", gives), **_refusals(_REFUSALS)},
    }
    if tool.get("description"):
        post["description"] = str(tool["description"])
    return {"get": _definition("get_" + key), "post": post}


def _definition(operation: str) -> dict[str, Any]:
    return {
        "summary": "Read the definition of a tool",
        "operationId": operation,
        "responses": {"200": _ok("The tool", _ref("Tool")), **_refusals(_READ)},
    }


def _line(text: object) -> str:
    return " ".join(str(text).split())[:120]


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _ok(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _refusals(statuses: Iterable[str]) -> dict[str, Any]:
    return {
        status: {"$ref": f"#/components/responses/{_REFUSALS[status][0]}"} for status in statuses
    }
