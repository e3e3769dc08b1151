"""Redaction of a text that comes in pieces: a secret over the border of two is found as in one.

What may still become part of a secret is held back: the last run without a space, and numbers in groups. All else goes
on at once, so a stream stays one. What has gone is kept a while as the context of what
comes: a name before its value, the beginning of a key of many lines.
"""

from __future__ import annotations

import re

from gatewright.redaction.invisible import visible
from gatewright.redaction.json_text import Mark
from gatewright.redaction.scanner import Scanner

__all__ = ["Stream"]

WINDOW = 8 * 1024
"""Bytes of context, and the most that is held back: more than any token and most keys of many lines."""

_OPEN = re.compile(rb"(?:[A-Z0-9+(][A-Z0-9 ().-]{0,60}|[^ \t\r\n]{1,8192})\Z")
_BEGIN, _END = b"-----BEGIN ", b"-----END "


class Stream:
    """One text in pieces. `feed` each, then `end` once; what they return, joined, is the clean text."""

    def __init__(
        self, scanner: Scanner, mark: Mark, terms: tuple[str, ...] = (), *, hidden: bool = False
    ) -> None:
        """`hidden` takes out what nobody sees, first: it may stand inside a secret."""
        self._hidden = hidden
        self._scanner = scanner
        self._mark = mark
        self._terms = [term.encode().lower() for term in terms]
        self._gone = b""
        self._held = b""
        self.rules: list[str] = []
        """The rule of each place in which something was taken out."""

    def feed(self, piece: str) -> str:
        """Take the next piece; return what may go on."""
        seen = visible(piece)[0] if self._hidden else piece
        return self._go(seen.encode("utf-8", "replace"), last=False)

    def end(self) -> str:
        """No more pieces: return what was held back."""
        return self._go(b"", last=True)

    def _go(self, piece: bytes, *, last: bool) -> str:
        text = self._gone + self._held + piece
        begun = len(self._gone)
        ready = len(text) if last else self._ready(text, begun)
        found = self._scanner.find(text) if ready > begun else []
        pieces: list[bytes] = []
        at = begun
        for start, end, rule in found:
            if end <= at or start >= ready:
                continue
            if start >= begun:
                pieces += (text[at:start], self._mark(rule, text[start:end]))
                self.rules.append(rule)
            at, ready = end, max(end, ready)
        pieces.append(text[at:ready])
        self._gone = text[max(0, ready - WINDOW) : ready]
        self._held = text[ready:]
        return b"".join(pieces).decode("utf-8", "replace")

    def _ready(self, text: bytes, begun: int) -> int:
        from_ = max(begun, len(text) - WINDOW)
        found = _OPEN.search(text, from_)
        ready = len(text) if found is None else found.start()
        begins = text.rfind(_BEGIN, from_)
        if begins >= 0 and text.find(_END, begins) < 0:
            ready = min(ready, begins)
        return max(
            begun, min([ready, *(len(text) - self._begun(text, one) for one in self._terms)])
        )

    @staticmethod
    def _begun(text: bytes, term: bytes) -> int:
        """How much of a term stands at the end of the text."""
        tail = text[-len(term) + 1 :].lower() if len(term) > 1 else b""
        return next((len(tail) - at for at in range(len(tail)) if term.startswith(tail[at:])), 0)
