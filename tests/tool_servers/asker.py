"""A server of the handshake era that does everything such a server may do while it is being called.

    python tests/tool_servers/asker.py [--http PORT]

It asks the client (elicitation, sampling, roots), reports progress, logs by the level that was set,
honours cancellation, changes its lists, tells subscribers about resources, completes arguments,
pages its resources, and fails in each of the ways a tool can fail.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.webwires import serve_http
from tests.tool_servers.wires import Call, Client, RefusalError, hello, serve_stdio

__all__ = ["app", "main"]

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
MEBIBYTE = 1024 * 1024
PAGE = 2

CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
RESOURCES: list[dict[str, Any]] = [
    {"uri": f"asker:///{name}", "name": name, "mimeType": "text/plain"}
    for name in ("alpha", "beta", "gamma")
]
PROMPTS: list[dict[str, Any]] = [
    {"name": "plain", "description": "Nothing to fill in"},
    {
        "name": "greet",
        "description": "Greets somebody",
        "arguments": [{"name": "who", "required": True}],
    },
]
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "default": "nobody"},
        "age": {"type": "integer", "minimum": 0},
    },
    "required": ["name"],
}
QUESTION = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say a word"}}],
    "maxTokens": 10,
}

grown: list[str] = []
cancelled: list[Any] = []
finished_slow: list[Any] = []
methods_seen: list[str] = []


def _done(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


async def _ask(call: Call, capability: str, method: str, params: Any) -> Any:
    """The client's answer; a tool error when it never said that it can answer."""
    if capability not in call.client.facts.get("capabilities", {}):
        raise RefusalError(-32602, f"The client did not declare {capability}")
    return await call.ask(method, params)


async def _elicitation(call: Call, given: dict[str, Any]) -> Any:
    form = {"message": given.get("message", "Who are you?"), "requestedSchema": FORM}
    return _done(json.dumps(await _ask(call, "elicitation", "elicitation/create", form)))


async def _sampling(call: Call, given: dict[str, Any]) -> Any:
    answer = await _ask(call, "sampling", "sampling/createMessage", QUESTION)
    return _done(json.dumps(answer))


async def _roots(call: Call, given: dict[str, Any]) -> Any:
    return _done(json.dumps(await _ask(call, "roots", "roots/list", None)))


async def _twice(call: Call, given: dict[str, Any]) -> Any:
    """Two questions one after the other, with progress before, between and after."""
    await call.progress(0, 2)
    form = {"message": "Who are you?", "requestedSchema": FORM}
    first = await _ask(call, "elicitation", "elicitation/create", form)
    await call.progress(1, 2)
    second = await _ask(call, "sampling", "sampling/createMessage", QUESTION)
    await call.progress(2, 2)
    return _done(json.dumps({"first": first, "second": second}))


async def _log(call: Call, given: dict[str, Any]) -> Any:
    """One line of each level, as far as the client wants them."""
    least = LEVELS.index(call.client.facts.get("level", "debug"))
    for level in LEVELS[least:]:
        await call.notify(
            "notifications/message", {"level": level, "logger": "asker", "data": level}
        )
    return _done("logged")


async def _progress(call: Call, given: dict[str, Any]) -> Any:
    steps = int(given.get("steps", 3))
    for step in range(1, steps + 1):
        await call.progress(step, steps, f"step {step}")
    return _done(f"{steps} steps")


async def _slow(call: Call, given: dict[str, Any]) -> Any:
    await call.progress(0, 1, "begun")
    try:
        await asyncio.sleep(float(given.get("seconds", 1)))
    except asyncio.CancelledError:
        cancelled.append(call.id)
        raise
    finished_slow.append(call.id)
    return _done("awake", _meta={"id": call.id})


async def _cancelled_ids(call: Call, given: dict[str, Any]) -> Any:
    told = {"cancelled": cancelled, "asked": call.client.cancelled, "finished": finished_slow}
    return _done(json.dumps(told), structuredContent=told)


async def _grow(call: Call, given: dict[str, Any]) -> Any:
    grown.append(f"grown_{len(grown) + 1}")
    await call.client.notify("notifications/tools/list_changed", {})
    return _done(grown[-1])


async def _shrink(call: Call, given: dict[str, Any]) -> Any:
    if grown:
        grown.pop()
        await call.client.notify("notifications/tools/list_changed", {})
    return _done(str(len(grown)))


async def _touch(call: Call, given: dict[str, Any]) -> Any:
    """A resource changed: tell this client, if it subscribed."""
    uri = given.get("uri", "asker:///alpha")
    watched = uri in _subscriptions(call.client)
    if watched:
        await call.client.notify("notifications/resources/updated", {"uri": uri})
    return _done(str(watched))


async def _large(call: Call, given: dict[str, Any]) -> Any:
    return _done("x" * int(given.get("bytes", MEBIBYTE)))


async def _tool_error(call: Call, given: dict[str, Any]) -> Any:
    return _done("it did not work", isError=True)


