"""`AuditQuery`: parameters of an audit search, also from typed text; converts them to a search, URL, filter chips, `gatewright audit` command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gatewright.audit.search_index import FACTS, Wanted
from gatewright.command_text import to_type
from gatewright.console.operations import ApiError
from gatewright.patterns import Pattern
from gatewright.timestamps import TYPED, as_recorded, moment_of

__all__ = [
    "NAMES",
    "AuditQuery",
    "Chip",
    "CountAsked",
    "NewerAsked",
    "added",
    "chips",
    "command_of",
    "recorded",
    "url_of",
    "wanted_of",
]

Text = Annotated[str, Meta(max_length=2048)]
NAMES = (*FACTS, "trace", "since", "until")
"""What a search can be restricted by, in the order of the sentence."""
_OPTIONS = {"kind": "event"}
_NO_OPTIONS = ("gate", "rule")
_OUTCOMES = frozenset({"success", "denied", "failure", "error", "cancelled", "pending"})
_TRACE = Pattern(r"[0-9a-f]{32}")
_WORDS = {
    "agent": "by agent",
    "server": "on server",
    "tool": "with tool",
    "kind": "of kind",
    "outcome": "that ended as",
    "gate": "refused by gate",
    "rule": "by rule",
    "trace": "of trace",
    "since": "since",
    "until": "until",
}


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What records have to be, all of it. Texts left out do not restrict."""

    agent: Text = ""
    server: Text = ""
    tool: Text = ""
    kind: Text = ""
    """The type of the event: `TOOL_EXECUTED`."""
    outcome: Text = ""
    gate: Text = ""
    """The gate that refused."""
    rule: Text = ""
    """The reason of a refusal or failure; of a call that was let in, what of access let it in (`server_grant`)."""
    trace: Text = ""
    since: Text = ""
    """Not before: `2h` or `7d` ago, or ISO 8601."""
    until: Text = ""
    """Before this moment."""
    oldest: bool = False
    """Whether the oldest come first."""
    before: Annotated[int, Meta(ge=0)] = 0
    """Records with a lower number alone, or, where the oldest come first, with a higher one: the next page."""
    add: Text = ""
    """One more, as it is typed into the field: `agent:ann`, an outcome, a trace id, a tool."""


class CountAsked(AuditQuery, frozen=True, kw_only=True):
    """What is to be counted."""

    newest: Annotated[int, Meta(ge=0)] = 0
    """Records up to this number alone, that of an answer which was not whole yet: who asks again gets the same, more of it counted."""


class NewerAsked(AuditQuery, frozen=True, kw_only=True):
    """What an open page shows, and how far it goes."""

    shown: Annotated[int, Meta(ge=0)] = 0
    """The number of the last record that there was when it was searched."""


class Chip(NamedTuple):
    """One part of the sentence, and where the search goes without it."""

    name: str
    words: str
    value: str
    url: str


def wanted_of(query: AuditQuery, now: float) -> Wanted:
    """The search that it asks for, trace and place apart. Raises `ApiError`."""
    return Wanted(
        facts={name: value for name in FACTS if (value := getattr(query, name))},
        since=_moment(query.since, now),
        until=_moment(query.until, now),
    )


def _moment(text: str, now: float) -> int | None:
    if not text:
        return None
    try:
        return round(moment_of(text, now) * 1000)
    except ValueError as problem:
        raise ApiError(422, "invalid", str(problem), TYPED) from None


def added(query: AuditQuery) -> AuditQuery:
    """The query with what was typed into the field. Raises `ApiError`."""
    typed = query.add.strip()
    name, colon, value = typed.partition(":")
    if not colon or name not in NAMES:
        value = typed
        if typed in _OUTCOMES:
            name = "outcome"
        elif _TRACE.fullmatch(typed) is not None:
            name = "trace"
        elif colon and name.isalpha() and name.isascii():
            raise ApiError(
                422, "invalid", f"records cannot be found by {name!r}", f"by: {', '.join(NAMES)}"
            )
        else:
            name = "tool"
    known: dict[str, Any] = {"add": "", "before": 0, name: value.strip()}
    return msgspec.structs.replace(query, **known)


def url_of(query: AuditQuery, path: str = "/audit", **other: str | int) -> str:
    """The URL of a search; `other` members in place of its own."""
    said = {name: getattr(query, name) for name in (*NAMES, "oldest", "before")} | other
    text = urlencode(
        {name: "true" if value is True else value for name, value in said.items() if value}
    )
    return f"{path}?{text}" if text else path


def chips(query: AuditQuery) -> Sequence[Chip]:
    """The sentence of a search."""
    return [
        Chip(name, _WORDS[name], value, url_of(msgspec.structs.replace(query, **_without(name))))
        for name in NAMES
        if (value := getattr(query, name))
    ]


def _without(name: str) -> dict[str, Any]:
    return {name: "", "before": 0}


def command_of(query: AuditQuery, verb: str = "query") -> str:
    """The same from a terminal; what the command cannot restrict by is left out there."""
    if query.trace and verb == "query":
        return to_type("audit show {}", query.trace)
    said = {
        _OPTIONS.get(name, name): value
        for name in NAMES
        if name not in _NO_OPTIONS and (value := getattr(query, name))
    }
    # What stands in a URL is foreign: it is put in last, quoted, and is never taken for an option.
    return to_type(
        " ".join([f"audit {verb}", *(f"--{name}={{}}" for name in said)]), *said.values()
    )


def recorded(milliseconds: int) -> str:
    """A time as a URL and the record have it."""
    return as_recorded(milliseconds / 1000)
