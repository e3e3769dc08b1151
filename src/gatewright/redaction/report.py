"""Reports redactions in a result's `_meta` and its call's audit facts: sizes in bytes of JSON, places per rule; never what was found.

So nobody takes a mark for what the tool said: `original_size`, `sanitized_size` and `redactions_applied`, rule → places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gatewright.call import Call
from gatewright.secret_scanning import Clean

__all__ = ["REPORT", "count", "measure", "reported"]

REPORT = "dev.gatewright/redaction"
"""The member of a result's `_meta` that says what was done to it."""


def count(call: Call, rules: Iterable[str] | Mapping[str, int]) -> None:
    """Put the rules into the facts of the call, beside those that earlier events put there."""
    call.facts["redacted"] = dict(Counter(call.facts.get("redacted", {})) + Counter(rules))


def measure(call: Call, raw: bytes, clean: Clean) -> None:
    """Put what was done to a result into the facts of its call: for the record, and for endpoints that leave `_meta` out."""
    call.facts["redaction"] = _report(raw, clean)


def reported(raw: bytes, clean: Clean) -> bytes:
    """The clean result with a report in its `_meta`, where it is an object that can have one."""
    try:
        result = msgspec.json.decode(clean.text, type=dict[str, msgspec.Raw])
        meta = msgspec.json.decode(result.get("_meta", b"{}"), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return clean.text
    meta[REPORT] = msgspec.Raw(msgspec.json.encode(_report(raw, clean)))
    result["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(result)


def _report(raw: bytes, clean: Clean) -> dict[str, Any]:
    return {
        "original_size": len(raw),
        "sanitized_size": clean.size or len(clean.text),
        "redactions_applied": dict(Counter(clean.rules)),
    }