async def _fail(call: Call, given: dict[str, Any]) -> Any:
    raise RefusalError(-31001, "refused", {"why": "because", "number": 7, "list": [None, "é"]})


async def _structured(call: Call, given: dict[str, Any]) -> Any:
    value = {"sum": given.get("a", 0) + given.get("b", 0)}
    return _done(json.dumps(value), structuredContent=value)


async def _meta(call: Call, given: dict[str, Any]) -> Any:
    return _done(call.text, _meta={"asker/got": call.params.get("_meta")})


async def _facts(call: Call, given: dict[str, Any]) -> Any:
    """What is known of this client: the version, its capabilities, its level, what it called."""
    known = {key: call.client.facts.get(key) for key in ("version", "capabilities", "level")}
    return _done(json.dumps({**known, "methods": methods_seen}))


Tool = Callable[[Call, dict[str, Any]], Awaitable[Any]]
TOOLS: dict[str, Tool] = {
    "ask_elicitation": _elicitation,
    "ask_sampling": _sampling,
    "ask_roots": _roots,
    "ask_twice": _twice,
    "log": _log,
    "progress": _progress,
    "slow": _slow,
    "cancelled_ids": _cancelled_ids,
    "grow": _grow,
    "shrink": _shrink,
    "touch": _touch,
    "large": _large,
    "tool_error": _tool_error,
    "fail": _fail,
    "structured": _structured,
    "meta": _meta,
    "facts": _facts,
}
READING = {"structured", "meta", "facts", "large", "progress", "log", "cancelled_ids"}


def _describe(name: str) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": name,
        "description": f"Asker: {name}",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": name in READING},
    }
    if name == "structured":
        tool["outputSchema"] = {"type": "object", "properties": {"sum": {"type": "number"}}}
    return tool


async def _call_tool(call: Call) -> Any:
    name = call.params.get("name", "")
    if name in grown:
        return _done(f"I am {name}")
    if name not in TOOLS:
        raise RefusalError(-32602, f"Unknown tool: {name}")
    return await TOOLS[name](call, call.params.get("arguments") or {})


async def _list_tools(call: Call) -> Any:
    return {"tools": [_describe(name) for name in [*TOOLS, *grown]]}


async def _list_resources(call: Call) -> Any:
    start = int(call.params.get("cursor") or 0)
    rest = {"nextCursor": str(start + PAGE)} if start + PAGE < len(RESOURCES) else {}
    return {"resources": RESOURCES[start : start + PAGE], **rest}


async def _list_templates(call: Call) -> Any:
    template = {"uriTemplate": "asker:///made/{word}", "name": "made", "mimeType": "text/plain"}
    return {"resourceTemplates": [template]}


async def _read(call: Call) -> Any:
    uri = str(call.params.get("uri"))
    known = uri in [each["uri"] for each in RESOURCES] or uri.startswith("asker:///made/")
    if not known:
        raise RefusalError(-32002, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"This is {uri}"}]}


def _subscriptions(client: Client) -> set[str]:
    known: set[str] = client.facts.setdefault("subscriptions", set())
    return known


async def _subscribe(call: Call) -> Any:
    _subscriptions(call.client).add(call.params["uri"])
    return {}


async def _unsubscribe(call: Call) -> Any:
    _subscriptions(call.client).discard(call.params["uri"])
    return {}


async def _list_prompts(call: Call) -> Any:
    return {"prompts": PROMPTS}


async def _get_prompt(call: Call) -> Any:
    name = call.params.get("name")
    if name not in [each["name"] for each in PROMPTS]:
        raise RefusalError(-32602, f"Unknown prompt: {name}")
    who = (call.params.get("arguments") or {}).get("who", "all")
    content = {"type": "text", "text": f"Hello {who}"}
    return {"description": f"The prompt {name}", "messages": [{"role": "user", "content": content}]}


async def _complete(call: Call) -> Any:
    value = str(call.params["argument"]["value"])
    words = [each for each in ("alice", "albert", "bob") if each.startswith(value)]
    return {"completion": {"values": words, "total": len(words), "hasMore": False}}


async def _set_level(call: Call) -> Any:
    if call.params.get("level") not in LEVELS:
        raise RefusalError(-32602, "Unknown level")
    call.client.facts["level"] = call.params["level"]
    return {}


async def _hello(call: Call) -> Any:
    return hello(call, "asker", CAPABILITIES, instructions="Ask before you answer.")


async def _ping(call: Call) -> Any:
    return {}


METHODS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    "initialize": _hello,
    "ping": _ping,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
    "prompts/list": _list_prompts,
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
    "logging/setLevel": _set_level,
}


async def app(call: Call) -> Any:
    """Answer one message."""
    methods_seen.append(call.method)
    if call.id is None:
        return None
    if call.method not in METHODS:
        raise RefusalError(-32601, f"Unknown method: {call.method}")
    return await METHODS[call.method](call)


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A handshake-era server that asks back")
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args(arguments)
    return serve_stdio(app) if options.http is None else serve_http(app, options.http)


if __name__ == "__main__":
    sys.exit(main())
