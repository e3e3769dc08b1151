"""Translates task ids in `_meta` (`io.modelcontextprotocol/related-task`) on one server connection, and tracks its running tasks.

A server names a task by `_meta` of what belongs to it (MCP 2025-11-25, tasks). Callers know tasks by ids of the gateway's, so an id in
a message of either side is put by the other's where the caller at that end has the task, and taken out everywhere else: it would
name somebody else's task to whoever reads it. Who has which is known above (`Book`).

A task that still runs may make its server ask, or write log lines, although its call is over: it stays among those who may be
meant (`RunningTasks`) until its server says that it has ended. What it came to is there as long as the connection is, so that whoever
ends that waits for it (`pending`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from gatewright.call import Call
from gatewright.mcp.client.large_messages import exact_members
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.client.request_origin import failed
from gatewright.mcp.protocol import task_ids
from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.mcp.protocol.tasks import wanted
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Response
from gatewright.mcp.wire.versions import is_modern
from gatewright.transport.large_text import LARGE

__all__ = [
    "KEEPS_S",
    "NOBODY",
    "OF_ITS_CALL",
    "UNREAD_S",
    "Book",
    "Related",
    "RunningTasks",
    "Stays",
    "named",
    "task_asked",
    "without",
]

KEEPS_S = 86_400.0
"""Seconds for which a task is taken to run whose server does not say how long it keeps it, nor that it has ended."""

OF_ITS_CALL = "a question in the result of a call belongs to that call, and to no task"
UNREAD_S = 5.0
"""Seconds for which the result of a task that has ended is waited for to be fetched."""
_MOST = 4096
"""So many requests that were given up are remembered with what they may yet make."""
_RESULT = "tasks/result"
_WORD_BYTES = 128
"""Of a status or a code, as JSON, with every letter in an escape."""
_DONE = "completed"
_ENDED = frozenset({_DONE, "failed", "cancelled"})


class Book(Protocol):
    """Who has the tasks of one connection. Look-ups in memory."""

    def shown(self, call: Call, task: str) -> str | None:
        """What the caller of a call knows a task by that the server calls `task`; None where it is not that caller's."""

    def meant(self, call: Call, name: str) -> str | None:
        """What the server calls the task that a caller knows by `name`; None where it has none of that name here."""


class _Nobody:
    def shown(self, call: Call, task: str) -> str | None:
        """Nothing is known."""
        return None

    def meant(self, call: Call, name: str) -> str | None:
        """Nothing is known."""
        return None


NOBODY: Book = _Nobody()


def named(params: Any) -> str | None:
    """The task that a message says it belongs to; empty where what it says is no name, None where it says nothing."""
    meta = params.get("_meta") if type(params) is dict else None
    if type(meta) is not dict or RELATED not in meta:
        return None
    related = meta[RELATED]
    task = related.get("taskId") if type(related) is dict else None
    return task if type(task) is str else ""


def without(params: dict[str, Any]) -> dict[str, Any]:
    """The same, belonging to no task."""
    meta = params.get("_meta")
    if type(meta) is not dict or RELATED not in meta:
        return params
    rest = {key: one for key, one in meta.items() if key != RELATED}
    found = {key: one for key, one in params.items() if key != "_meta"}
    return {**found, "_meta": rest} if rest else found


def _as(params: dict[str, Any], name: str | None) -> dict[str, Any]:
    """The same, belonging to a task by another name, or to none."""
    if name is None:
        return without(params)
    meta = params["_meta"]
    return {**params, "_meta": {**meta, RELATED: {**meta[RELATED], "taskId": name}}}


