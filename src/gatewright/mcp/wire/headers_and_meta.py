"""MCP constants and header codec: `_meta` keys; HTTP headers and `x-mcp-header` annotations, encoded and checked against the body.

Source: MCP 2026-07-28, basic/index and basic/transports/streamable-http ("Request Metadata").
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.patterns import DOTALL, Pattern

__all__ = [
    "ERROR_ORIGIN",
    "META_CLIENT_CAPABILITIES",
    "META_CLIENT_INFO",
    "META_LOG_LEVEL",
    "META_SERVER",
    "META_SERVER_INFO",
    "META_SUBSCRIPTION",
    "META_VERSION",
    "NAMED",
    "OF_CONNECTION",
    "OF_THE_SERVER",
    "TASK_STATUS",
    "check_headers",
    "decode_header",
    "encode_header",
    "param_headers",
    "request_headers",
]

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ERROR_ORIGIN = "dev.gatewright/origin"
"""Member of `_meta` in the data of an error that a server wrote with a `reason` of the gateway's: `server`."""
META_SERVER = "dev.gatewright/server"
"""The member of `_meta` that names the server, where several have a method. It is for the gateway, and goes no further."""
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
OF_CONNECTION = frozenset(
    (META_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES, META_LOG_LEVEL)
)
"""Members of `_meta` that say who asks, and nothing about the request."""
TASK_STATUS = frozenset({"notifications/tasks/status", "notifications/tasks"})
"""How servers say that a task stands differently: in the one dialect and in the other."""
OF_THE_SERVER = TASK_STATUS | frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/elicitation/complete",
        "notifications/mgp.event",
        "notifications/mgp.lifecycle",
    }
)
"""Notifications that concern a server and not one call of it."""

META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

NAMED: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""Methods whose target is mirrored in `Mcp-Name`, and the member of `params` that holds it."""

_PLAIN = Pattern(r"[\x20-\x7e]*")
_WRAPPED = Pattern(r"=\?base64\?(.*)\?=", DOTALL)
_TOKEN = Pattern(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DIGITS = 1000
_DECIMAL = Pattern(r"(-?[0-9]+)(?:\.0+)?")

_HOLDS = {
    "one": frozenset(
        (
            "additionalProperties",
            "contains",
            "contentSchema",
            "else",
            "if",
            "items",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        )
    ),
    "list": frozenset(("allOf", "anyOf", "oneOf", "prefixItems")),
    "names": frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties")),
}
"""JSON Schema 2020-12: which keywords hold one schema, a list of them, or one under each name.

All others hold data. An annotation inside a `default` or an `enum` is a value somebody may send, and
what a `$ref` leads to is annotated where it stands.
"""


def encode_header(value: str) -> str:
    """A header value that carries any text: as it is where that is safe, else wrapped in base64."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decode_header(value: str) -> str | None:
    """The text a header value carries; None where the wrapping is broken or not in canonical form."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        raw = base64.b64decode(wrapped[1], validate=True)
        text = raw.decode()
    except (binascii.Error, ValueError):
        return None
    # A text has one spelling: else several headers would each match the same body.
    return text if base64.b64encode(raw).decode() == wrapped[1] else None


def param_headers(schema: Any) -> dict[tuple[str, ...], str]:
    """The `x-mcp-header` annotations of an input schema: property path → header name part.

    Raises `ValueError` naming the flaw where an annotation breaks the rules; such a tool must not be
    offered by a client that speaks HTTP.
    """
    found: dict[tuple[str, ...], str] = {}
    # HTTP compares header names without case, so `seen` does.
    seen: set[str] = set()
    for path, node in _schemas(schema):
        if "x-mcp-header" not in node:
            continue
        name = node["x-mcp-header"]
        if not path:
            raise ValueError("x-mcp-header stands where no chain of properties leads")
        where = ".".join(path)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{where}: x-mcp-header is not a header name")
        if node.get("type") not in ("string", "integer", "boolean"):
            raise ValueError(f"{where}: x-mcp-header needs type string, integer or boolean")
        if name.lower() in seen:
            raise ValueError(f"{where}: x-mcp-header {name!r} is used twice")
        seen.add(name.lower())
        found[path] = name
    return found


def _schemas(root: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema within a schema, with its path where nothing but `properties` leads to it."""
    # No recursion: the schema is a server's, and as deep as that likes.
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), root)]
    while waiting:
        path, schema = waiting.pop()
        if isinstance(schema, dict):
            yield path, schema
            for keyword, held in schema.items():
                waiting += _inside(path, keyword, held)


