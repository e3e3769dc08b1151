"""Replacement text of a secret: `[REDACTED:<rule>:<six hex digits>]`, with a keyed hash of the value.

The digits are a keyed hash, so that equal secrets can be told to be equal, and nobody without the key can try out
which secret it was.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2s

from gatewright.patterns import Pattern

__all__ = ["MARK", "MARK_BEGINS", "marker"]

MARK_BEGINS = b"[REDACTED:"
MARK = Pattern(rb"\[REDACTED:[a-z][a-z0-9_]{0,15}(?:-[a-z0-9_]{1,15}){0,3}(?::[0-9a-f]{6})?\]")
"""Short words and six digits: whoever writes a mark by hand hides nothing in it."""


def marker(key: bytes) -> Callable[[str, bytes], bytes]:
    """The function from (rule, secret) to its mark. `key` has at most 32 bytes."""

    def mark(rule: str, secret: bytes) -> bytes:
        # Keyed, or whoever guesses a password could check it against the mark.
        digits = blake2s(secret, key=key, digest_size=3).hexdigest()
        return f"[REDACTED:{rule}:{digits}]".encode()

    return mark
