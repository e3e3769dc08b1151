"""What one record says, and the same in the words of MGP.

A record is made of facts about a call: who, what, when, how it was decided, how it ended. Arguments
and results are never in it, only their SHA-256 and their size, and of a refusal only its reason:
messages may quote arguments. What looks like a secret in a name that a caller chose is taken out.
Members that do not apply are left out. A record above 32 KiB is written with its strings cut at 256
characters and without the facts that gates added.

`event_type` is one of the names of MGP §6.4, or a name of our own in reverse-domain form:
`dev.gatewright.intent` before a tool call is forwarded that may change something, and
`dev.gatewright.list`, `.prompt`, `.resource`, `.method` for calls that are not about a tool.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, cast

import msgspec

from gatewright.call import Answer, Call, Failure, Outcome, Refusal
from gatewright.redaction import without_secrets

__all__ = [
    "GATEWAY",
    "INTENT",
    "Actor",
    "Context",
    "Decision",
    "Record",
    "Request",
    "Result",
    "Stamps",
    "Subject",
    "Verdict",
    "context_of",
    "encode",
    "end_of",
    "intent_of",
    "own_record",
    "rejections_of",
    "request_of",
    "to_mgp",
]

Verdict = Literal["success", "denied", "failure", "error", "cancelled", "pending"]
"""How it ended: `failure` is a tool that ran and said so, `error` a call that broke on the way,
`pending` an intent. An intent without a later record of the same call: nobody knows how it ended."""

INTENT = "dev.gatewright.intent"
_RESULTS = {"success": "SUCCESS", "denied": "BLOCKED"}
_MAX_CHARS = 256
_MAX_VIOLATIONS = 20
_ID = re.compile(r"[0-9a-f-]{1,64}")
_MAX_BYTES = 32 * 1024


class Actor(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Who did it: an agent, an operator, `anonymous`, or the gateway itself."""

    type: str
    id: str
    key_id: str | None = None


GATEWAY = Actor("system", "gatewright")


