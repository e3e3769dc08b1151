"""Does a secret travel back? What looks like one is replaced in every result, error, event and question, and counted.

A result in which nothing is found stays the bytes that came. One in which something was found says so in its
`_meta`, so that nobody takes a mark for what the tool said: `original_size` and `sanitized_size` in
bytes of JSON text and `redactions_applied`, rule → places. The record says the same rules, never what was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import RECONNECT, Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.redaction import Clean, Redactor
from gatewright.redaction.chunks import CHUNK, Chunks, text_of, with_text
from gatewright.wire import jsonrpc

__all__ = ["REPORT", "Redact", "Rules"]

REPORT = "dev.gatewright/redaction"
"""The member of a result's `_meta` that says what was done to it."""

_LISTS_KEPT = 64
_AUDIT = "notifications/mgp.audit"
_HANDLES = ("progressToken",)
"""What of an event its receiver has to recognise. Every progress has one: they cost no second look."""
_HANDLES_OF = {
    "notifications/resources/updated": ("uri",),
    "elicitation/create": ("elicitationId", "url"),
    "notifications/elicitation/complete": ("elicitationId",),
}
"""The same for what a client has asked for by this name, or has to open as it is."""


class Rules(msgspec.Struct, frozen=True):
    """Which policy holds for what: that of the tool, else that of its server, else the default one.

    None stands for no redaction at all; (server, "*") is every tool of a server without a policy of its own.
    """

    default: Redactor | None
    servers: Mapping[str, Redactor | None] = {}
    tools: Mapping[tuple[str, str], Redactor | None] = {}


class Redact:
    """Filter `redact`."""

    name = "redact"

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._plain = not rules.servers and not rules.tools
        # A list is the same bytes for many callers: what is in it is looked for once.
        self._lists: dict[bytes, bytes] = {}
        self._chunks = Chunks()

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome without what its policy takes out."""
        redactor = self._rules.default if self._plain else self._of(call)
        if redactor is None:
            return outcome
        if type(outcome) is Answer:
            if call.kind == "list":
                return self._list(outcome, redactor)
            if not redactor.worth_a_look(outcome.raw):
                return outcome
            clean = redactor.json(outcome.raw)
            if not clean.rules:
                return outcome
            _count(call, clean.rules)
            return replace(outcome, raw=_reported(outcome.raw, clean))
        return _spoken(call, outcome, redactor)  # type: ignore[arg-type]

    def event(self, call: Call, event: Event) -> Event | None:
        """The event without what its policy takes out. What is recorded is the gateway's to say: no server's claim
        to be the record passes (MGP §6.3)."""
        if event.method == _AUDIT:
            return None
        redactor = self._rules.default if self._plain else self._of(call)
        if redactor is None or event.method == RECONNECT:
            return event
        if event.method == CHUNK and text_of(event.params) is not None:
            return self._chunk(call, event, redactor)
        params, rules = _told(event.method, event.params, redactor)
        if not rules:
            return event
        _count(call, rules)
        return Event(event.method, params)

    def _chunk(self, call: Call, event: Event, redactor: Redactor) -> Event:
        """Its text is a part of one text, and all else is cleaned by itself."""
        said, rules = self._chunks.clean(call.id, event.params, redactor.stream)
        params, more = _told(event.method, with_text(event.params, ""), redactor)
        if rules or more:
            _count(call, [*rules, *more])
        return Event(event.method, with_text(params, text_of(said) or ""))

    def rest(self, call: Call) -> Event | None:
        """What was held back of a text in chunks, once its call has ended."""
        if not self._chunks:
            return None
        params, rules = self._chunks.rest(call.id)
        if rules:
            _count(call, rules)
        return None if params is None else Event(CHUNK, params)

    def said(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The params of what a server says outside any call, without what the server's policy takes out."""
        redactor = self._rules.servers.get(server, self._rules.default)
        return params if redactor is None else _told(method, params, redactor)[0]

    def _of(self, call: Call) -> Redactor | None:
        target = call.speaker
        if target is None:
            return self._rules.default
        whole = self._rules.servers.get(target.server, self._rules.default)
        if not call.of_tool:
            return whole
        tools = self._rules.tools
        return tools.get((target.server, target.name), tools.get((target.server, "*"), whole))

    def _list(self, answer: Answer, redactor: Redactor) -> Answer:
        raw = answer.raw
        clean = self._lists.get(raw)
        if clean is None:
            if len(self._lists) >= _LISTS_KEPT:
                self._lists.clear()
            clean = self._lists[raw] = redactor.json(raw).text
        return answer if clean is raw or clean == raw else replace(answer, raw=clean)


def _told(
    method: str, params: dict[str, Any], redactor: Redactor
) -> tuple[dict[str, Any], Sequence[str]]:
    """The params of a message, clean but for its handles, and the rules that found something."""
    handles = _HANDLES_OF.get(method, _HANDLES)
    handle = {name: params[name] for name in handles if name in params}
    clean = redactor.json(
        jsonrpc.encode({name: one for name, one in params.items() if name not in handle})
    )
    if not clean.rules:
        return params, ()
    return {**jsonrpc.decode(clean.text), **handle}, clean.rules


def _count(call: Call, rules: Iterable[str]) -> None:
    """Put the rules into the facts of the call, beside those that earlier events put there."""
    call.facts["redacted"] = dict(Counter(call.facts.get("redacted", {})) + Counter(rules))


def _reported(raw: bytes, clean: Clean) -> bytes:
    """The clean result with a report in its `_meta`, where it is an object that can have one."""
    try:
        result = msgspec.json.decode(clean.text, type=dict[str, msgspec.Raw])
        meta = msgspec.json.decode(result.get("_meta", b"{}"), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return clean.text
    report = {
        "original_size": len(raw),
        "sanitized_size": len(clean.text),
        "redactions_applied": Counter(clean.rules),
    }
    meta[REPORT] = msgspec.Raw(msgspec.json.encode(report))
    result["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(result)


def _spoken(call: Call, outcome: Refusal | Failure, redactor: Redactor) -> Refusal | Failure:
    """A refusal or failure with clean words; the owner's own error object likewise."""
    found: dict[str, Any] = {}
    rules: list[str] = []
    said = redactor.text(outcome.message)
    if said.rules:
        found["message"] = said.text.decode()
        rules += said.rules
    if outcome.details:
        clean = redactor.json(jsonrpc.encode(dict(outcome.details)))
        if clean.rules:
            found["details"] = jsonrpc.decode(clean.text)
            rules += clean.rules
    if isinstance(outcome, Failure) and outcome.error is not None:
        clean = redactor.json(outcome.error)
        if clean.rules:
            found["error"] = clean.text
            rules += clean.rules
    if not found:
        return outcome
    _count(call, rules)
    return replace(outcome, **found)
