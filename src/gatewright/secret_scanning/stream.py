"""`Stream`: redacts a text that arrives in chunks; holds back what may become part of a secret, keeps the last bytes as context.

What may still become part of a secret is held back: the last run without a space, numbers in groups, what follows a hint on its
line (a password of several words), and what may be named only behind it (`{"value": …, "name": …}`). All else goes on at once, so
a stream stays one. What has gone is kept a while as the context of what
comes: a name before its value, the beginning of a key of many lines.
"""

from __future__ import annotations

from gatewright.secret_scanning import context, passwords
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.invisible import visible
from gatewright.secret_scanning.json_text import Mark
from gatewright.secret_scanning.patterns import REACH, AnyOf, Pattern
from gatewright.secret_scanning.scanner import Scanner

__all__ = ["Stream"]

WINDOW = 8 * 1024
"""Bytes of context, and the most that is held back: more than any token and most keys of many lines."""

_CLUMP = 2048
_AGAIN, _FREE = 8, 1 << 19
"""Bytes looked at for each byte fed, and at the beginning, before pieces wait for one another."""
_NUMBERED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ().-"
_NO_BEGIN, _PLUS = b" ).-", b"+"
_NUMBER_MOST = 61
_WORDED = AnyOf([context.HINTS, passwords.HINTS])
"""What may have several words behind it; tokens are one run."""
_HINTED = 512
"""So much behind a hint waits for the end of its line."""
_EARLY = Pattern(
    r"(?i:value)[\\\"'`]{0,8}[\s\x0b]{0,8}[:=]"
    r"|\b(?i:use|with|enter|try|echo)[ \t]{1,8}(?:-n )?[^\s0-9]{0,64}[0-9]",
    bounded=True,
)
"""What has a value that may be called a secret only behind it."""
_NAMED_WITHIN = 256
"""So soon behind the beginning of that."""
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
        self._fed = self._looked = self._fresh = 0
        self._quiet = True
        """Whether nothing was worth a look in all but the last `_fresh` bytes."""
        self._reach = max([REACH, *map(len, self._terms)])
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
        self._fed += len(piece)
        self._fresh += len(piece)
        text = self._gone + self._held + piece
        begun = len(self._gone)
        ready = len(text) if last else self._ready(text, begun)
        if not last and ready - begun < self._least():
            self._held += piece
            return ""
        found = self._found(text) if ready > begun else []
        pieces: list[bytes] = []
        at = begun
        for start, end, rule in found:
            # Gone already, or held back and found again with the next piece.
            if end <= at or start >= ready:
                continue
            # Of what began in text that has gone the rest is dropped: its mark would come behind its beginning.
            if start >= begun:
                pieces += (text[at:start], self._mark(rule, text[start:end]))
                self.rules.append(rule)
            at, ready = end, max(end, ready)
        pieces.append(text[at:ready])
        self._gone = text[max(0, ready - WINDOW) : ready]
        self._held = text[ready:]
        return b"".join(pieces).decode("utf-8", "replace")

    def _found(self, text: bytes) -> list[Finding]:
        worth, fresh = self._scanner.worth_a_look, self._fresh
        self._fresh = 0
        # Of what was looked at before only the end can be the beginning of something: no hint takes more than its line or so many bytes.
        at = len(text) - fresh - self._reach
        if self._quiet and not worth(text[max(0, text.rfind(b"\n", 0, max(0, at))) :]):
            return []
        self._quiet = not worth(text)
        if self._quiet:
            return []
        self._looked += len(text)
        return self._scanner.find(text)

    def _least(self) -> int:
        """What must be there before it may go on. What has gone is looked at again with each piece: where that costs
        more than the text is worth, small pieces wait for one another."""
        return _CLUMP if self._looked > _AGAIN * self._fed + _FREE else 1

    def _ready(self, text: bytes, begun: int) -> int:
        if (
            len(text) - begun <= 2 * WINDOW
        ):  # more than a window waits for the next, so that each goes as one
            from_ = begun
        else:
            from_ = len(text) - WINDOW
        ready = _open(text, from_)
        begins = text.rfind(_BEGIN, from_)
        # A key of many lines is one secret: all of it waits for its end.
        if begins >= 0 and text.find(_END, begins) < 0:
            ready = min(ready, begins)
        ready = min(ready, _hinted(text), _early(text))
        ready = min([ready, *(len(text) - self._begun(text, one) for one in self._terms)])
        return max(begun, _between_characters(text, ready))

    @staticmethod
    def _begun(text: bytes, term: bytes) -> int:
        """How much of a term stands at the end of the text."""
        # A whole term is found by the rules; only a part of one is waited for.
        tail = text[-len(term) + 1 :].lower() if len(term) > 1 else b""
        return next((len(tail) - at for at in range(len(tail)) if term.startswith(tail[at:])), 0)


def _open(text: bytes, from_: int) -> int:
    """Where what may go on begins: the last run without a space, or a number in groups."""
    run = max(from_, 1 + max(text.rfind(space, from_) for space in (b" ", b"\t", b"\r", b"\n")))
    tail = text[max(from_, len(text) - _NUMBER_MOST) :]
    begun = len(tail.rstrip(_NUMBERED))
    if tail[max(0, begun - 1) : begun] in _PLUS and begun:
        begun -= 1
    groups = tail[begun:].lstrip(_NO_BEGIN)
    return min(run, len(text) - len(groups))


def _between_characters(text: bytes, at: int) -> int:
    """The same place, or the beginning of the character that it is in: text without spaces is cut by its length alone."""
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _hinted(text: bytes) -> int:
    """Where the first hint on the last line is: what it is of may have several words."""
    line = text[max(text.rfind(b"\n") + 1, len(text) - _HINTED) :]
    if not _WORDED.hits(line):
        return len(text)
    return len(text) - len(line) + _WORDED.next(line)(0)[0]


def _early(text: bytes) -> int:
    found = _EARLY.after(text, max(0, len(text) - _NAMED_WITHIN))
    return len(text) if found is None else found[0][0]
