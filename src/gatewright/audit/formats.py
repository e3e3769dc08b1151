"""Converts audit records to JSON lines, CSV, CloudEvents, OCSF or Groundhog events, and filters them by Groundhog class. Pure.

`jsonl` is the line of the record itself, whose hash still proves it. `csv` is RFC 4180 with a heading;
no cell of it begins like a formula, because spreadsheets run those. `cloudevents` is one structured
CloudEvents 1.0 event a line, `ocsf` one OCSF event a line (`audit/ocsf.py`), `groundhog` one of Groundhog's
audit events a line (`audit/groundhog_events.py`), and no line for what that knows no event of.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import msgspec

from gatewright.audit.groundhog_events import to_event
from gatewright.audit.ocsf import to_ocsf
from gatewright.patterns import Pattern

__all__ = ["Format", "chooser", "cloud_event", "heading", "writer"]

Format = Literal["jsonl", "csv", "cloudevents", "ocsf", "groundhog"]

_COLUMNS = (
    "seq",
    "id",
    "time",
    "event_type",
    "outcome",
    "actor.type",
    "actor.id",
    "actor.key_id",
    "target.server_id",
    "target.tool_name",
    "target.name",
    "trace_id",
    "call",
    "method",
    "door",
    "session",
    "request.digest",
    "request.bytes",
    "decision.gate",
    "decision.reason",
    "result.is_error",
    "result.bytes",
    "details",
    "prev_hash",
    "hash",
)
_PATHS = tuple(name.partition(".")[::2] for name in _COLUMNS)
_FORMULA = Pattern(r"[\s\x00-\x1f\p{Z}\p{Cf}]*[=+\-@|%" + "\uff1d\uff0b\uff0d\uff20\uff5c\uff05]")
"""Also behind what is not seen, and in full width: spreadsheets of some languages read both as the same."""
_MGP_NAME = Pattern(r"[A-Z][A-Z0-9_]*")
_encoder = msgspec.json.Encoder()
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def heading(form: Format) -> bytes:
    """What stands before the first record: the names of the columns, or nothing."""
    return (",".join(_COLUMNS) + "\r\n").encode() if form == "csv" else b""


def writer(form: Format, gateway: str) -> Callable[[bytes], bytes]:
    """The function that puts one line of the record, without its newline, into the form, newline included.

    `gateway` is the name of the gateway, which the envelopes name as their source.
    """
    if form == "jsonl":
        return lambda line: line + b"\n"
    if form == "csv":
        return _csv_row
    if form == "groundhog":
        return _groundhog
    change = cloud_event if form == "cloudevents" else to_ocsf
    return lambda line: _encoder.encode(change(_decode(line), gateway)) + b"\n"


def cloud_event(record: Mapping[str, Any], gateway: str) -> dict[str, Any]:
    """One CloudEvents 1.0 event, whose data is the record. `id` is unique, so that who gets it twice knows.

    `sequence` is the extension of that name: the number of the record, so wide that texts sort.
    """
    named = record["event_type"]
    target = record.get("target", {})
    told = (target.get("server_id"), target.get("tool_name") or target.get("name"))
    subject = "/".join(part for part in told if part)
    return {
        "specversion": "1.0",
        "id": record["id"],
        "source": f"urn:gatewright:{gateway}",
        "type": f"dev.gatewright.mgp.{named.lower()}" if _MGP_NAME.fullmatch(named) else named,
        **({"subject": subject} if subject else {}),
        "time": record["time"],
        "datacontenttype": "application/json",
        "sequence": f"{record['seq']:020d}",
        "traceid": record["trace_id"],
        "data": record,
    }


def chooser(classes: Collection[str]) -> Callable[[bytes], bool]:
    """Whether a line of the record is an event of Groundhog's in one of these classes."""
    wanted = frozenset(classes)

    def chooses(line: bytes) -> bool:
        event = to_event(_decode(line))
        return event is not None and not wanted.isdisjoint(event.classes)

    return chooses


def _groundhog(line: bytes) -> bytes:
    event = to_event(_decode(line))
    return b"" if event is None else _encoder.encode(event.body) + b"\n"


def _csv_row(line: bytes) -> bytes:
    record = _decode(line)
    out = io.StringIO()
    csv.writer(out).writerow([_cell(record, outer, inner) for outer, inner in _PATHS])
    return out.getvalue().encode()


def _cell(record: Mapping[str, Any], outer: str, inner: str) -> str:
    value = record.get(outer)
    if inner and isinstance(value, Mapping):
        value = value.get(inner)
    if value is None:
        return ""
    if not isinstance(value, str):  # a number, a truth or an object never begins like a formula
        return _encoder.encode(value).decode()
    # A leading apostrophe makes it text for a spreadsheet: names come from callers and servers (CSV injection).
    return f"'{value}" if _FORMULA.match(value) else value
