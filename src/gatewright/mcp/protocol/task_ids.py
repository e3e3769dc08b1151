"""Rewrites task ids in MCP messages and results; reads newly created tasks; cuts a `tasks/list` page to given tasks, without details.

A task is named by `taskId` (in results and params), by `task.taskId` (what makes one), and in `_meta` of what belongs to it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES

__all__ = [
    "DETAILS",
    "MADE",
    "RELATED",
    "WORDS",
    "Created",
    "created",
    "listed",
    "rename",
    "renamed",
    "renamed_params",
]

WORDS = "statusMessage"
"""What a server says of a task in words of its own. What may be told of them is known where one task is asked for, whose
tool has its policy; where several are listed, or a server speaks unasked, they are left out."""
DETAILS = ("inputRequests", "error", "result")
"""The rest that a server says of a task to whoever asks for it alone."""
MADE = (b'"task"', b"\\u")
"""One of these stands in whatever says that a task was made; names may be spelled with escapes."""
_LONGEST_MS = 10**12
RELATED = "io.modelcontextprotocol/related-task"


class Created(msgspec.Struct, frozen=True):
    """What a server says of a task that it made: its id, and for how many seconds it keeps it, where it says so. The id is empty where
    so much is said of the task that none of it is read."""

    id: str
    lasts_s: float | None = None


_ID_BYTES = 1024
"""Of a task's id as it is written, and of other words of one value; longer ones are none of a task."""
_PAGE = 10_000
"""Tasks; a page with more is not read."""
_ODD_PAGE = 1000
"""The same where something else stands among them."""


def _value(text: bytes | msgspec.Raw) -> Any:
    """A short value; None for a longer one. Raises `ValueError`."""
    return jsonrpc.decode(text) if len(text) <= _ID_BYTES else None


def _id_of(task: msgspec.Raw) -> str | None:
    """The id of one task of a list; None for what is none."""
    if bytes(task)[:1] != b"{":
        return None
    found = _value(jsonrpc.members_named(task, "taskId").get("taskId", b"null"))
    return found if isinstance(found, str) else None


def created(
    raw: bytes, modern: bool, read: Mapping[str, msgspec.Raw] | None = None
) -> Created | None:
    """The task that a result says was made instead of a result; None where it says no such thing. `read` are its members, where they
    are known."""
    try:
        names = ("resultType", "task", "taskId", "ttlMs")
        members = jsonrpc.members_named(raw, *names) if read is None else read
        if modern and _value(members.get("resultType", b"null")) != "task":
            return None
        task = bytes(members.get("task", b"null"))
        # A task was made, and none of it is read: its call is refused by the empty id.
        if not modern and len(task) > DECODED_BYTES:
            return Created("")
        held = members if modern else jsonrpc.members_named(task, "taskId", "ttl") if task[:1] == b"{" else {}  # fmt: skip
        name = _value(held.get("taskId", b"null"))
        ttl = _value(held.get("ttlMs" if modern else "ttl", b"null"))
    except ValueError:
        return None
    if not isinstance(name, str):
        return None
    if not isinstance(ttl, int | float) or isinstance(ttl, bool) or not ttl >= 0:
        return Created(name)
    return Created(name, min(ttl, _LONGEST_MS) / 1000)


def renamed(raw: bytes, old: str, new: str) -> bytes:
    """A result with another id for one task. Raises `ValueError` where it is no object."""
    members = jsonrpc.decode_members(raw)
    return jsonrpc.encode(members) if rename(members, old, new) else raw


def rename(members: dict[str, msgspec.Raw], old: str, new: str) -> bool:
    """Put another id for one task in the members of a result; whether it stood there."""
    changed = _put(members, old, new)
    for name, inner in (("task", ()), ("_meta", (RELATED,))):
        below = _inside(members.get(name), inner, old, new)
        if below is not None:
            members[name] = below
            changed = True
    return changed


def renamed_params(params: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The same in decoded params, or a decoded result."""
    if params.get("taskId") == old:
        params = {**params, "taskId": new}
    meta = params.get("_meta")
    related = meta.get(RELATED) if isinstance(meta, dict) else None
    if isinstance(meta, dict) and isinstance(related, dict) and related.get("taskId") == old:
        params = {**params, "_meta": {**meta, RELATED: {**related, "taskId": new}}}
    return params


def listed(
    raw: bytes, names: dict[str, str]
) -> Generator[None, None, tuple[list[msgspec.Raw], Any]]:
    """Of one page of a list of tasks those that have a name, by that, and without words (`WORDS`); and the cursor of the next, a task
    in each step. Their names are taken out of `names`. Raises `ValueError`."""
    if len(raw) > DECODED_BYTES:
        raise ValueError(f"a page has {len(raw)} bytes, and at most {DECODED_BYTES} are read")
    members = jsonrpc.members_named(raw, "tasks", "nextCursor")
    found = []
    page = yield from _tasks(members.get("tasks", msgspec.Raw(b"[]")))
    for one in page:
        yield
        ident = _id_of(one)  # of tasks of everybody, most of which are somebody else's
        if ident in names:
            shown = jsonrpc.decode_members(renamed(bytes(one), ident, names.pop(ident)))
            for member in (WORDS, *DETAILS):
                shown.pop(member, None)
            found.append(msgspec.Raw(jsonrpc.encode(shown)))
            if not names:
                break
    cursor = members.get("nextCursor")
    return found, None if cursor is None else jsonrpc.decode(cursor)


def _tasks(page: msgspec.Raw) -> Generator[None, None, Sequence[msgspec.Raw]]:
    try:
        return (yield from jsonrpc.entries(page, _PAGE))
    except jsonrpc.TooMuch:
        raise  # a `ValueError` as well; only a list with something else among its objects is read in the other way
    except ValueError:
        return jsonrpc.elements(page, _ODD_PAGE)


def _put(members: dict[str, msgspec.Raw], old: str, new: str) -> bool:
    found = members.get("taskId")
    if found is None or _value(found) != old:
        return False
    members["taskId"] = msgspec.Raw(jsonrpc.encode(new))
    return True


def _inside(
    text: msgspec.Raw | None, path: tuple[str, ...], old: str, new: str
) -> msgspec.Raw | None:
    """An object in which the id was put; None where it does not stand there."""
    if text is None or bytes(text)[:1] != b"{":
        return None
    members = jsonrpc.decode_members(text)
    if not path:
        return msgspec.Raw(jsonrpc.encode(members)) if _put(members, old, new) else None
    below = _inside(members.get(path[0]), path[1:], old, new)
    if below is None:
        return None
    return msgspec.Raw(jsonrpc.encode({**members, path[0]: below}))
