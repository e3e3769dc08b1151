"""RE2 patterns over bytes for the secret scanner: compiled lazily or ahead, linear in windows, in sets; tests if a text looks random.

One search is linear; many of them are only if none reads far beyond what it finds. RE2 reads on behind a match only as long
as an earlier one may still grow, so what is `bounded` is searched in all of the text at once. A pattern that waits for something
at the far end of a line would be begun anew behind each place, so its searches see a window that grows, and what may stand
anywhere on a line is an `OnLine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from string import ascii_letters, digits
from typing import Any
from weakref import WeakSet

import re2  # type: ignore[import-untyped]

__all__ = [
    "REACH",
    "AnyOf",
    "Next",
    "OnLine",
    "Pattern",
    "Run",
    "Several",
    "Span",
    "compiled",
    "either",
    "is_plain",
    "looks_random",
    "mixes",
    "stays_plain",
]

# Above it RE2 gives up its automaton for a search that is many times slower.
_MEMORY = 64 << 20
_UNANCHORED = re2._Anchor.UNANCHORED
_AT_START = re2._Anchor.ANCHOR_START
_WHOLE = re2._Anchor.ANCHOR_BOTH
# Bytes that a search sees first; four times as many each time that it finds nothing certain.
_WINDOW = 2048
REACH = 768
"""What ends so near to the end of a window may go on behind it; no bounded pattern takes more."""
_NOTHING = (-1, -1)
# Sets of patterns: their states multiply within one (decision 0057).
_PASSES = 8

Span = tuple[int, int]

_made: WeakSet[Pattern | Several] = WeakSet()
"""All that there are, some of which nobody has used yet."""


def _options(*, captures: bool, memory: int = _MEMORY) -> re2.Options:
    options = re2.Options()
    # Bytes as they are: a result need not be UTF-8.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = memory
    options.never_capture = not captures
    options.log_errors = False
    return options


class Pattern:
    """One pattern, compiled when it is first used. RE2's own wrapper makes an object of each match, which
    costs more than the match. What is `bounded` never takes more than `REACH` bytes."""

    def __init__(
        self,
        text: str,
        *,
        captures: bool = False,
        bounded: bool = False,
        memory: int = _MEMORY,
    ) -> None:
        """`memory` is how many bytes its automaton may take."""
        self.text = text
        self.bounded = bounded
        self._captures = captures
        self._memory = memory
        _made.add(self)

    @cached_property
    def _match(self) -> Any:
        options = _options(captures=self._captures, memory=self._memory)
        return re2.compile(self.text.encode("latin-1"), options)._regexp.Match

    @property
    def is_ready(self) -> bool:
        """Whether it was compiled, which only a search does."""
        return "_match" in vars(self)

    def ready(self) -> None:
        """Compile it, and let it make what it makes with its first search."""
        self.hits(b"")

    def hits(self, text: bytes) -> bool:
        """Whether it matches anywhere."""
        return bool(self._match(_UNANCHORED, text, 0, len(text))[0] != _NOTHING)

    def all(self, text: bytes) -> Iterator[list[Span]]:
        """The spans of each match and its groups; (-1, -1) for a group that took no part."""
        at, end = 0, len(text)
        while at <= end:
            spans = self.after(text, at)
            if spans is None:
                return
            yield spans
            at = max(spans[0][1], at + 1)

    def after(self, text: bytes, at: int, end: int | None = None) -> list[Span] | None:
        """The spans of the first match that begins at `at` or later, and ends at `end` at the latest."""
        last = len(text) if end is None else end
        size = _WINDOW
        spans: list[Span]
        while not self.bounded and (stop := at + size) < last:
            spans = self._match(_UNANCHORED, text, at, stop)
            if spans[0] != _NOTHING and spans[0][1] <= stop - REACH:
                return spans
            size *= 4
        spans = self._match(_UNANCHORED, text, at, last)
        return None if spans[0] == _NOTHING else spans

    def at(self, text: bytes, at: int, end: int | None = None) -> list[Span] | None:
        """The spans of the match that begins at this very place."""
        last = len(text) if end is None else end
        spans: list[Span] = self._match(_AT_START, text, at, last)
        return None if spans[0] == _NOTHING else spans

    def end_at(self, text: bytes, at: int, end: int | None = None) -> int:
        """Where the match ends that begins at this very place; the place itself where there is none."""
        spans = self.at(text, at, end)
        return at if spans is None else spans[0][1]

    def fits(self, text: bytes) -> bool:
        """Whether it matches the text as a whole."""
        return bool(self._match(_WHOLE, text, 0, len(text))[0] != _NOTHING)


class Run:
    """Where a run of some characters ends, asked for places in order: each byte is read once. `run` is one class, repeated."""

    def __init__(self, run: Pattern, text: bytes) -> None:
        self._run = run
        self._text = text
        self._begun = self._ended = 0

    def end(self, at: int) -> int:
        """Where the run that goes on at a place ends; the place itself where there is none."""
        if not self._begun <= at < self._ended:
            self._begun, self._ended = at, self._run.end_at(self._text, at)
        return self._ended


class Next:
    """Where a pattern is found next, asked for places in order: each byte is read once."""

    def __init__(self, pattern: Pattern, text: bytes) -> None:
        self._pattern = pattern
        self._text = text
        self._asked = 1
        self._found: Span = (0, 0)

    def after(self, at: int) -> Span:
        """(start, end) of the first place at `at` or later; the end of the text, twice, where there is none."""
        if not self._asked <= at <= self._found[0]:
            spans = self._pattern.after(self._text, at)
            self._asked = at
            self._found = (len(self._text),) * 2 if spans is None else spans[0]
        return self._found


class AnyOf:
    """Patterns of which any one may be found, each searched by itself. In one pattern, what counts characters of a class makes
    RE2 keep as many states as the counts multiply to: a text of random letters then costs ten microseconds a byte. A short text
    that looks like words costs a fifth in one pattern, and is looked through so."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._patterns = [Pattern(text) for text in texts]
        self._together = Pattern(either(one.text for one in self._patterns))
        self.hits_short = self._together.hits
        """The same as `hits_plain` of a text that `is_plain`."""

    def ready(self) -> None:
        """Compile them, as `Pattern.ready` does."""
        for one in (*self._patterns, self._together):
            one.ready()

    def hits(self, text: bytes) -> bool:
        """Whether any matches anywhere."""
        if len(text) <= _SHORT and not looks_random(text):
            return self._together.hits(text)
        return any(pattern.hits(text) for pattern in self._patterns)

    def hits_plain(self, text: bytes) -> bool:
        """The same of a text that `is_plain`, or as plain: letters alone are random, too."""
        if len(text) <= _SHORT:
            return self._together.hits(text)
        return any(pattern.hits(text) for pattern in self._patterns)

    def next(self, text: bytes) -> Callable[[int], Span]:
        """What says, of places in order, where the first match of any is from there on (`Next.after`)."""
        every = [Next(pattern, text).after for pattern in self._patterns]
        return lambda at: min(after(at) for after in every)


