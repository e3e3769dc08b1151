"""`WholeTexts`: texts of servers and agents too long for a console page, by pages; the last page's proof says that a person was shown all.

Nobody agrees to what was not shown to them. The proof of a page is made of the person, of what the text belongs to, of the text itself and
of the page's number, and each page is given for the proof of the one before: so the last one's stands for all of them, and for none once the
text is another.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from secrets import token_bytes
from typing import Annotated

import msgspec
from msgspec import Meta

from gatewright.console.operations import ApiError

__all__ = ["MOST_CHARS", "Proof", "TextPage", "WholeTexts"]

MOST_CHARS = 16_384
"""Of one text in a page. What is longer says so, and is read by pages of so many where somebody decides on it."""

Proof = Annotated[str, Meta(max_length=64)]


class TextPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a text."""

    text: str
    page: int
    """From 1 on."""
    pages: int
    characters: int
    """Of the whole text."""
    proof: str
    """That this page and all before it were shown; the next one is asked for with it, and what the last one ends is decided with it."""
    before: str
    """The proof with which the page before this one is asked for."""


class WholeTexts:
    """Of one process: what another one has shown counts for nothing."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def page(self, of: tuple[str, ...], text: str, number: int, proof: str) -> TextPage:
        """A page of the text of `of`, which names the person and the thing. Raises `ApiError` where the page before was not shown to them."""
        pages = _pages(text)
        if number > pages:
            raise ApiError(404, "not_found", f"this text has {pages} pages", "begin with the first")
        digest = _digest(text)
        if number > 1 and not self._is(proof, of, digest, number - 1):
            said = f"the pages before page {number} of this text were not shown to you, or it has changed since"
            raise ApiError(409, "not_shown", said, "begin with the first")
        begin = (number - 1) * MOST_CHARS
        return TextPage(
            text=text[begin : begin + MOST_CHARS],
            page=number,
            pages=pages,
            characters=len(text),
            proof=self._proof(of, digest, number),
            before=self._proof(of, digest, number - 2) if number > 2 else "",
        )

    def shown(self, of: tuple[str, ...], text: str, proof: str) -> bool:
        """Whether this proves that all of the text was shown."""
        return self._is(proof, of, _digest(text), _pages(text))

    def _is(self, proof: str, of: tuple[str, ...], digest: str, number: int) -> bool:
        mine = self._proof(of, digest, number)
        return hmac.compare_digest(proof.encode("utf-8", "surrogatepass"), mine.encode())

    def _proof(self, of: tuple[str, ...], digest: str, number: int) -> str:
        said = repr((of, digest, number)).encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, said, "sha256").hex()


def _pages(text: str) -> int:
    return max(1, -(-len(text) // MOST_CHARS))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
