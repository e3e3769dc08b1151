"""Regular expressions for foreign text: RE2 (linear time) with the interface and meaning of Python's `re`.

RE2 has no look-around, no back references and no possessive repetition; `\\w`, `\\d` and `\\s` are rewritten to what they
mean for `str` in Python. What cannot be said exactly (`$` outside MULTILINE, a Unicode `\\b`, `\\W` in a class) is refused
when the pattern is made, so nothing means silently something else. Left out of the meaning: with IGNORECASE `re` lets the
dotted and the dotless i of Turkish stand for `i`, and RE2 does not. Half a surrogate pair is matched as U+FFFD.

Each call reads its text once from the beginning: who looks for many places takes `finditer`, and never a loop of `search(text, pos)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, AnyStr, Generic
from weakref import WeakValueDictionary

import re2  # type: ignore[import-untyped]

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "MULTILINE",
    "NEVER",
    "AnyOf",
    "Match",
    "Pattern",
    "escape",
    "uncompiled",
]

IGNORECASE, MULTILINE, DOTALL, ASCII = 1, 2, 4, 8
_FLAGS = {IGNORECASE: "i", MULTILINE: "m", DOTALL: "s"}
_SEARCH, _START, _BOTH = (
    re2._Anchor.UNANCHORED,
    re2._Anchor.ANCHOR_START,
    re2._Anchor.ANCHOR_BOTH,
)
_NOTHING = (-1, -1)
NEVER = r"[^\x00-\U0010ffff]"
"""What fits nowhere: `(?!)` in the words of `re`."""
_MEMORY = 64 << 20
"""Bytes that the automata of one pattern may take (RE2's `max_mem`)."""

_WORD, _DIGIT = r"\p{L}\p{N}_", r"\p{Nd}"
_SPACE = r"\t-\r\x1c- \x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_UNICODE = {"w": _WORD, "d": _DIGIT, "s": _SPACE}
_PLAIN = {"w": "0-9A-Za-z_", "d": "0-9", "s": r"\t-\r "}

Span = tuple[int, int]

_uncompiled: WeakValueDictionary[int, Pattern[Any]] = WeakValueDictionary()
"""Those that nobody has used yet. Threads compile patterns, so what goes through it takes a list of it at once."""


class Match(Generic[AnyStr]):
    """A place in a text that a pattern fits, as `re.Match`."""

    __slots__ = ("_names", "_spans", "string")

    def __init__(self, string: AnyStr, spans: list[Span], names: dict[str, int]) -> None:
        self.string: AnyStr = string
        self._spans = spans
        self._names = names

    def __getitem__(self, group: int | str) -> AnyStr | Any:
        start, end = self._spans[self._names[group] if isinstance(group, str) else group]
        return None if start < 0 else self.string[start:end]

    def group(self, *groups: int | str) -> AnyStr | Any:
        """The text of one group or, as a tuple, of several."""
        if len(groups) > 1:
            return tuple(self[one] for one in groups)
        return self[groups[0] if groups else 0]

    def groups(self) -> tuple[AnyStr | Any, ...]:
        """The texts of all groups; None for one that took no part."""
        return tuple(self[one] for one in range(1, len(self._spans)))

    def groupdict(self) -> dict[str, AnyStr | Any]:
        """Name → text of the groups that have one."""
        return {name: self[number] for name, number in self._names.items()}

    def span(self, group: int | str = 0) -> Span:
        """(start, end) of a group; (-1, -1) for one that took no part."""
        return self._spans[self._names[group] if isinstance(group, str) else group]

    def start(self, group: int | str = 0) -> int:
        """Where a group begins."""
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        """Where a group ends."""
        return self.span(group)[1]

    @property
    def lastgroup(self) -> str | None:
        """The name of the one named group that took part, as a scanner of tokens asks."""
        took = [
            (number, name) for name, number in self._names.items() if self._spans[number][0] >= 0
        ]
        return max(took)[1] if took else None


class Pattern(Generic[AnyStr]):
    """One pattern, compiled when it is first used. Of `str` or of `bytes`, as its text is."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern: AnyStr = pattern
        self.flags = flags
        self._of_bytes = isinstance(pattern, bytes)
        self._text = self._spelled()
        # Last: whoever compiles them, in a thread of its own, finds it whole.
        _uncompiled[id(self)] = self

    def _spelled(self) -> str:
        """The pattern in RE2's words."""
        flags = self.flags
        meanings = _PLAIN if self._of_bytes or flags & ASCII else _UNICODE
        set_ = "".join(letter for flag, letter in _FLAGS.items() if flags & flag)
        said = _translated(_text_of(self.pattern), meanings, flags)
        return f"(?{set_}){said}" if set_ else said

    @cached_property
    def _compiled(self) -> Any:
        options = re2.Options()
        options.max_mem = _MEMORY
        options.log_errors = False
        if self._of_bytes:
            options.encoding = re2.Options.Encoding.LATIN1
            return re2.compile(self._text.encode("latin-1"), options)
        return re2.compile(self._text, options)

    @cached_property
    def _match(self) -> Any:
        match = self._compiled._regexp.Match
        _uncompiled.pop(id(self), None)
        return match

    @cached_property
    def _names(self) -> dict[str, int]:
        found = self._compiled.groupindex
        return {one.decode() if isinstance(one, bytes) else one: at for one, at in found.items()}

    def ready(self) -> None:
        """Compile it now, and not in the middle of somebody's call."""
        _ = self._match

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self._compiled.groups)

    def within(self, text: AnyStr) -> bool:
        """Whether it fits anywhere. The quick form of `search`, as are the next two of theirs."""
        said = _encoded(text)
        return bool(self._match(_SEARCH, said, 0, len(said))[0] != _NOTHING)

    def begins(self, text: AnyStr) -> bool:
        """Whether it fits at the beginning."""
        said = _encoded(text)
        return bool(self._match(_START, said, 0, len(said))[0] != _NOTHING)

    def fits(self, text: AnyStr) -> bool:
        """Whether it fits the text as a whole."""
        said = _encoded(text)
        return bool(self._match(_BOTH, said, 0, len(said))[0] != _NOTHING)

    def search(self, text: AnyStr, at: int = 0) -> Match[AnyStr] | None:
        """The first place that fits, of bytes from a place on."""
        return self._one(_SEARCH, text, at)

    def match(self, text: AnyStr, at: int = 0) -> Match[AnyStr] | None:
        """What fits at the beginning or, of bytes, at a place: of `str` the whole text would be read anew each time."""
        return self._one(_START, text, at)

    def fullmatch(self, text: AnyStr) -> Match[AnyStr] | None:
        """Whether the text fits as a whole."""
        return self._one(_BOTH, text)

    def _one(self, anchor: Any, text: AnyStr, at: int = 0) -> Match[AnyStr] | None:
        if at and not self._of_bytes:
            raise TypeError(
                "of str there is no place to begin at: encode the text once, or take finditer"
            )
        said = _encoded(text)
        spans = self._match(anchor, said, at, len(said))
        if spans[0] == _NOTHING:
            return None
        if len(said) != len(text):
            spans = _Offsets(said).of(spans)
        return Match(text, spans, self._names)

    def finditer(self, text: AnyStr) -> Iterator[Match[AnyStr]]:
        """All places that fit, none in another."""
        said = _encoded(text)
        offsets = _Offsets(said) if len(said) != len(text) else None
        at, end = 0, len(said)
        while True:
            spans = self._match(_SEARCH, said, at, end)
            if spans[0] == _NOTHING:
                return
            yield Match(text, offsets.of(spans) if offsets else spans, self._names)
            if at == end:
                return
            # Behind an empty match goes on at the next character, as in `re`, and never in the middle of one.
            at = spans[0][1] if spans[0][1] != at else _next(said, at)

    def findall(self, text: AnyStr) -> list[Any]:
        """The texts of all places; where there are groups, what those hold."""
        empty = text[:0]
        if self.groups == 0:
            return [one[0] for one in self.finditer(text)]
        if self.groups == 1:
            return [one[1] if one[1] is not None else empty for one in self.finditer(text)]
        return [
            tuple(said if said is not None else empty for said in one.groups())
            for one in self.finditer(text)
        ]

    def split(self, text: AnyStr, maxsplit: int = 0) -> list[AnyStr | Any]:
        """What stands between the places, and what their groups hold."""
        pieces: list[AnyStr | Any] = []
        at = 0
        found: Match[AnyStr]
        for found in islice(self.finditer(text), maxsplit or None):
            pieces += (text[at : found.start()], *found.groups())
            at = found.end()
        return [*pieces, text[at:]]

    def sub(
        self, by: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr, count: int = 0
    ) -> AnyStr:
        """The text with each place (or the first `count`) replaced by this very text, or by what a function makes of it."""
        return self.subn(by, text, count)[0]

    def subn(
        self, by: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr, count: int = 0
    ) -> tuple[AnyStr, int]:
        """The same, and how many places there were."""
        pieces: list[AnyStr] = []
        at = number = 0
        for found in islice(self.finditer(text), count or None):
            pieces += (text[at : found.start()], by(found) if callable(by) else by)
            at = found.end()
            number += 1
        if not number:
            return text, 0
        pieces.append(text[at:])
        return text[:0].join(pieces), number