_SHORT = 1024
"""Bytes that may cost ten microseconds each: somebody could write random words, without digits."""
_RANDOM = Pattern("[0-9][A-Za-z]+[0-9]|[A-Za-z]{24}")
"""What identifiers, digests and base64 have, and words have not."""
_CLASSES = bytes(
    ord("9") if chr(one) in digits else ord("a") if chr(one) in ascii_letters else ord(" ")
    for one in range(256)
)
_TURN, _BACK, _LONG = b"9a", b"a9", b"a" * 24
_PLAINLY = 256
"""Bytes for which three plain passes take less than an automaton."""


def looks_random(text: bytes) -> bool:
    """Whether `_RANDOM` is found. Most short texts have neither a letter behind a digit nor so many letters in a row."""
    if len(text) > _PLAINLY:
        return _RANDOM.hits(text)
    classes = text.translate(_CLASSES)
    return classes.find(_LONG) >= 0 or (classes.find(_TURN) >= 0 and _RANDOM.hits(text))


def is_plain(text: bytes) -> bool:
    """Whether a text is short, does not look random, and no letter in it stands beside a digit: what has one somewhere is not in
    it."""
    if len(text) > _PLAINLY:
        return False
    classes = text.translate(_CLASSES)
    find = classes.find
    return find(_TURN) < 0 and find(_BACK) < 0 and find(_LONG) < 0


def stays_plain(text: bytes, at: int) -> bool:
    """Whether no letter stands beside a digit, and not so many in a row, in what of a text ends behind `at`. Where that is so of each part
    of a text, all of it is as plain as `is_plain` says of short ones."""
    classes = text[max(0, at - len(_LONG) + 1) :].translate(_CLASSES)
    find = classes.find
    return find(_TURN) < 0 and find(_BACK) < 0 and find(_LONG) < 0


def mixes(text: bytes) -> bool:
    """Whether a letter stands beside a digit."""
    classes = text.translate(_CLASSES)
    return classes.find(_TURN) >= 0 or classes.find(_BACK) >= 0


class OnLine:
    """What stands anywhere behind `begin` on its line, as an option behind a program: `within` has one group. What is not
    found behind the first `begin` of a line is not looked for behind the others, so the work is linear."""

    def __init__(self, begin: str, within: str) -> None:
        self._begin = Pattern(begin)
        self._within = Pattern(within, captures=True)

    def all(self, text: bytes) -> Iterator[Span]:
        """The spans of the group."""
        at, line = 0, Next(_LINE_END, text)
        while (begun := self._begin.after(text, at)) is not None:
            at = begun[0][1]
            line_end = line.after(at)[0]
            # From one before: an option begins with the blank that ended the program's name.
            found = self._within.after(text, at - 1, min(len(text), line_end + REACH))
            if found is None or found[0][0] > line_end:
                at = max(at, line_end)
                continue
            yield found[1]
            at = found[0][1]


_LINE_END = Pattern(r"[\r\n|;]", bounded=True)


class Several:
    """Which of many patterns a text holds, in a few passes (`AnyOf` says why not in one)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        _made.add(self)

    @cached_property
    def _matches(self) -> list[Any]:
        return [self._set(self._texts[first::_PASSES]) for first in range(_PASSES)]

    @staticmethod
    def _set(texts: Sequence[str]) -> Any:
        found = re2.Set.SearchSet(_options(captures=False))
        for text in texts:
            found.Add(text.encode("latin-1"))
        found.Compile()
        return found._set.Match

    @property
    def is_ready(self) -> bool:
        """As `Pattern.is_ready`."""
        return "_matches" in vars(self)

    def ready(self) -> None:
        """Compile them, as `Pattern.ready` does."""
        self.hits(b"")

    def hits(self, text: bytes) -> list[int]:
        """The numbers of those that match, in no order."""
        every = enumerate(self._matches)
        return [one * _PASSES + first for first, match in every for one in match(text) or ()]


def compiled() -> int:
    """Compile every pattern now that would be when it is first used, in the middle of somebody's call; how many there are."""
    every = list(_made)
    for one in every:
        if not one.is_ready:
            one.ready()
    return len(every)


def either(patterns: Iterable[str]) -> str:
    """One pattern for all of them."""
    return "|".join(f"(?:{one})" for one in patterns)