class Subject(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What it was done to. `tool_name` for tools, `name` for prompts, resources and methods."""

    server_id: str | None = None
    tool_name: str | None = None
    name: str | None = None


class Request(msgspec.Struct, frozen=True, gc=False):
    """The arguments: SHA-256 of their JSON with sorted keys, and its length."""

    digest: str
    bytes: int


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Which gate refused, and its reason (a name of `wire/codes.py`)."""

    gate: str
    reason: str


class Result(msgspec.Struct, frozen=True, gc=False):
    """What came back."""

    is_error: bool
    bytes: int


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One record without its place in the chain. The order of members is the order in the line."""

    id: str
    """UUIDv7, of this record alone."""
    time: str
    event_type: str
    outcome: Verdict
    actor: Actor
    target: Subject
    trace_id: str
    call: str | None = None
    """The same in the intent and the end of one call."""
    method: str | None = None
    door: str | None = None
    session: str | None = None
    request: Request | None = None
    decision: Decision | None = None
    result: Result | None = None
    details: Mapping[str, Any] = {}


Context = tuple[Actor, Subject, str, str, str, str, str | None, Request | None]
"""The members of a record that every record of one call shares, in their order."""


_COUNTS = tuple(f"{count:03x}" for count in range(0x1000))


class Stamps:
    """Times and ids for records, from a clock and a source of randomness. For one thread."""

    def __init__(self, clock: Callable[[], float], random: Callable[[int], bytes]) -> None:
        """`clock` gives Unix seconds, `random(n)` gives n bytes."""
        self._clock = clock
        self._random = random
        self._moment = -1
        self._count = 0
        self._time = self._before = self._behind = ""

    def take(self) -> tuple[str, str]:
        """The time now (ISO 8601, UTC, milliseconds) and a fresh UUIDv7.

        Ids of one millisecond share their random part and count up in the twelve bits before it
        (RFC 9562, 6.2, method 1), so that they sort, and most cost one formatted string.
        """
        moment = int(self._clock() * 1000)
        count = self._count + 1
        if moment != self._moment or count >= len(_COUNTS):
            self._turn(moment)
            count = 0
        self._count = count
        return self._time, self._before + _COUNTS[count] + self._behind

    def _turn(self, moment: int) -> None:
        second, millis = divmod(moment, 1000)
        if second != self._moment // 1000:  # a date costs more to write than all the rest
            self._date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        noise = self._random(8).hex()
        self._moment = moment
        self._time = f"{self._date}.{millis:03d}Z"
        self._before = f"{moment >> 16:08x}-{moment & 0xFFFF:04x}-7"
        self._behind = f"-a{noise[:3]}-{noise[3:15]}"


_encoder = msgspec.json.Encoder(enc_hook=lambda value: f"<{type(value).__name__}>")
_sorting = msgspec.json.Encoder(order="deterministic")


def encode(record: Record) -> bytes:
    """The record as a JSON object, whatever its details hold."""
    try:
        body = _encoder.encode(record)
    except Exception:  # noqa: BLE001 - text that is no Unicode, endless nesting: still a record
        body = _encoder.encode(_plain(record))
    if len(body) > _MAX_BYTES:
        body = _encoder.encode(_plain(record))
    return body


def request_of(call: Call) -> Request | None:
    """The digest of what the call asks with; None for questions about the catalogue."""
    if call.kind == "list":
        return None
    asked = call.arguments if call.kind in {"tool", "prompt"} else call.params
    try:
        text = _sorting.encode(asked)
    except Exception:  # noqa: BLE001 - what cannot be written as JSON is still something
        text = repr(asked).encode("utf-8", "backslashreplace")
    return Request(sha256(text).hexdigest(), len(text))


def own_record(event_type: str, stamp: tuple[str, str], details: Mapping[str, Any]) -> Record:
    """What the gateway did of itself and to nothing but itself. `stamp` is what `Stamps.take` gave."""
    moment, id = stamp
    return Record(
        id, moment, event_type, "success", GATEWAY, Subject(), trace_id=id, details=details
    )


def intent_of(call: Call, stamp: tuple[str, str], context: Context) -> Record:
    """The record before a call is forwarded. `stamp` is what `Stamps.take` gave."""
    moment, id = stamp
    details = _details(call)
    return Record(id, moment, INTENT, "pending", *context, None, None, details)


def end_of(
    call: Call,
    outcome: Outcome,
    stamp: tuple[str, str],
    context: Context,
    forwarded: bool,
    duration_ms: float,
) -> Record:
    """The record after a call. `forwarded` says whether it ever left for its owner."""
    details = _details(call)
    details["duration_ms"] = duration_ms
    decision: Decision | None = None
    result: Result | None = None
    if type(outcome) is Answer:
        event = "TOOL_EXECUTED"
        verdict: Verdict = "failure" if outcome.tool_error else "success"
        result = Result(outcome.tool_error, len(outcome.raw))
    elif type(outcome) is Refusal:
        event = "TOOL_BLOCKED"
        verdict = "denied"
        decision = Decision(outcome.gate, outcome.reason)
    else:
        event = "TOOL_EXECUTED" if forwarded else "TOOL_BLOCKED"  # blocked: it never ran
        details["reason"] = reason = cast("Failure", outcome).reason
        verdict = "cancelled" if reason == "cancelled" else "error"
    if call.kind != "tool":
        event = f"dev.gatewright.{call.kind}"
    moment, id = stamp
    return Record(id, moment, event, verdict, *context, decision, result, details)


def rejections_of(refusal: Refusal) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is recorded besides the block when a check of the arguments refused (MGP §6.4): the type of
    each event, and what its details say more."""
    yield "VALIDATION_FAILED", {}
    if refusal.reason == "code_safety":
        texts = [_chosen(str(one))[:_MAX_CHARS] for one in refusal.details.get("violations", ())]
        yield "CODE_REJECTED", {"violations": texts[:_MAX_VIOLATIONS]}


def to_mgp(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The params of `notifications/mgp.audit` (MGP §6.3) for a decoded record.

    None for an intent: MGP knows only what has happened.
    """
    if record["event_type"] == INTENT:
        return None
    details = dict(record.get("details", {}))
    details.update(record.get("decision", {}))
    actor, target = record["actor"], record["target"]
    return {
        "timestamp": record["time"],
        "trace_id": record["trace_id"],
        "event_type": record["event_type"],
        "actor": {"type": actor["type"], "id": actor["id"]},
        "target": {
            "server_id": target.get("server_id", ""),
            "tool_name": target.get("tool_name", target.get("name", "")),
        },
        "result": _RESULTS.get(record["outcome"], "FAILURE"),
        "details": details,
    }


def context_of(call: Call) -> Context:
    """The context of `call`, which stays the same once it is known what is called."""
    caller = call.caller
    return (
        Actor(caller.kind, caller.id, caller.key_id),
        _subject(call),
        call.trace_id if _ID.fullmatch(call.trace_id) else _chosen(call.trace_id),
        call.id,
        _chosen(call.method),
        call.door,
        call.session,
        request_of(call),
    )


def _chosen(text: str) -> str:
    """What a caller chose, a name or an id, without a secret in it."""
    return _remembered(text) if len(text) <= _MAX_CHARS else _cleaned(text)


def _cleaned(text: str) -> str:
    return without_secrets(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


_remembered = lru_cache(4096)(
    _cleaned
)  # the names of a gateway are few, and looked at in each call


def _subject(call: Call) -> Subject:
    target = call.target if call.tool is None else call.tool.target
    if call.kind == "tool":
        if target is None:
            return Subject(None, _chosen(call.name))
        return Subject(target.server, _chosen(target.name))
    server = None if target is None else target.server
    return Subject(server, None, _chosen(call.name) if call.kind != "list" else None)


def _details(call: Call) -> dict[str, Any]:
    details = dict(call.facts)
    if call.kind == "tool":
        details["risk_level"] = "unknown" if call.tool is None else call.tool.security.risk_level
        details.setdefault("validator_applied", "none")
    return details


def _plain(record: Record) -> Record:
    """The record with nothing in it that could be too long or no text."""
    kept = ("risk_level", "validator_applied", "duration_ms", "reason")
    details = {name: _clean(record.details[name]) for name in kept if name in record.details}
    members = {name: _clean(getattr(record, name)) for name in record.__struct_fields__}
    return Record(**{**members, "details": {**details, "cut": True}})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MAX_CHARS].encode("utf-8", "backslashreplace").decode()
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_clean(getattr(value, name)) for name in value.__struct_fields__))
    if value is None or isinstance(value, int | float):
        return value
    return f"<{type(value).__name__}>"
