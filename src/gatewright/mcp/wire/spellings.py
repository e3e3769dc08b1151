"""Table of MCP message members, and detection of member names that a lenient parser would take for one of them.

Theory: a member that nobody here knows passes, while its reader may match names loosely, as Go's and .NET's decoders do, and of two
members that are one to it takes the last. So a name that reads as a known one's is refused, whatever it says; every other passes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from gatewright.mcp.wire.mcp import (
    ERROR_ORIGIN,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
)

__all__ = [
    "DEFINITION",
    "EVERYWHERE",
    "META",
    "MOST",
    "PLAIN",
    "RESULT",
    "SAID",
    "TAKEN",
    "flaw_of_members",
    "flaw_of_meta",
    "flaw_of_params",
    "fold",
    "members_of",
    "misread",
]

EVERYWHERE = frozenset(("_meta", "inputResponses", "requestState", "trace_id"))
"""Members that the params of any request may have, and that somebody here reads."""

_URI = frozenset(("uri",))
_TASK = frozenset(("taskId",))
_PAGE = frozenset(("cursor",))
_STATUS = frozenset(
    "taskId status statusMessage createdAt lastUpdatedAt ttl ttlMs pollInterval pollIntervalMs result "
    "error inputRequests".split()
)

_OWN: Mapping[str, frozenset[str]] = {
    "initialize": frozenset(("protocolVersion", "capabilities", "clientInfo")),
    "subscriptions/listen": frozenset(("notifications",)),
    "tools/list": _PAGE | {"category", "trust_level", "query", "limit", "described"},
    "tools/call": frozenset(("name", "arguments", "task")),
    "tools/validate": frozenset(("name", "arguments")),
    "prompts/list": _PAGE,
    "prompts/get": frozenset(("name", "arguments")),
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
    "resources/read": _URI,
    "resources/subscribe": _URI,
    "resources/unsubscribe": _URI,
    "completion/complete": frozenset(("ref", "argument", "context")),
    "logging/setLevel": frozenset(("level",)),
    "tasks/get": _TASK,
    "tasks/result": _TASK,
    "tasks/list": _PAGE,
    "tasks/cancel": _TASK,
    "tasks/update": _TASK,
    "sampling/createMessage": frozenset(
        "messages modelPreferences systemPrompt includeContext temperature maxTokens stopSequences "
        "metadata tools toolChoice task".split()
    ),
    "elicitation/create": frozenset(
        ("mode", "message", "requestedSchema", "url", "elicitationId", "task")
    ),
    "notifications/cancelled": frozenset(("requestId", "reason")),
    "notifications/progress": frozenset(("progressToken", "progress", "total", "message")),
    "notifications/message": frozenset(("level", "logger", "data")),
    "notifications/resources/updated": _URI,
    "notifications/subscriptions/acknowledged": frozenset(("notifications",)),
    "notifications/elicitation/complete": frozenset(("elicitationId",)),
    "notifications/tasks/status": _STATUS,
    "notifications/tasks": _STATUS,
    "notifications/mgp.stream.chunk": frozenset(("request_id", "index", "content", "done")),
}
_INNER: Mapping[str, frozenset[str]] = {
    "ref": frozenset(("type", "name", "uri")),
    "argument": frozenset(("name", "value")),
    "context": frozenset(("arguments",)),
    "task": frozenset(("ttl", "taskId")),
}
"""Members of `params` that are objects themselves."""

_RELATED = "io.modelcontextprotocol/related-task"
META = frozenset(
    (
        META_VERSION,
        META_CLIENT_INFO,
        META_CLIENT_CAPABILITIES,
        META_LOG_LEVEL,
        META_SERVER_INFO,
        META_SUBSCRIPTION,
        ERROR_ORIGIN,
        "dev.gatewright/server",
        "dev.gatewright/tool",
        "dev.cloto/mgp",
        "io.modelcontextprotocol/model-immediate-response",
        "progressToken",
        "traceparent",
        "tracestate",
        "baggage",
    )
)
"""Members of `_meta` without the one that says which task a message belongs to, which has a member of its own."""

SAID = frozenset(("progressToken",))
"""The same of what servers say: what else is known there is taken out however it is spelled."""

RESULT = _STATUS | frozenset(
    "_meta _mgp content structuredContent isError resultType requestState task cacheScope nextCursor "
    "tools prompts resources resourceTemplates contents messages description completion tasks".split()
)
"""Members of results."""

DEFINITION = frozenset(
    "name title description inputSchema outputSchema annotations execution icons _meta arguments uri "
    "uriTemplate mimeType size security".split()
)
"""Members of what a server offers: tools, prompts, resources and templates."""

MOST = 2000
"""So many members one of these objects has."""
_CHARS = 256
"""Nobody takes a name for a known one who has to leave more out of it."""


def members_of(method: str) -> frozenset[str]:
    """The members that the params of a message have."""
    return _MEMBERS.get(method, EVERYWHERE)


_MEMBERS = {method: own | EVERYWHERE for method, own in _OWN.items()}
PLAIN = EVERYWHERE - {"inputResponses"}
"""`TAKEN` of methods that have no row of their own."""
TAKEN: Mapping[str, frozenset[str]] = {
    method: PLAIN | (own - _INNER.keys()) for method, own in _OWN.items()
}
"""Method → members behind which nothing has to be looked at. Params that have no others are spelled as they should be."""


def fold(name: str) -> str:
    """A name without case, width, accents, and what is no letter or digit."""
    if name.isascii():
        plain = name.lower()
        return plain if plain.isalnum() else "".join(filter(str.isalnum, plain))
    # By its capitals: some small letters (U+017F, U+0131) share one with another.
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).upper()).casefold()
    return "".join(filter(str.isalnum, apart))


@lru_cache(256)
def _folded(known: frozenset[str]) -> dict[str, str]:
    return {fold(one): one for one in known}


def misread(names: Iterable[str], known: frozenset[str]) -> tuple[str, str] | None:
    """The first name that is not known and reads as one that is, and that one."""
    read = _folded(known)
    for name in names:
        if name not in known and len(name) <= _CHARS and (found := read.get(fold(name))):
            return name, found
    return None


def flaw_of_members(place: str, members: Collection[str], known: frozenset[str]) -> str:
    """What is wrong with the names of an object's members; empty where nothing is."""
    if len(members) > MOST:
        return f"{place} has more than {MOST} members"
    found = misread(members, known)
    return (
        "" if found is None else f"{place} has {found[0]!a}, which reads as {found[1]}: write that"
    )


