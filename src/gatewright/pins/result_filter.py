"""Filter `injection`: scans tool results and messages for prompt injection; marks or withholds them, and names the signals.

Signals are a guess, so a mark changes nothing but what is known: the record has the signals with their words, the result's `_meta` the
signals, and the filter `flow` notes that its session has read what strangers wrote. With `hold` the caller gets a refusal in the place of
the result: the tool has run, and nothing of its text passes. Text in chunks (MGP §12.4) is judged as it comes, each with the end of
the one before it; what passed before a signal was complete cannot be called back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from gatewright.call import RECONNECT, Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.chunk_way import TextStep, as_it_is
from gatewright.mcp.wire import jsonrpc
from gatewright.pins.result_reading import (
    Found,
    marked,
    marked_unread,
    open_to_all,
    read_result,
    reading,
    tags_of,
)
from gatewright.secret_scanning import without_secrets
from gatewright.secret_scanning.chunks import CHUNK, GAP, text_of
from gatewright.secret_scanning.invisible import open_end, visible
from gatewright.standing import NOTHING, Standing

__all__ = ["AT_ONCE", "IN_STEPS", "KEPT", "Injection", "Level", "Levels", "Scoring"]

log = logging.getLogger("gatewright.pipeline")

Level = Literal["mark", "hold", "off"]

AT_ONCE = 1024
"""Bytes that are read where they are, some milliseconds where they are like nothing before them; more than that, beside the loop."""
IN_STEPS = 16 * 1024
"""Bytes that are read where they are all the same, a passage at a time, where nobody else would."""
KEPT = 4096
"""Calls at once whose chunks are judged together with the end of the chunk before."""
_TAIL = 300
"""Characters of a chunk that the next one is judged with."""
_SPOKEN = frozenset(
    {CHUNK, "notifications/message", "sampling/createMessage", "elicitation/create"}
)
"""What a model may read besides results."""


class Scoring(Protocol):
    """Reads long texts beside the loop."""

    async def score(self, call: Call, raw: bytes) -> tuple[Found | None, bytes] | Failure:
        """What was found in the JSON text of a result, and the result with a mark in it, or why that is not known."""


class Levels(msgspec.Struct, frozen=True):
    """What happens to results: of a tool, else of its server, else by default; (server, "*") is every tool without a level of its own."""

    default: Level = "off"
    servers: Mapping[str, Level] = {}
    tools: Mapping[tuple[str, str], Level] = {}

    @property
    def off(self) -> bool:
        """Whether nothing is read."""
        return {self.default, *self.servers.values(), *self.tools.values()} == {"off"}

    def of(self, call: Call) -> Level:
        """That of whoever wrote the text that comes back. A prompt is chosen by a person to give orders, and lists are held to what
        definitions may say."""
        target = call.speaker
        if target is None or not (call.of_tool or call.kind == "resource"):
            return "off"
        whole = self.servers.get(target.server, self.default)
        if not call.of_tool:
            return whole
        tools = self.tools
        return tools.get((target.server, target.name), tools.get((target.server, "*"), whole))


class Injection:
    """Filter `injection`."""

    name = "injection"

    def __init__(self, levels: Levels, beside: Scoring | None = None) -> None:
        """Without `beside` everything is read at once, however long."""
        self._levels = levels
        self._beside = beside
        self._tails: dict[str, str] = {}
        self.idle = levels.off

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome, marked or withheld where it speaks to the model."""
        level = self._levels.of(call)
        if level == "off":
            return outcome
        if type(outcome) is Answer:
            raw = b"" if outcome.own else outcome.raw
        else:
            # A failure without the server's own error is worded by the gateway.
            raw = outcome.error or b"" if type(outcome) is Failure else b""
        if not raw:
            return outcome
        if len(raw) > AT_ONCE and self._beside is not None:
            return self._large(call, outcome, raw, self._beside)
        return self._told(call, outcome, read_result(raw), None)

    def stands(self, call: Call) -> Standing | None:
        """Nothing is said of a short result that does not speak to the model."""
        if self._levels.of(call) == "off":
            return NOTHING
        return Standing(clear=lambda raw: read_result(raw) is None, most=AT_ONCE)

    async def _large(self, call: Call, outcome: Outcome, raw: bytes, beside: Scoring) -> Outcome:
        read = await _read(call, raw, beside)
        if not isinstance(read, Failure):
            return self._told(call, outcome, *read)
        # It is as what strangers wrote: nobody knows better.
        _unread(call, read.message)
        if self._levels.of(call) == "hold":
            call.facts["injection"]["held"] = True
            text = f"{read.message}. The tool has run; its result is held back, because nobody has read it"
            return replace(read, message=text)
        return (
            replace(outcome, raw=marked_unread(outcome.raw)) if type(outcome) is Answer else outcome
        )

    def _told(
        self, call: Call, outcome: Outcome, found: Found | None, text: bytes | None
    ) -> Outcome:
        """What goes on. `text` is the result with a mark in it, where that is made already."""
        if found is not None:
            _note(call, found)
        said = call.facts.get("injection")  # a message before the result may have one
        if said is None or (found is None and "signals" not in said):
            return outcome
        if self._levels.of(call) == "hold":
            return _held(call, said)
        if found is None or type(outcome) is not Answer:
            return outcome
        return replace(outcome, raw=text or marked(outcome.raw, found))

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        """The event, or none where it speaks to the model and that is withheld."""
        if event.method not in _SPOKEN or event.method == RECONNECT:
            return event
        level = self._levels.of(call)
        if level == "off":
            return event
        raw = self._said(call, event)
        if raw is None:
            _unread(call, "too many results come in chunks at once")
            return self._withheld(call, event) if level == "hold" else event
        if len(raw) > AT_ONCE and self._beside is not None:
            return self._large_event(call, event, raw, self._beside)
        return self._passed(call, event, read_result(raw))

    def chunks(self, call: Call) -> TextStep | None:
        """Where results are not read, chunks are not either."""
        return as_it_is if self._levels.of(call) == "off" else None

    def _said(self, call: Call, event: Event) -> bytes | None:
        """What of an event is read, as JSON. A chunk goes on where the one before it ended; None where nobody knows where that was."""
        text = text_of(event.params) if event.method == CHUNK else None
        if text is None:
            return jsonrpc.encode(event.params)
        if call.id not in self._tails and len(self._tails) >= KEPT:
            return None
        whole = self._tails.get(call.id, "") + text
        self._tails[call.id] = _tail(whole)
        return jsonrpc.encode(whole)

    async def _large_event(
        self, call: Call, event: Event, raw: bytes, beside: Scoring
    ) -> Event | None:
        read = await _read(call, raw, beside)
        if not isinstance(read, Failure):
            return self._passed(call, event, read[0])
        _unread(call, read.message)
        return self._withheld(call, event) if self._levels.of(call) == "hold" else event

    def _passed(self, call: Call, event: Event, found: Found | None) -> Event | None:
        if found is not None:
            _note(call, found)
        # Of a message that could not be read nothing follows for the next one.
        told = "signals" in call.facts.get("injection", ())
        holds = told and self._levels.of(call) == "hold"
        return self._withheld(call, event) if holds else event

    @staticmethod
    def _withheld(call: Call, event: Event) -> Event | None:
        text = text_of(event.params) if event.method == CHUNK else None
        if text is not None:  # never silently: its caller is told how much is missing
            return Event(GAP, {"request_id": call.id, "chars": len(text)})
        log.warning("call %s: %s was not passed on: it speaks to the model", call.id, event.method)
        return None

    def rest(self, call: Call) -> Event | None:
        """Nothing is held; what was kept of a call that has ended goes."""
        self._tails.pop(call.id, None)
        return None


