"""Decodes obfuscated text of tool definitions for screening: look-alike or parted letters, digits for letters, names, base64, hex, rot13.

Each form is linear in the text, and at most one of each is made of a text, so that what is scored is a small multiple of what was said.
"""

from __future__ import annotations

import base64
import binascii
import codecs
from collections.abc import Iterable, Iterator

from gatewright.identifier_words import words_of
from gatewright.patterns import ASCII, IGNORECASE, Pattern
from gatewright.secret_scanning.unicode_forms import normal

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
_PARTED = Pattern(r"(?:\w[-.*_/|]){4,}\w\b", ASCII)
"""Letters with signs between them."""
_BETWEEN = Pattern(r"[-.*_/|]")
_DIGITS_IN = Pattern(r"[A-Za-z$@]*(?:[A-Za-z$@][013457]|[013457][A-Za-z$@])[A-Za-z$@013457]*")
_DIGITS = str.maketrans("013457$@", "oieastsa")
_FEWEST_DIGITS = 3
"""Words with digits for letters; fewer are names of formats."""
_TURNED = Pattern(r"rot-?13|revers|backwards", IGNORECASE)
_ENCODED = Pattern(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = Pattern(r"(?:[0-9a-fA-F]{2}){12,}")
_MOST_ENCODED = 8
_MOST_LOOKED = 65536
"""Characters of a text that are folded; a longer one is no description."""


def other_forms(texts: Iterable[str]) -> Iterator[str]:
    """What texts say in another way; nothing for most of them."""
    for text in texts:
        short = text[:_MOST_LOOKED]
        if not short.isascii():
            yield from _folded(short)
        yield from _joined(short)
        if len(_DIGITS_IN.findall(short)) >= _FEWEST_DIGITS:
            yield _DIGITS_IN.sub(lambda found: found[0].translate(_DIGITS), short)
        if _TURNED.within(short):
            yield short[::-1]
            yield codecs.encode(short, "rot13")
        if _NAME.fits(short):
            yield " ".join(words_of(short))
        if len(short) > 2 * 12:
            yield from _decoded(short)


def _folded(text: str) -> Iterator[str]:
    """With plain letters for styled ones, for struck ones, and for those of other scripts."""
    plain = normal("NFKC", text)
    plain = "".join(one for one in plain if not "\u0300" <= one <= "\u036f")
    for form in dict.fromkeys((plain, plain.translate(_ALIKE))):
        if form != text:
            yield form


def _joined(text: str) -> Iterator[str]:
    """With letters together that stand apart."""
    if _SPACED.within(text):
        apart = text.replace("  ", " \x1f ")
        joined = _LETTERS.sub(lambda found: found[0].replace(" ", ""), apart)
        yield joined.replace("\x1f", " ")
    if _PARTED.within(text):
        yield _PARTED.sub(lambda found: _BETWEEN.sub("", found[0]), text)


def _decoded(text: str) -> Iterator[str]:
    for number, found in enumerate(_ENCODED.finditer(text)):
        if number >= _MOST_ENCODED:
            return
        coded = found[0].replace("-", "+").replace("_", "/").rstrip("=")
        try:
            if _HEX.fits(coded):
                said = bytes.fromhex(coded).decode()
            else:
                said = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            continue
        said = " ".join(said.split())  # what is encoded mostly ends with a line
        if said.isprintable() and " " in said:
            yield said
