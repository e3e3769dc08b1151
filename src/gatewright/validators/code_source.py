"""Parses Python source for `code_safety` after encoding checks; blanks literals and comments; detects names disguised in non-ASCII letters.

A parser is the first thing that hostile source meets, so what is too long is refused before. What it takes for too deep, such as 200
brackets or a chain of ten thousand operators, is an ordinary refusal. For patterns, comments and the insides of literals are
blanked out: a pattern in a sentence is no code.
"""

from __future__ import annotations

import ast
import warnings

from gatewright.patterns import ASCII, DOTALL, Pattern
from gatewright.secret_scanning.unicode_forms import has_long_row, normal

__all__ = ["MAX_BYTES", "BadSource", "blanked", "is_disguised", "parsed"]

MAX_BYTES = 100 * 1024
"""No source above this is parsed, whatever a tool allows."""

_QUOTES = ("'''", '"""', "'", '"')
_REST = r"\\?\Z"
_INSIDE = {
    quote: rf"{quote}(?:[^\\]|\\.)*?(?:{quote}|{_REST})"
    if len(quote) == 3
    else rf"{quote}(?:[^\\\n]|\\.)*?(?:{quote}|{_REST}|\n.*\Z)"
    for quote in _QUOTES
}
"""A literal that nothing ends goes on to the end of the source."""
_LITERAL = Pattern(
    rf"(?P<prefix>[A-Za-z]{{0,2}})(?P<literal>{'|'.join(_INSIDE.values())})|#[^\n\r]*", DOTALL
)
_NEWLINE = Pattern(r"\r\n?|\n")
_COOKIE = Pattern(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", ASCII)
# PEP 263: in another encoding the interpreter could read other code than was judged (`utf-7`, `raw_unicode_escape`).
_PLAIN_CODINGS = frozenset({"utf-8", "utf8", "ascii", "us-ascii"})


class BadSource(ValueError):  # noqa: N818 - a verdict, not a malfunction
    """The source cannot be judged; the text says why, as a violation does."""


def parsed(code: str) -> ast.Module:
    """The tree. Raises `BadSource`."""
    _check_text(code)
    try:
        return _tree(code)
    except (SyntaxError, ValueError) as problem:
        raise BadSource(f"Syntax: {problem.args[0] if problem.args else problem}") from None
    # CPython's parser raises MemoryError where its own stack overflows.
    except (RecursionError, MemoryError):
        raise BadSource("Syntax: nested too deeply") from None


def _tree(code: str) -> ast.Module:
    if "\\" not in code:
        return ast.parse(code)
    # An odd escape is worth a warning to its author, not to us.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _check_text(code: str) -> None:
    if "\0" in code:
        raise BadSource("Character: NUL")
    try:
        code.encode()
    except UnicodeEncodeError:
        raise BadSource("Character: a lone surrogate") from None
    # The parser normalizes names, and puts their marks in order in the square of their number.
    if has_long_row(code):
        raise BadSource("Character: more than 30 marks on one letter")
    if "coding" not in code:
        return
    for line in _NEWLINE.split(code, maxsplit=2)[:2]:
        cookie = _COOKIE.match(line)
        if cookie is not None and cookie[1].lower().replace("_", "-") not in _PLAIN_CODINGS:
            raise BadSource(f"Encoding: {cookie[1][:40]}")


def is_disguised(code: str) -> bool:
    """Whether a name is spelled with letters that the parser reads as those of ASCII (PEP 3131): full-width, mathematical, ordinal ones."""
    if code.isascii():
        return False
    plain = _LITERAL.sub(" ", code)
    signs = {sign for sign in plain if not sign.isascii()}
    return any(_ASCII_LETTER.search(normal("NFKC", sign)) for sign in signs)


_ASCII_LETTER = Pattern(r"[A-Za-z0-9_]")


def blanked(code: str) -> str:
    """The code without comments and without the insides of literals; f-strings stay, as they hold code."""
    kept: list[str] = []
    at = 0
    for found in _LITERAL.finditer(code):
        kept.append(code[at : found.start()])
        at = found.end()
        literal, prefix = found["literal"], found["prefix"]
        if literal is None:
            continue
        quote = next(one for one in _QUOTES if literal.startswith(one))
        inside = literal[len(quote) : -len(quote)] if "f" in prefix.lower() else ""
        kept.append(f"{prefix}{quote}{inside}{quote}")
    kept.append(code[at:])
    return "".join(kept)
