"""Audit `Record` and the structs of its members; `Stamps` for UUIDv7 ids and times; size-bounded JSON; conversion to MGP's notification.

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

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

__all__ = [
    "GATEWAY",
    "INTENT",
    "MAX_BYTES",
    "MAX_CHARS",
    "Actor",
    "Decision",
    "Program",
    "Record",
    "Request",
    "Result",
    "Stamps",
    "Subject",
    "Verdict",
    "encode",
    "encoder",
    "own_record",
    "shortened",
    "to_mgp",
]

Verdict = Literal["success", "denied", "failure", "error", "cancelled", "pending"]
"""How it ended: `failure` is a tool that ran and said so, `error` a call that broke on the way,
`pending` an intent. An intent without a later record of the same call: nobody knows how it ended."""

INTENT = "dev.gatewright.intent"
_RESULTS = {"success": "SUCCESS", "denied": "BLOCKED"}
MAX_CHARS = 256
"""Of one string, where a record would be too long."""
MAX_BYTES = 32 * 1024
_SHORT_CHARS = 64
_DETAILS = ("risk_level", "validator_applied", "duration_ms", "reason")
"""What is kept of the details where a record is cut."""
_WHOLE = frozenset({"id", "time", "event_type", "request.digest", "prev_hash", "hash"})
"""Members with which a record is found again, of which no caller chooses the length."""


class Actor(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Who did it: an agent, an operator, `anonymous`, or the gateway itself."""

    type: str
    id: str
    key_id: str | None = None


GATEWAY = Actor("system", "gatewright")


class Program(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the caller's program calls itself (`clientInfo` of MCP). It proves nothing, and nothing follows from it."""

    name: str
    version: str | None = None


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
    """Which gate refused, and its reason (a name of `mcp/wire/codes.py`)."""

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
    client: Program | None = None
    request: Request | None = None
    decision: Decision | None = None
    result: Result | None = None
    details: Mapping[str, Any] = {}


_COUNTS = tuple(f"{count:03x}" for count in range(0x1000))
_MILLISECONDS = tuple(f".{count:03d}Z" for count in range(1000))


class Stamps:
    """Times and ids for records, from a clock and a source of randomness. For one thread."""

    def __init__(self, clock: Callable[[], float], random: Callable[[int], bytes]) -> None:
        """`clock` gives Unix seconds, `random(n)` gives n bytes."""
        self._clock = clock
        self._random = random
        self._moment = -1
        self._ids: Iterator[str] = iter(())
        self._begin = self._end = 0
        """The milliseconds of the second of which `_date` and `_behind` are."""
        self._time = self._date = self._behind = ""

    def take(self) -> tuple[str, str]:
        """The time now (ISO 8601, UTC, milliseconds) and a fresh UUIDv7.

        Ids of one millisecond count up in the twelve bits before the random part, which those of one
        second share (RFC 9562, 6.2, method 1), so that they sort, and most cost one formatted string.
        """
        moment = int(self._clock() * 1000)
        if moment != self._moment:
            self._turn(moment)
        ident = next(self._ids, None)
        if ident is None:  # 4,096 ids a millisecond, then fresh randomness
            self._turn(moment)
            ident = next(self._ids)
        return self._time, ident

    def _turn(self, moment: int) -> None:
        # An id of an earlier millisecond may be out.
        if not self._begin <= self._moment < moment < self._end:
            self._begin_second(moment)
        self._moment = moment
        spelled = f"{moment >> 16:08x}-{moment & 0xFFFF:04x}-7%s{self._behind}"
        self._ids = map(spelled.__mod__, _COUNTS)
        self._time = self._date + _MILLISECONDS[moment - self._begin]

    def _begin_second(self, moment: int) -> None:
        second = moment // 1000
        self._begin, self._end = second * 1000, (second + 1) * 1000
        self._date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        noise = self._random(8).hex()
        # `a` has the two bits of the variant (RFC 9562, 4.1).
        self._behind = f"-a{noise[:3]}-{noise[3:15]}"


encoder = msgspec.json.Encoder(enc_hook=lambda value: f"<{type(value).__name__}>")
"""Writes members of records: of what is no JSON, the name of its type."""


def encode(record: Record) -> bytes:
    """The record as a JSON object, whatever its details hold."""
    try:
        body = encoder.encode(record)
    except Exception:  # noqa: BLE001 - text that is no Unicode, endless nesting: still a record
        body = encoder.encode(_plain(record))
    # The feeder reads whole lines in batches, and one caller must not fill the trail.
    if len(body) > MAX_BYTES:
        body = encoder.encode(_plain(record))
    return body


def own_record(event_type: str, stamp: tuple[str, str], details: Mapping[str, Any]) -> Record:
    """What the gateway did of itself and to nothing but itself. `stamp` is what `Stamps.take` gave."""
    moment, id = stamp
    return Record(
        id, moment, event_type, "success", GATEWAY, Subject(), trace_id=id, details=details
    )


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


def shortened(line: bytes) -> bytes:
    """A recorded line in one or two kilobytes, for whoever takes no longer ones: its names cut at 64 printable characters and without
    the facts of gates; `cut` in the details says so. Its hash stays that of the whole record."""
    record: dict[str, Any] = msgspec.json.decode(line)
    details = record.get("details", {})
    record["details"] = {name: details[name] for name in _DETAILS if name in details} | {
        "cut": True
    }
    return encoder.encode(_short("", record))


def _short(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(f"{name}.{key}" if name else key, one) for key, one in value.items()}
    if name in _WHOLE or not isinstance(value, str):
        return value
    # Each character is one byte, in JSON too.
    plain = (
        char if " " <= char <= "~" and char not in '"\\' else "?" for char in value[:_SHORT_CHARS]
    )
    return "".join(plain)


def _plain(record: Record) -> Record:
    """The record with nothing in it that could be too long or no text; `cut` in the details says so."""
    details = {name: _clean(record.details[name]) for name in _DETAILS if name in record.details}
    members = {name: _clean(getattr(record, name)) for name in record.__struct_fields__}
    return Record(**{**members, "details": {**details, "cut": True}})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_CHARS].encode("utf-8", "backslashreplace").decode()
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_clean(getattr(value, name)) for name in value.__struct_fields__))
    if value is None or isinstance(value, int | float):
        return value
    return f"<{type(value).__name__}>"