class AnyOf(Pattern[str]):
    """What fits where one of several patterns fits, each with the flags of its own: one question in place of several.
    It has no text in the words of `re`; its parts have."""

    def __init__(self, *patterns: Pattern[str]) -> None:
        self._any = patterns
        super().__init__("")

    def _spelled(self) -> str:
        return "|".join(f"(?:{one._text})" for one in self._any)


class _Offsets:
    """From bytes to characters, for places that come in order: each byte is counted once."""

    def __init__(self, said: bytes) -> None:
        self._said = said
        self._byte = self._char = 0

    def of(self, spans: list[Span]) -> list[Span]:
        """The spans in characters."""
        first = spans[0][0]
        # Counted on from the last match and not from the beginning: else many matches would take the square of the text.
        self._char += _characters(self._said[self._byte : first])
        self._byte = first
        known = {first: self._char, -1: -1}
        at, char = first, self._char
        for offset in sorted({one for span in spans for one in span if one >= 0}):
            char += _characters(self._said[at:offset])
            known[offset] = char
            at = offset
        return [(known[start], known[end]) for start, end in spans]


_CONTINUING = bytes(range(0x80, 0xC0))


def _characters(said: bytes) -> int:
    return len(said) if said.isascii() else len(said.translate(None, _CONTINUING))


