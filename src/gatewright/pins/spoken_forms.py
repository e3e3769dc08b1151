"""Decodes obfuscated text of tool definitions for screening: look-alike letters, letters spaced out, words in names, base64.

Each form is linear in the text, and at most one of each is made of a text, so that what is scored is a small multiple of what was said.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from gatewright.patterns import ASCII, Pattern, words_of

__all__ = ["other_forms"]

_SPACED = Pattern(r"(?:\w ){5,}\w\b", ASCII)
_LETTERS = Pattern(r"\b\w(?: \w)+\b", ASCII)
_ALIKE = str.maketrans(
    "".join(map(chr, (0x430, 0x435, 0x43E, 0x440, 0x441, 0x443, 0x445, 0x456, 0x458, 0x455, 0x501, 0x4BB, 0x406, 0x410, 0x415, 0x41E, 0x420, 0x421, 0x422, 0x425,
                      0x41D, 0x41A, 0x41C, 0x412, 0x3B1, 0x3BF, 0x3BD, 0x3C1, 0x3B9, 0x578, 0x261, 0x26A))),
    "aeopcyxijsdhIAEOPCTXHKMBaovpingi",
)  # fmt: skip
"""Letters of other scripts by the Latin ones that they look like."""
_NAME = Pattern(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+){3,}|[a-z]+(?:[A-Z][a-z0-9]+){3,}")
_ENCODED = Pattern(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_MOST_ENCODED = 8
_MOST_LOOKED = 65536
"""Characters of a text that are folded; a longer one is no description."""


def other_forms(texts: Iterable[str]) -> Iterator[str]:
    """What texts say in another way; nothing for most of them."""
    for text in texts:
        short = text[:_MOST_LOOKED]
        if not short.isascii():
            folded = short.translate(_ALIKE)
            if folded != short:
                yield folded
        if _SPACED.within(short):
            apart = short.replace("  ", " \x1f ")
            joined = _LETTERS.sub(lambda found: found[0].replace(" ", ""), apart)
            yield joined.replace("\x1f", " ")
        if _NAME.fits(short):
            yield " ".join(words_of(short))
        if len(short) > 2 * 12:
            yield from _decoded(short)


def _decoded(text: str) -> Iterator[str]:
    for number, found in enumerate(_ENCODED.finditer(text)):
        if number >= _MOST_ENCODED:
            return
        coded = found[0].replace("-", "+").replace("_", "/").rstrip("=")
        try:
            said = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            continue
        if said.isprintable() and " " in said:
            yield said
