"""Spellings of a known secret value to search for: literal, JSON-escaped, percent-encoded, and base64 at any offset.

A value of fewer than eight characters, or of fewer than four different ones, is none of these: it would be found all over
honest text. Such a one is left to the other rules, which know it by its name or form.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote

__all__ = ["LEAST", "OWN", "base64_of", "is_telling", "spellings"]

OWN = "own-secret"
"""The rule of what is found by its exact value."""
LEAST = 8
_KINDS = 4


def is_telling(value: str) -> bool:
    """Whether a value is long and varied enough to be looked for by itself."""
    return len(value.strip()) >= LEAST and len(set(value)) >= _KINDS


def spellings(values: Iterable[str]) -> tuple[bytes, ...]:
    """How these values may be spelled in a text, the longest first; of too short ones none."""
    found = {one for value in values if is_telling(value) for one in _spelled(value.strip())}
    return tuple(sorted(found, key=lambda one: (-len(one), one)))


def _spelled(value: str) -> Iterator[bytes]:
    # As it is, as JSON writes it, and that once more inside a JSON text. `\/` is an escape that some write (RFC 8259, 7).
    for plain in (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]):
        yield plain.encode(errors="replace")
        yield json.dumps(plain)[1:-1].encode()
        yield plain.replace("/", "\\/").encode(errors="replace")
    for safe in ("", "/"):
        encoded = quote(value, safe=safe, errors="replace")
        yield encoded.encode()
        yield "".join(_lower_hex(encoded)).encode()
    yield from (one.encode() for one in base64_of(value))


def _lower_hex(encoded: str) -> Iterator[str]:
    # RFC 3986, 2.1: the digits may be of either case.
    first, *rest = encoded.split("%")
    yield first
    yield from (f"%{one[:2].lower()}{one[2:]}" for one in rest)


def base64_of(value: str) -> Iterator[str]:
    """What surely stands in the base64 of any text that holds the value, in both alphabets."""
    said = value.encode(errors="replace")
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + said).decode()
        # Characters that also hold bits of the neighbours are left out, at both ends.
        first = -(-before * 8 // 6)
        sure = encoded[first : (before + len(said)) * 8 // 6]
        yield sure
        yield sure.replace("+", "-").replace("/", "_")
