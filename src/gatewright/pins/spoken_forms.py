"""Other forms in which a model reads a text of a tool's definition: look-alike letters, letters spaced out, names as words, base64 decoded.

Each form is linear in the text, and at most one of each is made of a text, so that what is scored is a small multiple of what was said.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from gatewright.patterns import ASCII, Pattern, words_of
from gatewright.schemas.lookalikes import seen

__all__ = ["other_forms"]

_SPACED = Pattern(r"(?:\w ){5,}\w\b", ASCII)
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
            folded = seen(short)
            if folded != short.casefold():
                yield folded
        if _SPACED.within(short):
            yield _SPACED.sub(
                lambda found: found[0].replace(" ", ""), short.replace("  ", " \x1f ")
            ).replace("\x1f", " ")
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