class Related:
    """What is put for what, on one connection. `book` is set once it is known whose connection it is."""

    def __init__(self) -> None:
        self.book: Book = NOBODY

    def outward(self, params: dict[str, Any], call: Call | None) -> dict[str, Any]:
        """What a caller sends, be it params or an answer, as the server is to see it: no task but the caller's own here."""
        answers = params.get("inputResponses")
        if type(answers) is dict:
            told = {key: self._answer(one, call) for key, one in answers.items()}
            params = {**params, "inputResponses": told}
        name = named(params)
        if name is None:
            return params
        return _as(params, self.book.meant(call, name) if name and call is not None else None)

    def _answer(self, one: Any, call: Call | None) -> Any:
        return self.outward(one, call) if type(one) is dict else one

    def inward(self, params: dict[str, Any], call: Call | None) -> dict[str, Any] | None:
        """What a server says to a caller, as that one is to see it; None where it belongs to a task that is not the caller's."""
        task = named(params)
        if task is None:
            return params
        shown = self.book.shown(call, task) if task and call is not None else None
        return None if shown is None else _as(params, shown)

    def about(self, task: str, candidates: Sequence[PendingRequest]) -> list[PendingRequest]:
        """Of exchanges, oldest first, those through which the caller of a task can be told of it: of the ones that ask about it,
        or else of all, those of the newest party that has it."""
        shown = self.book.shown
        theirs = [
            one
            for one in candidates
            if task and one.call is not None and shown(one.call, task) is not None
        ]
        asking = [one for one in theirs if one.task == task]
        among = asking or theirs
        return [one for one in among if one.party == among[-1].party]


def task_asked(method: str, params: dict[str, Any]) -> str:
    """The task that a request asks about; empty where it asks about none."""
    task = params.get("taskId") if method.startswith("tasks/") else None
    return task if type(task) is str else ""


class Stays(Protocol):
    """The parties that a question without a task or call may be for (`mcp.client.server_requests`)."""

    def stays(self, key: int | str, party: str, of: int | None = None) -> None:
        """One more may be."""

    def laid(self, ident: int | str, *, gave_up: bool = False) -> bool:
        """One fewer may be; or one has failed (`gave_up`), and its server may have given up what it asked."""


class RunningTasks:
    """The tasks that run on one connection, each among those whom a question without a name may mean."""

    def __init__(self, meant: Stays) -> None:
        self._meant = meant
        self._loop = asyncio.get_running_loop()
        self._given_up: dict[int, tuple[str, bool]] = {}
        """The requests that may yet make a task although nobody waits for them: whose each is, and whether that caller is modern.
        Nothing more of them is kept: what they said may be long."""
        self._ends: dict[str, asyncio.TimerHandle] = {}
        """When each task is taken to have ended."""
        self._unread: dict[str, float] = {}
        """Those that have ended just now with a result that nobody has fetched: since when, oldest first."""

    def answered(self, exchange: PendingRequest) -> None:
        """A request of a caller was answered, which may have made a task or ended one. May be said twice."""
        call = exchange.call
        if call is not None and (exchange.task or (call.kind == "tool" and wanted(call))):
            reply = exchange.future.result()
            if type(reply) is Response and not exchange.read:
                exchange.read = True  # a task that has ended since is not to begin again
                self._read(exchange, call, reply)

    def abandoned(self, exchange: PendingRequest) -> None:
        """A request was given up, and may be answered yet."""
        call = exchange.call
        if call is not None and not exchange.task and wanted(call) and len(self._given_up) < _MOST:
            self._given_up[exchange.ident] = exchange.party, is_modern(call.client.revision)

    def late(self, ident: int, reply: Response) -> None:
        """It was."""
        whose = self._given_up.pop(ident, None)
        if whose is not None:
            self._made(ident, *whose, reply)

    def _read(self, exchange: PendingRequest, call: Call, reply: Response) -> None:
        if exchange.task:
            if _has_ended(call.method, reply):
                # Its status alone, or all of it: later revisions have the result in the same answer.
                fetched = call.method != "tasks/get" or is_modern(call.client.revision)
                self.ended(exchange.task, read=fetched, gave_up=_gave_up(reply))
            return
        self._made(exchange.ident, exchange.party, is_modern(call.client.revision), reply)

    def _made(self, ident: int, party: str, modern: bool, reply: Response) -> None:
        made = _made_by(reply, modern)
        if made is not None:
            self._meant.stays(_key(made.id), party, ident)
            lasts = KEEPS_S if made.lasts_s is None else min(made.lasts_s, KEEPS_S)
            if len(self._ends) < _MOST or made.id in self._ends:
                self._cancel(made.id)
                self._ends[made.id] = self._loop.call_later(lasts, self.ended, made.id)

    def said(self, params: dict[str, Any]) -> None:
        """The server says how a task stands."""
        task = params.get("taskId")
        status = params.get("status")
        if type(task) is str and _is_end(status):
            self.ended(task, read=status == "cancelled", gave_up=status != _DONE)

    def ended(self, task: str, *, read: bool = True, gave_up: bool = False) -> None:
        """It asks nothing any more; `read` is whether nothing of it is still to be fetched, `gave_up` whether it has come to nothing."""
        if read:
            self._unread.pop(task, None)
        elif task in self._ends and len(self._unread) < _MOST:
            self._unread[task] = self._loop.time()
        self._cancel(task)
        self._meant.laid(_key(task), gave_up=gave_up)

    @property
    def pending(self) -> int:
        """How many run, or have ended just now with a result that is still to be fetched."""
        before = self._loop.time() - UNREAD_S
        while (
            self._unread and (first := next(iter(self._unread))) and self._unread[first] <= before
        ):
            del self._unread[first]
        return len(self._ends) + len(self._unread)

    def close(self) -> None:
        """The connection is gone."""
        self._unread.clear()
        for task in list(self._ends):
            self._cancel(task)
        self._given_up.clear()

    def _cancel(self, task: str) -> None:
        timer = self._ends.pop(task, None)
        if timer is not None:
            timer.cancel()