def _inside(
    path: tuple[str, ...] | None, keyword: str, held: Any
) -> list[tuple[tuple[str, ...] | None, Any]]:
    """The schemas right inside one keyword."""
    if keyword == "properties" and isinstance(held, dict):
        return [(None if path is None else (*path, name), one) for name, one in held.items()]
    if keyword in _HOLDS["one"]:
        return [(None, held)]
    if keyword in _HOLDS["list"] and isinstance(held, list):
        return [(None, one) for one in held]
    if keyword in _HOLDS["names"] and isinstance(held, dict):
        return [(None, one) for one in held.values()]
    return []


def request_headers(
    method: str,
    params: Mapping[str, Any],
    annotations: Mapping[tuple[str, ...], str],
    revision: str,
) -> dict[str, str]:
    """The headers a modern HTTP request must carry, computed from its body."""
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
    member = NAMED.get(method)
    name = params.get(member) if member else None
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header(name)
    for path, part in annotations.items():
        text = _scalar(_at(params.get("arguments"), path))
        if text is not None:
            headers[f"Mcp-Param-{part}"] = encode_header(text)
    return headers


def check_headers(
    headers: Mapping[str, str],
    method: str,
    params: Mapping[str, Any],
    annotations: Mapping[tuple[str, ...], str],
) -> str | None:
    """The first disagreement between headers (names in lower case) and body, or None.

    `MCP-Protocol-Version` is compared by the caller, who knows where the body says it.
    """
    if headers.get("mcp-method") != method:
        return "Mcp-Method does not match the method of the body"
    member = NAMED.get(method)
    name = params.get(member) if member else None
    if member and isinstance(name, str):
        said = headers.get("mcp-name")
        if said is None:
            return f"Mcp-Name is missing; it must repeat {member!r} of the body"
        # What is not wrapped is the text itself.
        if (said != name or said[:2] == "=?") and decode_header(said) != name:
            return f"Mcp-Name does not match {member!r} of the body"
    for path, part in annotations.items():
        flaw = _check_param(headers.get(f"mcp-param-{part.lower()}"), part, path, params)
        if flaw:
            return flaw
    return None


def _check_param(
    said: str | None, part: str, path: tuple[str, ...], params: Mapping[str, Any]
) -> str | None:
    value = _at(params.get("arguments"), path)
    text = _scalar(value)
    where = ".".join(path)
    if text is None:
        return f"Mcp-Param-{part} is present but argument {where!r} is not" if said else None
    if said is None:
        return f"Mcp-Param-{part} is missing; it must repeat argument {where!r}"
    decoded = decode_header(said)
    if decoded == text:
        return None
    number = _DECIMAL.fullmatch(decoded or "")
    # The length before `int`, which takes the square of it and refuses very many digits.
    digits = number[1] if number is not None and len(number[1]) <= _DIGITS else ""
    if digits and isinstance(value, (int, float)) and value == int(value) == int(digits):
        return None  # integers compare as numbers: 42 and 42.0 are equal
    return f"Mcp-Param-{part} does not match argument {where!r}"


def _at(arguments: Any, path: tuple[str, ...]) -> Any:
    node = arguments
    for key in path:
        if not isinstance(node, dict):
            return None
        node = node.get(key)
    return node


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None
