"""`Stream`: redacts a text that arrives in chunks; holds back what may become part of a secret, keeps the last bytes as context.

What may still become part of a secret is held back: the last run without a space, numbers in groups, what follows a hint on its
line (a password of several words), and what may be named only behind it (`{"value": …, "name": …}`). All else goes on at once, so
a stream stays one. What has gone is kept a while as the context of what
comes: a name before its value, the beginning of a key of many lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.secret_scanning import context, passwords
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.findings import begin_of_character
from gatewright.secret_scanning.invisible import AHEAD, open_end, visible
from gatewright.secret_scanning.json_text import Mark
from gatewright.secret_scanning.patterns import REACH, AnyOf, Pattern, either, stays_plain
from gatewright.secret_scanning.private_keys import goes_on
from gatewright.secret_scanning.scanner import Scanner
from gatewright.secret_scanning.unfinished_values import VALUE, VALUE_NEAR, open_value

__all__ = ["TOO_DENSE", "Stream"]

TOO_DENSE = "too_costly"
"""The rule of a text in which there is too much to look at."""
WINDOW = 8 * 1024
"""Bytes of context, and the most that is held back: more than any token and most keys of many lines."""

_AGAIN, _FREE = 8, 32 * 1024
"""Bytes looked at for each byte fed, and at the beginning, before pieces wait for one another."""
_LINE = 128
"""Bytes of a line that are looked at again, rather than remembered as being clear."""
_PROGRAM = Pattern(either([passwords.PROGRAM, context.PROGRAM]), bounded=True)
"""What has a password anywhere behind it on its line; all else that hints at one stands near it."""
_NUMBERED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ().-"
_NO_BEGIN, _PLUS = b" ).-", b"+"
_NUMBER_MOST = 61
_SPACES = (b"\n", b"\t", b"\r")
_HINTED = 512
"""So much behind a hint waits for the end of its line."""
_BEFORE_IT = r"\b(?i:use|with|enter|try|echo)[ \t]{1,8}(?:-n )?[^\s0-9]{0,64}[0-9]"
_EARLY = Pattern(_BEFORE_IT, bounded=True)
"""What has a value that may be called a secret only behind it."""
_LATER = Pattern(either([_BEFORE_IT, VALUE]), bounded=True)
"""That, or a value that may be named only behind it: one question for most texts, which have neither."""
_LATER_MOST = 96
"""More than it takes."""
_NAMED_WITHIN = 256
"""So soon behind the beginning of that."""
_BEGIN, _END, _PUTTY = b"-----BEGIN ", b"-----END ", b"PuTTY-User-Key-File"
_DASHES, _LAST_LINE = b"-----", 80
"""With what the last line of a key ends, and how long such a line is at most."""
_KEY_MOST = 32 * 1024
"""So much of a private key waits for its end."""


class Stream:
    """One text in pieces. `feed` each, then `end` once; what they return, joined, is the clean text."""

    def __init__(
        self, scanner: Scanner, mark: Mark, terms: tuple[str, ...] = (), *, hidden: bool = False
    ) -> None:
        """`hidden` takes out what nobody sees, first: it may stand inside a secret."""
        self._hidden = hidden
        self._unseen = self._ahead = ""
        """What can only be judged with the next piece, and the end of what was before it."""
        self._scanner = scanner
        self._mark = mark
        self._terms = [term.encode().lower() for term in terms]
        self._gone = b""
        self._held = b""
        self._fed = self._looked = self._fresh = self._cost = 0
        self._quiet = True
        """Whether no hint ends in what was looked at."""
        self._at = self._clear = 0
        """Where `_gone` begins in all that was fed, and up to where the line that was read last has neither hint nor program."""
        self._mixed = 0
        """Behind this place all that was fed is plain (`stays_plain`)."""
        self._later = 0
        """Behind this place nothing that was fed is called a secret only behind it, as far as it has begun."""
        self._in_key = False
        """Whether a key waits for its end."""
        self._key = -1
        """Where a key of many lines begins of which a part has gone; -1 where there is none."""
        self._pending: tuple[bytes, int, int, int] | None = None
        """What `begin` gave to be looked at: the text, from where it is looked at, what of it has gone, and up to where it is ready."""
        self._reach = max([REACH, *map(len, self._terms)])
        self._simple = not (hidden or self._terms)
        """Whether there is no more to do for most pieces than `_calm` does."""
        self.rules: list[str] = []
        """The rule of each place in which something was taken out."""

    def feed(self, piece: str) -> str:
        """Take the next piece; return what may go on."""
        return self._whole(self.begin(piece))

    def end(self) -> str:
        """No more pieces: return what was held back."""
        return self._whole(self.begin("", last=True))

    def begin(self, piece: str, *, last: bool = False) -> str | bytes:
        """The first half of `feed`, of `end` where it is the `last`: what may go on; or a text in which there may be something:
        `finish` with what is found in it, here or elsewhere. Where `finish` is never called, the piece is held back."""
        seen = self._visible(piece, last=last) if self._hidden else piece
        data = seen.encode("utf-8", "replace")
        calm = None if last or not (self._quiet and self._simple) else self._calm(data)
        return self._go(data, last=last) if calm is None else calm

    def _calm(self, piece: bytes) -> str | None:
        """All of `_go` for plain text that follows such text, as most does; None where there may be more to it, and nothing was done."""
        gone = self._gone
        begun, fed = len(gone), self._fed + len(piece)
        text = gone + self._held + piece
        size = len(text)
        new, fresh = size - len(piece), size - begun
        at = self._back(text, new)
        if (
            self._fresh
            or self._key >= 0
            or fresh > 2 * WINDOW
            or self._looked > _AGAIN * fed + _FREE
            or self._at + at < self._mixed
            or text.find(b"-", max(0, begun - len(_PUTTY))) >= 0  # no key begins or ends without
            or not stays_plain(text, new)
            or self._scanner.plain_worth_a_look(text[at:])
            or _LATER.hits(text[self._unnamed(text, begun, new) :])
        ):
            return None
        self._fed, self._cost = fed, fresh
        self._looked += fresh
        if self._at + size - self._clear >= _LINE:
            self._see_programs(text[at:], self._at + size)
        ready = begin_of_character(text, _open(text, begun))
        return (
            self._let_go(text, text[begun:ready], ready)
            if ready > begun
            else self._let_go(text, b"", begun)
        )

    def finish(self, found: Sequence[Finding] | None) -> str:
        """The second half: what may go on of the text that `begin` gave back, with what the scanner finds in that. None: that cannot be
        told, and nothing of it goes on (rule `TOO_DENSE`)."""
        if self._pending is None:
            raise ValueError("nothing was begun")
        text, from_, begun, ready = self._pending
        if found is None:
            found = [(begun - from_, ready - from_, TOO_DENSE)]
        gone, ready = self._clean(text, found, from_, begun, ready)
        return self._gone_on(text, gone, begun, ready)

    def look(self, text: bytes) -> str:
        """`finish` with what is found here in the text that `begin` gave back."""
        return self.finish(self._scanner.find(text))

    def _whole(self, begun: str | bytes) -> str:
        return begun if isinstance(begun, str) else self.look(begun)

    def _visible(self, piece: str, *, last: bool) -> str:
        text = self._unseen + piece
        at = len(text) if last else open_end(text)
        seen, self._unseen = visible(text[:at], self._ahead)[0], text[at:]
        self._ahead = (self._ahead + seen)[-AHEAD:]
        return seen

    def _go(self, piece: bytes, *, last: bool) -> str | bytes:
        self._fed += len(piece)
        self._fresh += len(piece)
        waits = not last and (self._waits() or self._waits_for_key(piece))
        self._held += piece
        if waits:
            return ""
        text = self._gone + self._held
        begun = len(self._gone)
        worth = self._worth(text, begun)
        from_ = self._context(text, begun) if worth else begun
        # Also of what is held back all the same: that is looked at again with the next piece.
        self._cost = len(text) - from_
        self._looked += self._cost
        ready = len(text) if last else self._ready(text, begun, worth=worth)
        if worth and ready > begun:
            self._pending = text, from_, begun, ready
            return text[from_:]
        return self._gone_on(text, text[begun:ready], begun, ready)

    def _gone_on(self, text: bytes, gone: bytes, begun: int, ready: int) -> str:
        """Let a text go up to `ready`, as `gone`."""
        self._pending = None
        self._see_keys(text, begun, ready)
        return self._let_go(text, gone, ready)

    def _let_go(self, text: bytes, gone: bytes, ready: int) -> str:
        kept = max(0, ready - WINDOW)
        self._at += kept
        self._gone = text[kept:ready]
        self._held = text[ready:]
        return gone.decode("utf-8", "replace")

    def _waits(self) -> bool:
        """Whether a piece waits for the next one. What has gone is looked at again with what comes: where that costs more than
        the text is worth, each look is for an eighth as much of new text at least."""
        busy = self._looked > _AGAIN * self._fed + _FREE
        return busy and self._fresh < self._cost // _AGAIN

    def _waits_for_key(self, piece: bytes) -> bool:
        """The same inside a key, of which nothing goes before its end: that is looked for in what is new."""
        held = len(self._held)
        if not self._in_key or held > _KEY_MOST or self._fresh >= held // _AGAIN:
            return False
        return _END not in self._held[-_LAST_LINE - len(_END) :] + piece

    def _worth(self, text: bytes, begun: int) -> bool:
        """Whether anything may be in what has not gone yet."""
        size = len(text)
        # Of what no hint ends in, only the end can be the beginning of one.
        new = size - self._fresh
        seen = text[self._context(text, new if self._quiet else begun) :]
        if not stays_plain(text, new):
            self._mixed = self._at + size
        self._fresh = 0
        self._quiet = not self._scanner.worth_a_look(seen)
        if self._quiet:
            self._see_programs(seen, self._at + size)
        return not self._quiet

    def _unnamed(self, text: bytes, begun: int, new: int) -> int:
        """The same as `_near`, where only what is behind `new` was not looked at yet."""
        near = _near(text, begun)
        return near if self._at + near < self._later else max(near, new - _LATER_MOST)

    def _see_programs(self, seen: bytes, end: int) -> None:
        """Remember that the line that ends there has no program on it. It is known as far as it has to be: this need not be asked for each
        piece of it."""
        if end - self._clear >= _LINE and len(seen) > self._reach and not _PROGRAM.hits(seen):
            self._clear = end

    def _context(self, text: bytes, edge: int) -> int:
        """From where a text is looked at for what ends behind `edge`, or for the rest of a key that began before it."""
        at = self._back(text, edge)
        return at if self._key < 0 else min(at, max(0, self._key - self._at))

    def _back(self, text: bytes, edge: int) -> int:
        """From where a text is looked at for what ends behind `edge`: no hint takes more than its line or so many bytes."""
        at = edge - self._reach
        if at <= 0:
            return 0
        line = text.rfind(b"\n", 0, at) + 1
        known = at - line > _LINE and self._at + line <= self._at + at <= self._clear
        return at if known else line

    def _see_keys(self, text: bytes, begun: int, ready: int) -> None:
        """Remember where a key of many lines begins of which a part goes now, as long as it is known what was before."""
        if 0 <= self._key < self._at:
            self._key = -1
        from_ = max(0, begun - len(_PUTTY))
        begins = max(text.rfind(_BEGIN, from_, ready), text.rfind(_PUTTY, from_, ready))
        if begins >= 0:
            self._key = self._at + begins
        if self._key >= 0 and 0 <= text.find(_END, max(from_, self._key - self._at)) < ready:
            self._key = -1

    def _clean(
        self, text: bytes, found: Sequence[Finding], from_: int, begun: int, ready: int
    ) -> tuple[bytes, int]:
        """What goes of a text that is ready up to `ready`, with what was found in it behind `from_`, and up to where that is, since
        what is taken out goes as a whole."""
        pieces: list[bytes] = []
        at = begun
        for first, last, rule in found:
            start, end = first + from_, last + from_
            # Gone already, or held back and found again with the next piece.
            if end <= at or start >= ready:
                continue
            # Of what began in text that has gone the rest is dropped: its mark would come behind its beginning.
            if start >= begun:
                pieces += (text[at:start], self._mark(rule, text[start:end]))
                self.rules.append(rule)
            at, ready = end, max(end, ready)
        pieces.append(text[at:ready])
        return b"".join(pieces), ready

    def _ready(self, text: bytes, begun: int, *, worth: bool) -> int:
        # More than a window waits for the next, so that each goes as one.
        from_ = begun if len(text) - begun <= 2 * WINDOW else len(text) - WINDOW
        ready = _open(text, from_)
        if worth or _LATER.hits(text[_near(text, begun) :]):  # else there is neither
            self._later = self._at + len(text)
            ready = min(ready, _early(text), open_value(text, begun, named=worth))
        begins = text.rfind(_BEGIN, begun)
        # A key of many lines is one secret: all of it waits for its end.
        self._in_key = begins >= 0 and not _ends(text, begins) and _may_end(text, begins)
        if self._in_key:
            ready = min(ready, begins)
        if worth:  # else there is none
            ready = min(ready, _hinted(text, self._scanner.worded))
        for term in self._terms:
            ready = min(ready, len(text) - self._begun(text, term))
        return max(begun, begin_of_character(text, ready))

    @staticmethod
    def _begun(text: bytes, term: bytes) -> int:
        """How much of a term stands at the end of the text."""
        # A whole term is found by the rules; only a part of one is waited for.
        tail = text[-len(term) + 1 :].lower() if len(term) > 1 else b""
        return next((len(tail) - at for at in range(len(tail)) if term.startswith(tail[at:])), 0)


def _near(text: bytes, begun: int) -> int:
    """From where a text is looked at for what may be named only behind it."""
    return max(0, min(begun - VALUE_NEAR, len(text) - _NAMED_WITHIN))


def _open(text: bytes, from_: int) -> int:
    """Where what may go on begins: the last run without a space, or a number in groups."""
    run = text.rfind(b" ", from_) + 1 or from_
    if run < len(text):
        for space in _SPACES:
            run = text.rfind(space, run) + 1 or run
    tail = text[max(from_, len(text) - _NUMBER_MOST) :]
    begun = len(tail.rstrip(_NUMBERED))
    if tail[max(0, begun - 1) : begun] in _PLUS and begun:
        begun -= 1
    groups = tail[begun:].lstrip(_NO_BEGIN)
    return min(run, len(text) - len(groups))


def _ends(text: bytes, begins: int) -> bool:
    """Whether the last line of a key that begins there has come, all of it."""
    at = text.find(_END, begins) + len(_END)
    return at >= len(_END) and (len(text) - at > _LAST_LINE or text.find(_DASHES, at) >= 0)


def _may_end(text: bytes, begins: int) -> bool:
    """Whether the end of a key that begins there is waited for; where more than a window is there, only as long as it goes on."""
    size = len(text) - begins
    return size <= 2 * WINDOW or (size <= _KEY_MOST and goes_on(text, begins))


def _hinted(text: bytes, worded: AnyOf) -> int:
    """Where the first hint on the last line is: what it is of may have several words."""
    line = text[max(text.rfind(b"\n") + 1, len(text) - _HINTED) :]
    if not worded.hits(line):
        return len(text)
    return len(text) - len(line) + worded.next(line)(0)[0]


def _early(text: bytes) -> int:
    found = _EARLY.after(text, max(0, len(text) - _NAMED_WITHIN))
    return len(text) if found is None else found[0][0]