def _key(task: str) -> str:
    return f"task {task}"


def _word(text: bytes | msgspec.Raw) -> Any:
    """A status or a code; nothing where it is longer than any. Raises `ValueError`."""
    return jsonrpc.decode(text) if len(text) <= _WORD_BYTES else None


def _is_end(status: Any) -> bool:
    return type(status) is str and status in _ENDED


def _gave_up(reply: Response) -> bool:
    """Whether a task that does not run any more has failed or was cancelled, by the answer that says so."""
    if failed(reply) or len(reply.result) > DECODED_BYTES:
        return True
    try:
        status = _word(jsonrpc.decode_members(reply.result).get("status", b"null"))
    except ValueError:
        return True
    return _is_end(status) and status != _DONE


def _made_by(reply: Response, modern: bool) -> task_ids.Created | None:
    """The task that an answer makes; of more than `DECODED_BYTES` it is refused (`servers.task_methods`)."""
    raw = reply.result
    if not 0 < len(raw) <= DECODED_BYTES:
        return None
    if len(raw) <= LARGE:
        return task_ids.created(raw, modern)
    if not any(one in raw for one in task_ids.MADE):
        return None
    try:
        return task_ids.created(raw, modern, exact_members(reply))
    except ValueError:
        return None


def _has_ended(method: str, reply: Response) -> bool:
    """Whether the answer to a call about a task says that it does not run any more."""
    try:
        if not reply.result:
            if len(reply.error) > DECODED_BYTES:  # which is not passed on
                return method == _RESULT
            code = _word(jsonrpc.decode_members(reply.error)["code"])
            if method == _RESULT:  # it is the call's own error, unless there is no such method
                return bool(code != jsonrpc.METHOD_NOT_FOUND)
            # To an update it may be that an answer is wrong.
            return bool(code == jsonrpc.INVALID_PARAMS and method != "tasks/update")
        if method == _RESULT:
            return True
        if len(reply.result) > DECODED_BYTES:  # more than a status: what its call came to
            return True
        return _is_end(_word(exact_members(reply)["status"]))
    except (ValueError, KeyError):
        return False
