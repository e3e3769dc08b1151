"""A server of the stateless era (2026-07-28) and of no other.

    python tests/tool_servers/modern_asker.py [--http PORT]

It remembers nothing of a client: what it needs in the next round is in the sealed `requestState`.
It answers `input_required`, serves `subscriptions/listen`, checks the routing headers, and tells
what it was sent. A handshake (`initialize` without the per-request fields) is refused with the
versions it speaks.
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

from tests.tool_servers.modern_rules import PREFIX, VERSION, answers, judge, require, unseal
from tests.tool_servers.webwires import serve_http
from tests.tool_servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

CACHED = {
    "server/discover": 60_000,
    "tools/list": 0,
    "prompts/list": 1000,
    "resources/list": 1000,
    "resources/templates/list": 1000,
    "resources/read": 500,
}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "default": "nobody"}},
    "required": ["name"],
}
ELICIT = {
    "method": "elicitation/create",
    "params": {"message": "Who are you?", "requestedSchema": FORM},
}
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say a word"}}],
        "maxTokens": 10,
    },
}
ROOTS = {"method": "roots/list", "params": {}}
MOVED = "notifications/{}/list_changed"

grown: list[str] = []
cancelled: list[Any] = []
listeners: dict[int, tuple[Call, dict[str, Any], asyncio.Event]] = {}


def _one_round(questions: dict[str, Any]) -> Callable[[Call], Awaitable[Any]]:
    async def tool(call: Call) -> Any:
        state = unseal(call)
        given = answers(call, *questions)
        if given is None or state != "asked":
            return require(call, questions, "asked")
        return _done(json.dumps(given))

    return tool


async def _twice(call: Call) -> Any:
    """Two rounds; the first answer travels in the state of the second."""
    state = unseal(call)
    if state is None:
        return require(call, {"who": ELICIT}, {"round": 1})
    if state["round"] == 1:
        first = answers(call, "who")
        if first is None:
            return require(call, {"who": ELICIT}, {"round": 1})
        return require(call, {"word": SAMPLE}, {"round": 2, "who": first["who"]})
    second = answers(call, "word")
    if second is None:
        return require(call, {"word": SAMPLE}, state)
    return _done(json.dumps({"first": state["who"], "second": second["word"]}))


async def _come_again(call: Call) -> Any:
    """Ask nothing, only that the client calls again with the state."""
    return _done("welcome back") if unseal(call) == "again" else require(call, {}, "again")


def _done(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def _arguments(call: Call) -> dict[str, Any]:
    given: dict[str, Any] = call.params.get("arguments") or {}
    return given


async def _echo(call: Call) -> Any:
    return _done(str(_arguments(call).get("message", "")))


async def _progress(call: Call) -> Any:
    for step in (1, 2, 3):
        await call.progress(step, 3, f"step {step}")
    return _done("3 steps")


async def _log(call: Call) -> Any:
    wanted = call.params["_meta"].get(PREFIX + "logLevel")
    for level in LEVELS[LEVELS.index(wanted) :] if wanted in LEVELS else []:
        await call.notify("notifications/message", {"level": level, "data": level})
    return _done("logged")


async def _slow(call: Call) -> Any:
    await call.progress(0, 1, "begun")
    try:
        await asyncio.sleep(float(_arguments(call).get("seconds", 1)))
    except asyncio.CancelledError:
        cancelled.append(call.id)
        raise
    return _done("awake")


async def _cancelled_ids(call: Call) -> Any:
    return _done(json.dumps(cancelled), structuredContent={"cancelled": cancelled})


async def _grow(call: Call) -> Any:
    grown.append(f"grown_{len(grown) + 1}")
    await _tell("toolsListChanged", MOVED.format("tools"), {})
    return _done(grown[-1])


async def _change_prompts(call: Call) -> Any:
    await _tell("promptsListChanged", MOVED.format("prompts"), {})
    return _done("told")


async def _touch(call: Call) -> Any:
    uri = _arguments(call).get("uri", "modern:///alpha")
    count = await _tell("resourceSubscriptions", "notifications/resources/updated", {"uri": uri})
    return _done(str(count))


async def _end_listening(call: Call) -> Any:
    for _, _, over in list(listeners.values()):
        over.set()
    return _done(str(len(listeners)))


async def _large(call: Call) -> Any:
    return _done("x" * int(_arguments(call).get("bytes", 1024 * 1024)))


async def _fail(call: Call) -> Any:
    raise RefusalError(-31001, "refused", {"why": "because", "number": 7})


async def _tool_error(call: Call) -> Any:
    return _done("it did not work", isError=True)


async def _meta(call: Call) -> Any:
    return _done(json.dumps(call.params["_meta"]))


async def _headers(call: Call) -> Any:
    mine = {name: value for name, value in call.headers.items() if name.startswith("mcp-")}
    return _done(json.dumps(mine))


async def _tell(kind: str, method: str, params: dict[str, Any]) -> int:
    """Tell everybody who listens for that kind; how many that were."""
    told = 0
    for call, wanted, _ in list(listeners.values()):
        asked = wanted.get(kind)
        if asked is True or (isinstance(asked, list) and params.get("uri") in asked):
            tag = {"_meta": {PREFIX + "subscriptionId": call.id}}
            await call.notify(method, {**params, **tag})
            told += 1
    return told


TOOLS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    "echo": _echo,
    "ask_elicitation": _one_round({"who": ELICIT}),
    "ask_sampling": _one_round({"word": SAMPLE}),
    "ask_roots": _one_round({"places": ROOTS}),
    "ask_three": _one_round({"who": ELICIT, "word": SAMPLE, "places": ROOTS}),
    "ask_twice": _twice,
    "come_again": _come_again,
    "progress": _progress,
    "log": _log,
    "slow": _slow,
    "cancelled_ids": _cancelled_ids,
    "grow": _grow,
    "change_prompts": _change_prompts,
    "touch": _touch,
    "end_listening": _end_listening,
    "large": _large,
    "fail": _fail,
    "tool_error": _tool_error,
    "meta": _meta,
    "headers": _headers,
    "located": _echo,
}
RESOURCES = [
    {"uri": f"modern:///{name}", "name": name, "mimeType": "text/plain"}
    for name in ("alpha", "asks")
]
PROMPTS = [
    {"name": "plain", "description": "Nothing to ask"},
    {"name": "asks", "description": "Asks first"},
]
LOCATED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "message": {"type": "string"},
    },
}


def _describe(name: str) -> dict[str, Any]:
    schema = LOCATED if name == "located" else {"type": "object"}
    return {"name": name, "description": f"Modern asker: {name}", "inputSchema": schema}


async def _discover(call: Call) -> Any:
    return {
        "supportedVersions": [VERSION],
        "capabilities": CAPABILITIES,
        "instructions": "Carry my state.",
    }


async def _list_tools(call: Call) -> Any:
    return {"tools": [_describe(name) for name in [*TOOLS, *grown]]}


async def _call_tool(call: Call) -> Any:
    name = call.params.get("name", "")
    if name in grown:
        return _done(f"I am {name}")
    if name not in TOOLS:
        raise RefusalError(-32602, f"Unknown tool: {name}")
    return await TOOLS[name](call)


async def _list_prompts(call: Call) -> Any:
    return {"prompts": PROMPTS}


async def _get_prompt(call: Call) -> Any:
    name = call.params.get("name")
    if name not in ("plain", "asks"):
        raise RefusalError(-32602, f"Unknown prompt: {name}")
    given = answers(call, "who")
    if name == "asks" and (unseal(call) != "prompt" or given is None):
        return require(call, {"who": ELICIT}, "prompt")
    content = {"type": "text", "text": json.dumps(given)}
    return {"messages": [{"role": "user", "content": content}]}


async def _list_resources(call: Call) -> Any:
    return {"resources": RESOURCES}


async def _list_templates(call: Call) -> Any:
    return {"resourceTemplates": []}


async def _read(call: Call) -> Any:
    uri = call.params.get("uri")
    if uri not in [each["uri"] for each in RESOURCES]:
        raise RefusalError(-32602, "Resource not found", {"uri": uri})
    given = answers(call, "who")
    if uri == "modern:///asks" and (unseal(call) != "resource" or given is None):
        return require(call, {"who": ELICIT}, "resource")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"This is {uri}"}]}


async def _complete(call: Call) -> Any:
    return {"completion": {"values": ["alice", "albert"], "total": 2, "hasMore": False}}


async def _listen(call: Call) -> Any:
    """Say first what is listened for; then stay until the client goes or everybody is sent home."""
    wanted = {kind: value for kind, value in call.params.get("notifications", {}).items() if value}
    tag = {PREFIX + "subscriptionId": call.id}
    over = asyncio.Event()
    listeners[id(call)] = (call, wanted, over)
    try:
        said = {"notifications": wanted, "_meta": tag}
        await call.notify("notifications/subscriptions/acknowledged", said)
        await over.wait()
    finally:
        del listeners[id(call)]
    return {"_meta": tag}


METHODS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    "server/discover": _discover,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "prompts/list": _list_prompts,
    "prompts/get": _get_prompt,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read,
    "completion/complete": _complete,
    "subscriptions/listen": _listen,
}


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    judge(call)
    if call.method not in METHODS:
        raise RefusalError(-32601, f"Unknown method: {call.method}")
    result = await METHODS[call.method](call)
    result.setdefault("resultType", "complete")
    if call.method in CACHED and result["resultType"] == "complete":
        result.update(ttlMs=CACHED[call.method], cacheScope="public")
    who = {"name": "modern_asker", "version": "1.0.0"}
    result["_meta"] = {**result.get("_meta", {}), PREFIX + "serverInfo": who}
    return result


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A server of the stateless era that asks back")
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args(arguments)
    if options.http is None:
        return serve_stdio(app)
    return serve_http(app, options.http, modern=True)


if __name__ == "__main__":
    sys.exit(main())
