"""Finds private keys in text (PEM, OpenPGP, PuTTY; escaped line ends too); `goes_on` tells whether one is cut off at the text's end."""

from __future__ import annotations

from collections.abc import Iterator

from gatewright.secret_scanning.patterns import Next, Pattern

__all__ = ["goes_on", "private_keys"]

_PEM = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PUTTY = (
    r"PuTTY-User-Key-File-[0-9](?:[^\n]*\n){2,40}?"
    r"Private-Lines: [0-9]+\s((?:[A-Za-z0-9+/=]+\s?)+)"
)
_pem = Pattern(_PEM, bounded=True)
_putty = Pattern(_PUTTY, captures=True)
_PEM_END = Pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", bounded=True)
_PEM_ENDS = Pattern("-----END ", bounded=True)
# The lines of names first: `Version` alone would be read as base64, and the key end at its colon.
_PEM_BODY = Pattern(
    r"(?:[\s\x0b]|\\+[nr]|[A-Za-z-]+: [^\n\\]*)*(?:[A-Za-z0-9+/=\s\x0b]|\\+[nr]|[A-Za-z-]+: [^\n\\]*)*"
)
_LAST_LINE = b"-----END "
_PEM_LINE = Pattern(r"[A-Za-z0-9+/=]{32}", bounded=True)
# Bytes from the first line of a key on: a shorter one is the mere mention of it.
_PEM_LEAST = 24
# Bytes of a key at most; an end that is farther away belongs to something else.
_PEM_MOST = 64 * 1024


def _end_of_key(text: bytes, begun: int, ending: int, line: Next) -> int:
    """Where a key ends whose body begins at `begun`: behind its last line, or where base64 ends.
    `ending` is where the next such line may be, `line` finds the next one of base64."""
    end = _PEM_BODY.end_at(text, begun)
    if not begun <= ending <= begun + _PEM_MOST:
        return end
    closing = _PEM_END.end_at(text, ending)
    if closing == ending or line.after(begun)[1] > ending:
        return end
    return closing


def goes_on(text: bytes, at: int) -> bool:
    """Whether a private key begins at a place and nothing else stands behind it, up to the end of the text."""
    begins = _pem.at(text, at)
    if begins is None:
        return False
    rest = text[_PEM_BODY.end_at(text, begins[0][1]) :]
    return _LAST_LINE.startswith(rest) or rest.startswith(_LAST_LINE) or not rest.strip(b"\\")


def private_keys(text: bytes) -> Iterator[tuple[int, int, str]]:
    """(start, end, rule) of every private key, in order."""
    done, ending, line = 0, Next(_PEM_ENDS, text), Next(_PEM_LINE, text)
    for spans in _pem.all(text):
        start, begun = spans[0]
        if start < done:
            continue
        end = _end_of_key(text, begun, ending.after(begun)[0], line)
        if end - begun >= _PEM_LEAST:
            yield start, end, "private-key"
            done = end
    for spans in _putty.all(text):
        yield *spans[1], "private-key"
