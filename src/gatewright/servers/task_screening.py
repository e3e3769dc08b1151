"""Screens servers' MCP task states: questions (limit; those the client can answer), errors, results; drops related-task ids, task details.

How a task stands is told with everything that the call would have been answered with, and while it runs with questions
(MCP 2026-07-28, tasks). What a result, an error or a question must not hold, it must not hold there.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sized
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeGuard

from msgspec import Raw
from msgspec.structs import replace

from gatewright.call import Answer, Call, CannotAsk, Failure
from gatewright.mcp.protocol import task_ids
from gatewright.mcp.protocol.input_required import QUESTIONS
from gatewright.mcp.protocol.task_ids import DETAILS, RELATED
from gatewright.mcp.protocol.tasks import wanted
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.versions import is_modern

__all__ = [
    "METHODS",
    "Judge",
    "Said",
    "judged",
    "too_many",
    "unrelated",
    "without_details",
]

log = logging.getLogger("gatewright.servers")

METHODS = frozenset(f"tasks/{what}" for what in ("get", "result", "cancel", "update", "list"))
_RESULT = "tasks/result"


class Said(NamedTuple):
    """The members of a result, as they may be seen."""

    members: dict[str, Any]
    changed: bool
    """Whether they are others than those that came."""
    asks: bool = False
    """Whether they say what the server wants to know first."""


class Judge(Protocol):
    """Judges the words of one server (`servers.server_screen`)."""

    def asked(self, call: Call, one: Any) -> Generator[None, None, dict[str, Any]]:
        """A question as it may be asked, in steps. Raises `CannotAsk`."""

    def failure(self, call: Call, failure: Failure, error: bytes) -> Generator[None, None, Failure]:
        """An error as it may be seen, in steps."""

    def members(self, call: Call, answer: Answer) -> Generator[None, None, Said | Failure]:
        """A result as it may be seen, in steps."""


def too_many(questions: Sized) -> str:
    """What is wrong with the number of questions in one answer; empty where nothing is."""
    most = f"at most {QUESTIONS} questions can be asked at once"
    return most if len(questions) > QUESTIONS else ""


def judged(
    judge: Judge, call: Call, raw: bytes, members: dict[str, Any]
) -> Generator[None, None, bool | Failure]:
    """Judge the members of an answer, a step each time that all of it is gone through; whether one was changed, or how the call
    fails. Raises `ValueError`."""
    if call.method not in METHODS:
        yield
        return not _makes(call, raw) and unrelated(members)
    if call.method == _RESULT:
        return False  # it is the result of the call, which its own members say
    changed = yield from _questions(judge, call, members)
    if _is_object(members.get("error")):
        error = bytes(members["error"])
        failed = yield from judge.failure(call, Failure("upstream_error", error=error), error)
        if failed.error is None or len(error) > DECODED_BYTES:
            return replace(failed, error=None)
        members["error"] = Raw(failed.error)
        changed = changed or failed.error != error
    if _is_object(members.get("result")):
        found = yield from judge.members(
            replace(call, method=_RESULT), Answer(bytes(members["result"]))
        )
        if isinstance(found, Failure):
            return found
        unrelated(found.members)
        yield
        members["result"] = Raw(jsonrpc.encode(found.members))
        changed = True
    return changed


def _questions(judge: Judge, call: Call, members: dict[str, Any]) -> Generator[None, None, bool]:
    """What the task needs to know before it can go on. Who cannot answer is not shown it, and nobody what may not be asked: how
    the task stands is told all the same."""
    text = members.get("inputRequests")
    if text is None:
        return False
    if not is_modern(call.client.revision) or not _is_object(text):
        # A legacy client has no `tasks/update` to answer with.
        del members["inputRequests"]
        return True
    if len(bytes(text)) > DECODED_BYTES:
        raise ValueError(f"the questions have more than {DECODED_BYTES} bytes")
    asked = jsonrpc.decode(text)
    members["inputRequests"] = shown = {}
    if flaw := too_many(asked):  # the rest has its turn when these are answered
        log.info("a task asks more than is shown: %s", flaw)
    for key, one in islice(asked.items(), QUESTIONS):
        yield
        try:
            shown[key] = yield from judge.asked(call, one)
        except CannotAsk as no:
            log.info("a task asks its caller what it may not: %a", no.message)
    return True


def _makes(call: Call, raw: bytes) -> bool:
    """Whether the answer says that a task was made: by its names it is read where that is known (`servers.task_methods`)."""
    if call.kind != "tool" or not wanted(call) or len(raw) > DECODED_BYTES:
        return False
    return task_ids.created(raw, is_modern(call.client.revision)) is not None


def unrelated(members: dict[str, Any]) -> bool:
    """Take out which task the members of a result say that it belongs to. True where they said so."""
    found = members.get("_meta")
    if not isinstance(found, dict):
        if not _is_object(found):
            return False
        found = dict(jsonrpc.decode_members(bytes(found)))
    if RELATED not in found:
        return False
    members["_meta"] = {key: one for key, one in found.items() if key != RELATED}
    return True


def without_details(raw: bytes) -> bytes:
    """What says that a task was made, and nothing of what it asks or came to."""
    members = dict(jsonrpc.decode_members(raw))
    inner = members.get("task")
    if _is_object(inner):
        members["task"] = Raw(jsonrpc.encode(_bare(jsonrpc.decode_members(inner))))
    return jsonrpc.encode(_bare(members))


def _bare(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in members.items() if key not in DETAILS}


def _is_object(text: Any) -> TypeGuard[Raw]:
    return isinstance(text, Raw) and bytes(text)[:1] == b"{"
