"""Filter `redact`: removes secrets from results, errors, notifications; buffers chunk ends, caches lists, sends long texts to workers.

A result in which nothing is found stays the bytes that came. One in which something was found says so (`redaction/report.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from gatewright.call import RECONNECT, Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.chunk_way import TextStep, as_it_is
from gatewright.mcp.wire import jsonrpc
from gatewright.redaction.known_lists import KnownLists
from gatewright.redaction.report import count, measure, reported
from gatewright.redaction.streamed_text import FREE, Finder, StreamedText
from gatewright.schemas.value_weight import outweighs
from gatewright.secret_scanning import Clean, Redactor
from gatewright.secret_scanning.chunks import CHUNK, text_of
from gatewright.standing import NOTHING, Standing

__all__ = ["AT_ONCE", "Cleaning", "Redact", "Rules"]

log = logging.getLogger("gatewright.pipeline")

AT_ONCE = 32 * 1024
"""Bytes that are looked through where they are; more than that is done beside the loop, where somebody does that, and so is what
has many places to look at."""
_WITHOUT_A_PLACE = 64 * 1024
"""Bytes that are looked through where they are as well while too many results wait: a tool has run for them."""
_SPOKEN_AT_ONCE = 8 * 1024
_MANY_OUTSIDE = 512
"""Places to look at in what a server says outside a call, where nobody does it beside the loop."""
_AUDIT = "notifications/mgp.audit"
_PROGRESS = "notifications/progress"
_HANDLES: Mapping[str, tuple[str, ...]] = {
    # The client's own, which the gateway has put there: every progress has one, and they cost no second look.
    _PROGRESS: ("progressToken",),
    "notifications/resources/updated": ("uri",),
    "elicitation/create": ("elicitationId", "url"),
    "notifications/elicitation/complete": ("elicitationId",),
}
"""What of an event its receiver has to recognise: what it has asked for by this name, or has to open as it is."""


class Cleaning(Finder, Protocol):
    """Looks through texts beside the loop."""

    def clean(
        self, call: Call, redactor: Redactor, raw: bytes, *, report: bool
    ) -> Awaitable[Clean | Failure]:
        """The clean text, with `report` that of a result which says what was done to it; or why there is none."""


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

    def __init__(self, rules: Rules, beside: Cleaning | None = None) -> None:
        """Without `beside` everything is done at once, however large."""
        self._rules = rules
        self._beside = beside
        self._plain = not rules.servers and not rules.tools
        self._lists = KnownLists()
        self._streamed = StreamedText(beside)

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome without what its policy takes out."""
        redactor = self._rules.default if self._plain else self._of(call)
        if redactor is None:
            return outcome
        if type(outcome) is Answer:
            return self._answer(call, outcome, redactor)
        if self._beside is not None and _length(outcome) > _SPOKEN_AT_ONCE:  # type: ignore[arg-type]
            return self._large_spoken(call, outcome, redactor, self._beside)  # type: ignore[arg-type]
        return _spoken(call, outcome, redactor)  # type: ignore[arg-type]

    def _answer(
        self, call: Call, answer: Answer, redactor: Redactor
    ) -> Outcome | Awaitable[Outcome]:
        # A list is looked through once for many.
        most = _WITHOUT_A_PLACE if call.kind == "list" else AT_ONCE
        if len(answer.raw) > most and self._beside is not None:
            return self._large(call, answer, redactor, self._beside)
        if call.kind == "list":
            return self._list(call, answer, redactor)
        if not redactor.worth_a_look(answer.raw):
            return answer
        if self._beside is not None and _is_long(redactor, answer.raw):
            return self._large(call, answer, redactor, self._beside)
        clean = redactor.json(answer.raw)
        if not clean.rules:
            return answer
        count(call, clean.rules)
        measure(call, answer.raw, clean)
        return replace(answer, raw=reported(answer.raw, clean))

    def stands(self, call: Call) -> Standing | None:
        """Nothing is done to a short result in which nothing is found."""
        if call.kind == "list":
            return None
        redactor = self._rules.default if self._plain else self._of(call)
        return NOTHING if redactor is None else Standing(clear=self._clear(redactor), most=AT_ONCE)

    def _clear(self, redactor: Redactor) -> Callable[[bytes], bool]:
        worth_a_look, json, alone = redactor.worth_a_look, redactor.json, self._beside is None

        def clear(raw: bytes) -> bool:
            if not worth_a_look(raw):
                return True
            return (alone or not _is_long(redactor, raw)) and not json(raw).rules

        return clear

    async def _large_spoken(
        self, call: Call, outcome: Refusal | Failure, redactor: Redactor, beside: Cleaning
    ) -> Outcome:
        """A refusal or failure of many words, all of them cleaned as one text."""
        error = outcome.error if isinstance(outcome, Failure) else None
        said = {"message": outcome.message, "details": dict(outcome.details), "error": error and msgspec.Raw(error)}  # fmt: skip
        found = await beside.clean(call, redactor, jsonrpc.encode(said), report=False)
        if isinstance(found, Failure):
            return found
        if not found.rules:
            return outcome
        count(call, found.rules)
        clean = jsonrpc.decode_members(found.text)
        members: dict[str, Any] = {
            one: jsonrpc.decode_whole(clean[one]) for one in ("message", "details")
        }
        return replace(outcome, **members, **({"error": bytes(clean["error"])} if error else {}))

    async def _large(
        self, call: Call, answer: Answer, redactor: Redactor, beside: Cleaning
    ) -> Outcome:
        raw, listed = answer.raw, call.kind == "list"
        known = _known(redactor)
        text = self._lists.clean(raw, known) if listed else None
        if text is None:
            found = await beside.clean(call, redactor, raw, report=not listed)
            if isinstance(found, Failure):
                # The tool has run: its answer is rather cleaned here than lost, as long as that holds nobody up.
                if found.reason != "resource_exhausted" or len(raw) > _WITHOUT_A_PLACE:
                    return found
                found = redactor.json(raw)
                if found.rules and not listed:
                    found = Clean(reported(raw, found), found.rules, len(found.text))
            text = found.text
            if listed:
                self._lists.keep(raw, text, known)
            elif found.rules:
                count(call, found.rules)
                measure(call, raw, found)
        return answer if text is raw else replace(answer, raw=text)

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        """The event without what its policy takes out. What is recorded is the gateway's to say: no server's claim
        to be the record passes (MGP §6.3)."""
        if event.method == _AUDIT:  # a server could forge records about other agents
            return None
        redactor = self._rules.default if self._plain else self._of(call)
        if redactor is None or event.method == RECONNECT:
            return event
        if event.method == CHUNK and (text := text_of(event.params)) is not None:  # MGP §12.4
            return self._streamed.event(call, event, redactor, text, self._whole)
        return self._whole(call, event, redactor)

    def chunks(self, call: Call) -> TextStep | None:
        """What is done with the text of a chunk that has nothing else (`StreamedText`)."""
        redactor = self._rules.default if self._plain else self._of(call)
        return as_it_is if redactor is None else self._streamed.step(call, redactor)

    def _whole(
        self, call: Call, event: Event, redactor: Redactor
    ) -> Event | Awaitable[Event | None] | None:
        params, handle = _text(event.method, event.params)
        if _tells(event.method, handle, redactor):
            log.warning("call %s: %s was not passed on: %s", call.id, event.method, _TELLING)
            return None
        if not redactor.worth_a_look(params):
            return event
        if self._beside is not None and _is_long(redactor, params):
            return self._large_event(call, event, redactor, self._beside, (params, handle))
        clean = redactor.json(params)
        if not clean.rules:
            return event
        count(call, clean.rules)
        return Event(event.method, {**jsonrpc.decode(clean.text), **handle})

    async def _large_event(
        self,
        call: Call,
        event: Event,
        redactor: Redactor,
        beside: Cleaning,
        said: tuple[bytes, dict[str, Any]],
    ) -> Event | None:
        """One that cannot be cleaned is not passed on, and the log says so. `said` is what it says as text, and its handles."""
        text, handle = said
        found = await beside.clean(call, redactor, text, report=False)
        if isinstance(found, Failure):
            log.warning("call %s: %s was not passed on: %s", call.id, event.method, found.message)
            return None
        if not found.rules:
            return event
        count(call, found.rules)
        return Event(event.method, {**jsonrpc.decode_whole(found.text), **handle})

    def rest(self, call: Call) -> Event | None:
        """What was held back of a text in chunks, once its call has ended."""
        if not self._streamed:
            return None
        return self._streamed.rest(call, self._rules.default if self._plain else self._of(call))

    def said(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The params of what a server says outside any call, without what the server's policy takes out; None for what is
        too large to be cleaned while everybody waits, and so is not passed on."""
        redactor = self._rules.servers.get(server, self._rules.default)
        if redactor is None:
            return params
        flaw = _too_much_outside(method, params, redactor)
        if flaw:
            told = server, ascii(method)[:100], flaw
            log.warning("server %s: %s was not passed on: outside a call it may have %s", *told)
            return None
        return _told(method, params, redactor)

    def _of(self, call: Call) -> Redactor | None:
        target = call.speaker
        if target is None:
            return self._rules.default
        whole = self._rules.servers.get(target.server, self._rules.default)
        if not call.of_tool:
            return whole
        tools = self._rules.tools
        return tools.get((target.server, target.name), tools.get((target.server, "*"), whole))

    def _list(self, call: Call, answer: Answer, redactor: Redactor) -> Outcome | Awaitable[Outcome]:
        raw, known = answer.raw, _known(redactor)
        clean = self._lists.clean(raw, known)
        if clean is None and self._beside is not None and _is_long(redactor, raw):
            return self._large(call, answer, redactor, self._beside)
        if clean is None:
            clean = redactor.json(raw).text
            self._lists.keep(raw, clean, known)
        return answer if clean is raw or clean == raw else replace(answer, raw=clean)


def _known(redactor: Redactor) -> int:
    """Another number whenever more is known to be secret."""
    return -1 if redactor.held is None else redactor.held.version


def _text(method: str, params: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The params of a message as JSON, without its handles, and those."""
    handles = _HANDLES.get(method, ())
    handle = {name: params[name] for name in handles if name in params}
    rest = {name: one for name, one in params.items() if name not in handle}
    return jsonrpc.encode(rest), handle


_TELLING = "a secret stands in what has to arrive as it is"


def _tells(method: str, handle: Mapping[str, Any], redactor: Redactor) -> bool:
    """Whether a value that is known to be a secret stands in what cannot be cleaned. What only looks like one stays: addresses to
    log in at have such parts."""
    return bool(handle) and method != _PROGRESS and redactor.holds(jsonrpc.encode(handle))


def _told(method: str, params: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The params of a message, clean but for its handles."""
    text, handle = _text(method, params)
    clean = redactor.json(text)
    return {**jsonrpc.decode(clean.text), **handle} if clean.rules else params


def _is_long(redactor: Redactor, raw: bytes) -> bool:
    """Whether a text is cleaned beside the loop."""
    return len(raw) > AT_ONCE or (len(raw) > FREE and redactor.takes_long(raw))


def _too_much_outside(method: str, params: dict[str, Any], redactor: Redactor) -> str:
    """What a server may not say outside a call, because it would be cleaned while everybody waits; empty where it may."""
    if outweighs(params, _WITHOUT_A_PLACE):
        return f"{_WITHOUT_A_PLACE} bytes at most"
    raw, handle = _text(method, params)
    if _tells(method, handle, redactor):
        return "no secret in what has to arrive as it is"
    many = len(raw) > FREE and redactor.has_many(raw, _MANY_OUTSIDE)
    return f"at most {_MANY_OUTSIDE} places that look like secrets" if many else ""


def _length(outcome: Refusal | Failure) -> int:
    """About how many bytes the words of a refusal or failure have; more than are cleaned at once where its details alone are too
    many."""
    if outcome.details and outweighs(outcome.details, _SPOKEN_AT_ONCE):
        return _SPOKEN_AT_ONCE + 1
    error = outcome.error if isinstance(outcome, Failure) else None
    return len(outcome.message) + len(error or b"")


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
    count(call, rules)
    return replace(outcome, **found)
