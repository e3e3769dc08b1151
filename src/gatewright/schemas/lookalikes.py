"""Detects look-alike names by folding and by confusable skeletons (Unicode UTS 39).

Two keys, and names that share either look alike. `folded`: what is left without case, width and kind of separator.
`skeleton` (Unicode Technical Standard 39, section 4): each character by the one that it is confused with, so that a Cyrillic
a is an a, 1 is l, and rn is m. Both in one key would hold too much: `Id` and `ld` are confused, `Id` and `id` are the same word,
`id` and `ld` are neither.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from functools import cache

from gatewright.secret_scanning.escape_invisible import Spelling
from gatewright.secret_scanning.unicode_forms import has_long_row, normal
from gatewright.short_cache import cached_if_short

__all__ = [
    "LETTERS",
    "barred_as",
    "caseless",
    "composed",
    "folded",
    "keys",
    "length_seen",
    "seen",
    "skeleton",
    "spellings",
    "twins",
]

_SEPARATORS = str.maketrans("-./: ", "_____")
_ASCII = str.maketrans({"m": "rn", "I": "l", "1": "l", "|": "l", "0": "O"})
"""The rows of the table that are all ASCII: most names need no other."""
_SELECTORS = dict.fromkeys((*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
LETTERS = 32_768
"""Characters of which it is remembered how they look: those of every script that is written, Han among them, and no more."""
_PIECE = 512
_COMPOSED = 4
"""So many characters become one at most (NFKC): a vowel of Greek with three marks."""


def caseless(name: str) -> str:
    """The name without case and width, in one Unicode form, with single blanks and no variation selectors, which few letters show."""
    if not name.isascii():
        name = normal("NFKC", name).casefold().translate(_SELECTORS)
        name = normal("NFKC", name)  # once more: what is folded need not be composed
    return " ".join(name.casefold().split())


def composed(name: str) -> str:
    """The name in the Unicode form in which names are kept (NFC). The subject of a token (`issuer:subject`) is as its issuer has it, who may
    tell forms apart; a deny does not (`barred_as`)."""
    return name if name.isascii() or ":" in name else normal("NFC", name)


def spellings(name: str) -> tuple[str, ...]:
    """The name in the Unicode forms that look the same, itself first: composed and decomposed. Of the subject of a token, that alone."""
    if name.isascii() or ":" in name:
        return (name,)
    return tuple(dict.fromkeys((name, composed(name), normal("NFD", name))))


def barred_as(name: str) -> str:
    """The one form (NFC) of all spellings of a name that Unicode takes for the same, also of the subject of a token: what is denied to
    one of them is denied to all."""
    return name if name.isascii() else normal("NFC", name)


def folded(name: str) -> str:
    """The name without case, width and kind of separator."""
    return normal("NFKC", name).casefold().translate(_SEPARATORS)


def skeleton(name: str) -> str:
    """The name as it looks. Separators that differ still look different, but no reader keeps them apart."""
    return seen(name).translate(_SEPARATORS)


def seen(name: str) -> str:
    """The same with its separators."""
    if name.isascii():
        return name.translate(_ASCII).casefold()
    # UTS 39 asks for NFD alone; NFKC before it takes full-width and styled letters for the plain ones that they look like.
    apart = normal("NFD", normal("NFKC", name))
    return normal("NFD", apart.translate(_confused())).casefold()


def length_seen(text: str, most: int) -> int:
    """How many characters are looked at where a text is read as it looks (NFKC): U+FDFA is eighteen. Counted until there are more
    than `most`; a text in which one letter has more marks than any script writes counts as more, wherever it stands."""
    if text.isascii():
        return len(text)
    if len(text) > _COMPOSED * most or has_long_row(text):
        return most + 1
    found = 0
    for at in range(0, len(text), _PIECE):
        found += len(normal("NFKC", text[at : at + _PIECE]))
        if found > most:
            break
    return found


@cached_if_short(65_536)
def keys(name: str) -> tuple[str, str]:
    """Names of which one of the two is equal look alike."""
    # The signs keep a folded name of one kind from equalling a skeleton of the other.
    return "=" + folded(name), "~" + skeleton(name)


def twins(names: Iterable[str]) -> Generator[None, None, dict[str, str]]:
    """Name → another one that looks like it, of those that have one; one name a step. The plainest of several is nobody's twin:
    the one that is spelled exactly as it folds, where there is one."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        for key in keys(name):
            groups.setdefault(key, []).append(name)
        yield
    found: dict[str, str] = {}
    for group in groups.values():
        if len(group) < 2:
            continue
        yield
        plain = [name for name in group if name.isascii() and folded(name) == name]
        first = plain[0] if len(plain) == 1 else ""
        for name in group:
            if name != first:
                found.setdefault(name, first or next(one for one in group if one != name))
    return found


@cache
def _confused() -> Spelling:
    table = _table()
    return Spelling(lambda char: table.get(char, char), LETTERS)


@cache
def _table() -> Mapping[str, str]:
    """Character → what it is confused with. Only names that are not ASCII need it."""
    from confusable_homoglyphs import confusables  # type: ignore[import-untyped]  # noqa: PLC0415

    rows = {
        char: [one["c"].strip("\u200e") for one in others]
        for char, others in confusables.confusables_data.items()
    }
    table: dict[str, str] = {}
    for char, others in rows.items():
        # The data has every row both ways. What is confused with one other thing alone is the look-alike of that.
        if len(char) == 1 and len(others) == 1:
            target = others[0]
            if len(rows.get(target, ())) > 1 or target < char:
                table[char] = target
    return table | {chr(char): to for char, to in _ASCII.items()}
