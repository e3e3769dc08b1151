"""MCP tasks (core in 2025-11-25, extension in 2026-07-28): tells whether a caller accepts one; announces them; encodes states and results.

MCP 2025-11-25 has them in its core: the caller asks for one with `task` in the params of `tools/call`, and its `tasks/result` waits for what the
call came to. In 2026-07-28 they are the extension `io.modelcontextprotocol/tasks`: who declares it is given one where the server wants it,
and `tasks/get` brings the result along. Sources: `basic/utilities/tasks` of the one, `specification/2026-07-28/tasks` of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gatewright.call import Call, Client
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.versions import is_modern, known_tasks

__all__ = [
    "EXTENSION",
    "PREFIX",
    "TASK",
    "Status",
    "Task",
    "announced",
    "created",
    "declared",
    "in_core",
    "listed",
    "plain",
    "related",
    "runs_as_task",
    "shown",
    "undeclared",
    "wanted",
]

EXTENSION = "io.modelcontextprotocol/tasks"
"""The extension of 2026-07-28."""

PREFIX = "gwtask_"
"""How the ids of the gateway's own tasks begin."""

TASK = "task"
"""The fact of a call that may become a task of the gateway, or is one: then its id."""

_RELATED = "io.modelcontextprotocol/related-task"
_AT_ONCE = "io.modelcontextprotocol/model-immediate-response"
_MISSING = jsonrpc.encode(
    {
        "code": -32021,
        "message": f"a client that asks for tasks declares the extension {EXTENSION}",
        "data": {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    }
)

Status = Literal["working", "cancelled", "ended"]
"""Dialects differ in what they call an end, so it is one word here."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a task. Times are Unix seconds."""

    id: str
    status: Status = "working"
    message: str
    created: float
    updated: float
    ends: float
    """Until when it is kept."""
    poll_s: float


def in_core(client: Client) -> bool:
    """Whether tasks are a part of the caller's revision itself."""
    return known_tasks(client.revision)


def declared(client: Client) -> bool:
    """Whether a modern caller declares the extension."""
    if "extensions" not in client.capabilities:
        return False
    extensions = client.capabilities["extensions"]
    return isinstance(extensions, dict) and EXTENSION in extensions and is_modern(client.revision)


def undeclared(client: Client) -> bytes | None:
    """The error object for a modern caller that asks for a task and does not declare the extension."""
    return _MISSING if is_modern(client.revision) and not declared(client) else None


def wanted(call: Call) -> bool:
    """Whether the caller takes a task for this call."""
    if "task" not in call.params and "extensions" not in call.client.capabilities:
        return False  # most calls, in either dialect
    if in_core(call.client):
        return "task" in call.params and isinstance(call.params["task"], dict)
    return declared(call.client)


def plain(call: Call) -> Call:
    """The call by somebody who takes no task: its server is not to answer with one of its own."""
    if not is_modern(call.client.revision):
        params = {name: value for name, value in call.params.items() if name != "task"}
        return replace(call, params=params)
    if not declared(call.client):
        return call
    extensions = call.client.capabilities["extensions"]
    rest = {name: value for name, value in extensions.items() if name != EXTENSION}
    can = {**call.client.capabilities, "extensions": rest}
    return replace(call, client=replace(call.client, capabilities=can))


def runs_as_task(definition: Mapping[str, msgspec.Raw]) -> bool:
    """Whether a tool's server says that it runs it as a task itself (`execution.taskSupport`)."""
    try:
        found = jsonrpc.decode(definition.get("execution", b"null"))
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("taskSupport") in ("optional", "required")


def announced(capabilities: dict[str, Any], client: Client) -> dict[str, Any]:
    """Capabilities that say that the gateway has tasks, as the caller's revision says it."""
    if in_core(client):
        found = capabilities.get("tasks")
        theirs = found if isinstance(found, dict) else {}
        asked = theirs.get("requests")
        requests = {**(asked if isinstance(asked, dict) else {}), "tools": {"call": {}}}
        return {**capabilities, "tasks": {**theirs, "list": {}, "cancel": {}, "requests": requests}}
    if is_modern(client.revision):
        extensions = {EXTENSION: {}, **capabilities.get("extensions", {})}
        return {**capabilities, "extensions": extensions}
    return capabilities


def created(task: Task, client: Client, info: Mapping[str, Any]) -> bytes:
    """The result that a call is answered with whose own result will be the task's."""
    meta: dict[str, Any] = {_RELATED: {"taskId": task.id}, _AT_ONCE: task.message}
    body = _spelled(task, client, "working")
    if is_modern(client.revision):
        meta = {META_SERVER_INFO: info, **meta}
        return jsonrpc.encode({"resultType": "task", **body, "_meta": meta})
    return jsonrpc.encode({"task": body, "_meta": meta})


def shown(task: Task, client: Client, end: Spelled | None, *, failed: bool = False) -> bytes:
    """The result of `tasks/get`. Of a task that has ended a modern caller is given what the call came to (`end`), and any other is told
    whether that is an error, or says so (`failed`): nobody has to read a result for it."""
    body = _spelled(task, client, _status(task, client, end, failed=failed))
    if not is_modern(client.revision):
        return jsonrpc.encode(body)
    if end is not None and task.status == "ended":
        body |= (
            {"result": msgspec.Raw(end.result)} if end.result else {"error": msgspec.Raw(end.error)}
        )
    return jsonrpc.encode({"resultType": "complete", **body})


def listed(mine: Iterable[bytes], page: bytes, *, most: int) -> bytes:
    """The result of `tasks/list`: tasks as `shown`, and behind them those of a server's `page`, with all else that it says. Of a page that is no
    object there is nothing, and no task of a list that is none or has more than `most`."""
    members = jsonrpc.decode_members(page) if page[:1] == b"{" else {}
    both = [*map(msgspec.Raw, mine), *_listed(members.get("tasks"), most)]
    return jsonrpc.encode({**members, "tasks": both})


def _listed(text: msgspec.Raw | None, most: int) -> Sequence[msgspec.Raw]:
    try:
        return [] if text is None else jsonrpc.elements(text, most)
    except ValueError:
        return []


def related(result: bytes, id: str) -> bytes:
    """The result of a call, as `tasks/result` gives it."""
    members: dict[str, Any] = dict(jsonrpc.decode_members(result))
    meta = members.get("_meta")
    around = jsonrpc.decode_members(meta) if meta is not None and bytes(meta)[:1] == b"{" else {}
    members["_meta"] = {**around, _RELATED: {"taskId": id}}
    return jsonrpc.encode(members)


def _status(task: Task, client: Client, end: Spelled | None, *, failed: bool) -> str:
    if task.status != "ended":
        return task.status
    # A tool that says that it failed has failed for the one dialect, and is complete for the other.
    if is_modern(client.revision):
        failed = end is not None and not end.result
    return "failed" if failed else "completed"


def _spelled(task: Task, client: Client, status: str) -> dict[str, Any]:
    ttl, poll = round((task.ends - task.created) * 1000), round(task.poll_s * 1000)
    modern = is_modern(client.revision)
    return {
        "taskId": task.id,
        "status": status,
        "statusMessage": task.message,
        "createdAt": _moment(task.created),
        "lastUpdatedAt": _moment(task.updated),
        **(
            {"ttlMs": ttl, "pollIntervalMs": poll} if modern else {"ttl": ttl, "pollInterval": poll}
        ),
    }


def _moment(unix: float) -> str:
    found = datetime.fromtimestamp(unix, UTC).isoformat(timespec="milliseconds")
    return found.replace("+00:00", "Z")