def _next(said: bytes, at: int) -> int:
    at += 1
    while at < len(said) and said[at] in _CONTINUING:
        at += 1
    return at


def _text_of(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


def _encoded(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8. One character stands for one, so offsets stay right.
        halves = ("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text)
        return "".join(halves).encode()


def uncompiled() -> list[Pattern[Any]]:
    """The patterns that would be compiled when they are first used, some milliseconds each."""
    return [one for reference in _uncompiled.valuerefs() if (one := reference()) is not None]


def escape(text: str) -> str:
    """A pattern of just this text."""
    return "".join(
        one if one == "_" or one.isalnum() or ord(one) > 127 else rf"\x{ord(one):02x}"
        for one in text
    )


def _translated(pattern: str, meanings: dict[str, str], flags: int) -> str:
    """The same pattern in RE2's words."""
    pieces: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        sign, size = pattern[at], 1
        if sign == "\\":
            piece, size = _escape(pattern, at, meanings, in_class=in_class)
        elif in_class:
            piece, in_class = (r"\[" if sign == "[" else sign), sign != "]"
        elif sign == "[":
            piece, size = _opening(pattern, at)
            in_class = True
        else:
            piece = _outside(pattern, at, flags)
        pieces.append(piece)
        at += size
    return "".join(pieces)


def _outside(pattern: str, at: int, flags: int) -> str:
    if pattern[at] == "$" and not flags & MULTILINE:
        raise ValueError(rf"say \Z or \n?\Z, not $: {pattern}")
    if pattern.startswith("{,", at):
        raise ValueError("say {0, in place of {, : " + pattern)
    return pattern[at]


def _opening(pattern: str, at: int) -> tuple[str, int]:
    """(how a class begins, its length): `]` may be its first member."""
    negated = pattern.startswith("^", at + 1)
    first = pattern.startswith("]", at + 1 + negated)
    return "[" + "^" * negated + r"\]" * first, 1 + negated + first


def _escape(pattern: str, at: int, meanings: dict[str, str], *, in_class: bool) -> tuple[str, int]:
    """(an escape in RE2's words, its length)."""
    letter = pattern[at + 1]
    if letter in meanings:
        return (meanings[letter] if in_class else f"[{meanings[letter]}]"), 2
    if letter.lower() in meanings:
        if in_class:
            raise ValueError(rf"\{letter} in a class: {pattern}")
        return f"[^{meanings[letter.lower()]}]", 2
    if letter == "Z":
        return r"\z", 2
    if letter in "bB" and meanings is _UNICODE:
        raise ValueError(rf"\{letter} needs ASCII: {pattern}")
    for mark, size in (("u", 4), ("U", 8)):
        if letter == mark:
            return rf"\x{{{pattern[at + 2 : at + 2 + size]}}}", 2 + size
    return pattern[at : at + 2], 2