def flaw_of_params(method: str, params: Mapping[str, Any], meta: frozenset[str] = META) -> str:
    """The same of the params of a message, `_meta` and what else it holds; `meta` is what is known of that."""
    flaw = flaw_of_members("params", params, members_of(method))
    for name in () if flaw else _INNER.keys() & params.keys() & members_of(method):
        found = params[name]
        flaw = flaw or (
            flaw_of_members(f"params.{name}", found, _INNER[name]) if type(found) is dict else ""
        )
    answers = params.get("inputResponses")
    if type(answers) is dict and not flaw:
        flaw = next(filter(None, (_flaw_of_answer(one) for one in answers.values())), "")
    return flaw or flaw_of_meta(params.get("_meta"), meta)


def _flaw_of_answer(answer: Any) -> str:
    if type(answer) is not dict:
        return ""
    place = "a member of params.inputResponses"
    return flaw_of_members(place, answer, _OF_ANSWER) or flaw_of_meta(answer.get("_meta"))


_OF_ANSWER = frozenset(("_meta", "action", "content", "role", "model", "stopReason", "roots"))


def flaw_of_meta(meta: Any, known: frozenset[str] = META) -> str:
    """The same of a message's `_meta`."""
    if type(meta) is not dict or meta.keys() <= known:
        return ""
    related = meta.get(_RELATED)
    return flaw_of_members("_meta", meta, known | {_RELATED}) or (
        flaw_of_members("the related task", related, _TASK) if type(related) is dict else ""
    )