async def _read(
    call: Call, raw: bytes, beside: Scoring
) -> tuple[Found | None, bytes | None] | Failure:
    """What is found beside the loop, or here where nobody has the time and it is not much."""
    read = await beside.score(call, raw)
    if not isinstance(read, Failure) or len(raw) > IN_STEPS:
        return read
    steps = reading(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, None
        await asyncio.sleep(0)  # others go on meanwhile


def _tail(text: str) -> str:
    """What the next chunk is judged with: of what is seen, of what hides in it, and what has only begun."""
    begun = open_end(text)
    return visible(text[:begun])[0][-_TAIL:] + tags_of(text)[-_TAIL:] + text[begun:]


def _unread(call: Call, why: str) -> None:
    call.facts["injection"] = {**call.facts.get("injection", {}), "unread": why}


def _note(call: Call, found: Found) -> None:
    """For the record: the signals with their words. For whoever is refused: what they are."""
    before: Mapping[str, Any] = call.facts.get("injection", {})
    # A worker does not know the secrets that are held here.
    words = {signal: open_to_all(said, _is_open) for signal, said in found.signals.items()}
    signals = {**words, **before.get("signals", {})}
    call.facts["injection"] = {**before, "signals": signals, "says": list(found.says)}


def _is_open(words: str) -> bool:
    said = words.encode()
    return without_secrets(said) == said


def _held(call: Call, said: Mapping[str, Any]) -> Refusal:
    target = call.speaker
    server, tool = ("", "") if target is None else (target.server, target.name)
    name = call.tool.exposed if call.tool is not None else f"what {server} sent"
    signals = sorted(said.get("signals", ()))
    table = f"[servers.tools.{tool}]" if call.of_tool and tool else "[[servers]]"
    call.facts["injection"] = {**said, "held": True}
    why = ", ".join(said.get("says", ())) or "it could not be read"
    return Refusal(
        "policy_violation",
        f"the result of {name} is held back, because it speaks to the model: {why} [{', '.join(signals)}]. The tool has run. An operator "
        f'finds the words in the record of this call, and lets such results through with injection = "mark" in {table} of server {server!r}',
        {"rule": "injection", "signals": signals, "server_id": server, "tool_name": tool},
        gate="injection",
    )
