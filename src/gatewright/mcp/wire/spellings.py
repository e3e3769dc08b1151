"""Table of MCP message members, and detection of member names that a lenient parser would take for one of them.

Theory: a member that nobody here knows passes, while its reader may match names loosely, as Go's and .NET's decoders do, and of two
members that are one to it takes the last. So a name that reads as a known one's is refused, whatever it says; every other passes.
To fold a name takes up to 0.3 µs a character, so how much is folded for one object is bounded; a name that is longer than any
spelling of a known one is not folded, nor is one that begins with a letter of another script.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeGuard

from gatewright.mcp.wire.headers_and_meta import (
    ERROR_ORIGIN,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
)
from gatewright.secret_scanning.escape_invisible import is_unseen
from gatewright.secret_scanning.unicode_forms import normal

__all__ = [
    "DEFINITION",
    "EVERYWHERE",
    "META",
    "MOST",
    "MOST_FOLDED",
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
    "misreadings",
    "to_drop",
    "weight",
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
MOST_FOLDED = 100_000
"""So many characters are folded for one object; sixteen of ASCII count as one."""
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
    """A name without case, width, accents, and what is no letter or digit. The vowels that scripts of India and others write as marks
    stay: they are no accents, and words differ by them alone."""
    if name.isascii():
        plain = name.lower()
        return plain if plain.isalnum() else plain.translate(_NO_SIGNS)
    wide = normal("NFKC", name)
    if len(wide) > 2 * _CHARS:  # a character can stand for eighteen
        return wide
    # By its capitals: some small letters (U+017F, U+0131) share one with another.
    apart = normal("NFKD", wide.upper()).casefold()
    return apart if apart.isalnum() else "".join(filter(_is_read, apart))


_NO_SIGNS = dict.fromkeys(code for code in range(128) if not chr(code).isalnum())


def _is_read(char: str) -> bool:
    if char.isalnum():
        return True
    kind = unicodedata.category(char)
    vowel = kind == "Mc" or (kind == "Mn" and not unicodedata.combining(char))
    return vowel and not is_unseen(char)


def weight(name: str) -> int:
    """For how many characters a name counts that is folded."""
    return len(name) // 16 + 1 if name.isascii() else len(name)


def _is_foreign(name: str) -> bool:
    """Whether a name begins with a letter that is none of ASCII's, however it is written: it reads as no known one."""
    return not (name.isascii() or fold(name[0]).isascii())


@lru_cache(256)
def _folded(known: frozenset[str]) -> dict[str, str]:
    return {fold(one): one for one in known}


def to_drop(members: Collection[str], known: frozenset[str]) -> list[str]:
    """The names that are not known and read as one that is; of more than are folded, all that are not known."""
    found = misreadings(members, known)
    if found is None:
        return [name for name in members if name not in known]
    return [name for name, _ in found]


def misreadings(
    names: Iterable[str], known: frozenset[str], most: int = MOST_FOLDED
) -> list[tuple[str, str]] | None:
    """Each name that is not known and reads as one that is, and that one; None where more than `most` characters would have to
    be folded to know."""
    read, found = _folded(known), []
    for name in names:
        if name in known or len(name) > _CHARS:
            continue
        # A foreign first letter is folded alone; such a name reads as no known one, all of which are ASCII.
        most -= 2 if (foreign := _is_foreign(name)) else weight(name)
        if most < 0:
            return None
        if not foreign and (one := read.get(fold(name))):
            found.append((name, one))
    return found


def misread(names: Iterable[str], known: frozenset[str]) -> tuple[str, str] | None:
    """The first name that is not known and reads as one that is, and that one."""
    found = misreadings(names, known, most=sys.maxsize)
    return found[0] if found else None


def flaw_of_members(place: str, members: Collection[str], known: frozenset[str]) -> str:
    """What is wrong with the names of an object's members; empty where nothing is."""
    if len(members) > MOST:
        return f"{place} has more than {MOST} members"
    found = misreadings(members, known)
    if found is None:
        return f"{place} has more names of members than are compared; leave out what nobody reads"
    return f"{place} has {found[0][0]!a}, which reads as {found[0][1]}: write that" if found else ""


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
        flaw = _flaw_of_answers(answers)
    return flaw or flaw_of_meta(params.get("_meta"), meta)


def _flaw_of_answers(answers: Mapping[str, Any]) -> str:
    """The same of all answers together: what is looked at is bounded for one message, however many they are."""
    place, said = "a member of params.inputResponses", [*filter(_is_object, answers.values())]
    metas = [meta for one in said if _is_object(meta := one.get("_meta"))]
    return (
        _flaw_of_all(place, said, _OF_ANSWER)
        or _flaw_of_all("in params.inputResponses a member's _meta", metas, META | {_RELATED})
        or _flaw_of_all("in params.inputResponses the related task", _related(metas), _TASK)
    )


def _flaw_of_all(place: str, objects: Iterable[Mapping[str, Any]], known: frozenset[str]) -> str:
    # Names of all objects are put together: each alone could use up what may be folded.
    strange = [name for one in objects if not one.keys() <= known for name in one]
    return flaw_of_members(place, strange, known) if strange else ""


def _related(metas: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    return filter(_is_object, (meta.get(_RELATED) for meta in metas))


def _is_object(found: Any) -> TypeGuard[dict[str, Any]]:
    return type(found) is dict


_OF_ANSWER = frozenset(("_meta", "action", "content", "role", "model", "stopReason", "roots"))


def flaw_of_meta(meta: Any, known: frozenset[str] = META) -> str:
    """The same of a message's `_meta`."""
    if type(meta) is not dict or meta.keys() <= known:
        return ""
    related = meta.get(_RELATED)
    return flaw_of_members("_meta", meta, known | {_RELATED}) or (
        flaw_of_members("the related task", related, _TASK) if type(related) is dict else ""
    )
