"""What the servers of the two-sided model say of themselves, and what they list."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from tests.behaviour.two_sided_facts import MODERN, SERVER_EXTENSIONS, SERVERS, WAITS

__all__ = ["LISTS", "hello", "listed"]

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_HARMFUL = {"destructiveHint": True}
"""So an operator is asked about it at a server of which the configuration says nothing."""
_CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
    "completions": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


def hello(name: str, *, modern: bool) -> dict[str, Any]:
    """The answer to whoever meets it."""
    info, can = {"name": name, "version": "1"}, dict(_CAPABILITIES)
    if "mgp" in SERVERS[name]:
        can["mgp"] = {"version": "0.2.0", "extensions": list(SERVER_EXTENSIONS)}
    if modern:
        meta = {META_SERVER_INFO: info}
        more = {"supportedVersions": [MODERN], "capabilities": can, "_meta": meta}
        return {"resultType": "complete", **more}
    return {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info}


def listed(method: str, name: str, foreign: str) -> list[dict[str, Any]]:
    """The entries of one list; with `foreign`, what is that server's as its own."""
    words, names = {"description": f"by-{name}"}, [name, foreign or name]
    if method == "tools/list":
        schema, task = {"type": "object"}, {"taskSupport": "optional"}
        return [
            {"name": one, "inputSchema": schema, "execution": task, **words} for one in ("do", "no")
        ] + [{"name": WAITS, "inputSchema": schema, "annotations": _HARMFUL, **words}]
    if method == "prompts/list":
        return [{"name": "p", "arguments": [{"name": "a"}], **words}]
    uris = [f"{one}://r" for one in dict.fromkeys(names)]
    if method == "resources/list":
        more = [f"{foreign}://r/5"] if foreign else []
        return [{"uri": uri, "name": uri, **words} for uri in (*uris, *more, "any://r")]
    return [{"uriTemplate": f"{uri}/{{x}}", "name": uri, **words} for uri in uris]
