"""Names that a shell glob (`*`, `?`, `[…]`) may match, in bounded time, without regexes; its literals; classes changed by quotes, values.

Shells differ in what a class may hold (`[^a]`, `[[:alpha:]]`): what is no plain list of letters, nor all but these, stands for any of them.
They differ in where one ends, too: in `[[.a.]b]` dash ends it at the first bracket, and bash reads on behind the one of `[[=a=]]b]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gatewright.patterns import Match, Pattern
from gatewright.short_cache import cached_if_short

__all__ = ["MOST_JOKERS", "hides_class", "letters_of", "may_name", "mixes_class", "named_by"]

MOST_JOKERS = 32
"""Jokers of one pattern. With more of them it may be any name."""
_RUN, _ANY, _OF, _NOT = "*", "?", "[", "!"
_INNER = ("[:", "[.", "[=")

Ranges = tuple[tuple[str, str], ...]


class _Sign(NamedTuple):
    """What stands at one place: a run of any letters, any one letter, one of these letters and ranges, or none of them."""

    kind: str
    ranges: Ranges = ()
    letters: frozenset[str] = frozenset()

    @property
    def is_letter(self) -> bool:
        """Whether one letter alone may stand here."""
        return self.kind == _OF and not self.ranges and len(self.letters) == 1

    def fits(self, letter: str) -> bool:
        """Whether a letter may stand here."""
        if self.kind == _ANY:
            return True
        there = letter in self.letters or any(first <= letter <= last for first, last in self.ranges)  # fmt: skip
        return there is (self.kind != _NOT)


def may_name(pattern: str, names: Iterable[str]) -> bool:
    """Whether a pattern may mean one of these names."""
    return bool(named_by(pattern, names))


def named_by(pattern: str, names: Iterable[str]) -> list[str]:
    """Those of some names that a pattern may mean."""
    places = [at for one in "*?[" if (at := pattern.find(one)) >= 0]
    before = pattern[: min(places)] if places else pattern
    # Most patterns begin with letters with which none of them does.
    near = [one for one in names if one.startswith(before)]
    signs = _signs(pattern) if near and places else None
    if signs is None:
        return near if places else [one for one in near if one == pattern]
    least = sum(one.kind != _RUN for one in signs)
    return [one for one in near if len(one) >= least and _fits(signs, one)]


def letters_of(pattern: str) -> str:
    """The letters that each name has that a pattern means; none where that may be any name."""
    signs = _signs(pattern) or ()
    return "".join(letter for one in signs if one.is_letter for letter in one.letters)


_QUOTED = Pattern(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""")
_OF_CLASS = Pattern(r"[\[\]!^-]")
"""What ends, turns or spans a class, unless it is quoted."""
_HIDDEN = "\0"


def hides_class(source: str) -> bool:
    """Whether a word, as it is written, has a class with something quoted in it that means another class where it is not: in `[a"]"b]` a shell
    sees three letters."""
    if "[" not in source:
        return False
    # The text behind `$'` has quotes of its own.
    plain = _HIDDEN.join(source) if "$'" in source else _QUOTED.sub(_seen, source)
    return any(_HIDDEN in one.partition("[")[2] for one in plain.split("/"))


def _seen(found: Match[str]) -> str:
    return _HIDDEN if _OF_CLASS.within(found[0]) else "x"


def mixes_class(text: str, mark: str, value: str) -> bool:
    """Whether the value that stands for a mark in a text would be part of a class there, or make one of the letters beside it: whether it is
    quoted nobody knows any more."""
    beside = [one for one in text.split("/") if mark in one]
    return (_OF_CLASS.within(value) and any("[" in one for one in beside)) or (
        "[" in value and any(map(_OF_CLASS.within, beside))
    )


def _fits(signs: tuple[_Sign, ...], name: str) -> bool:
    at = place = 0
    back: tuple[int, int] | None = None
    while place < len(name):
        sign = signs[at] if at < len(signs) else None
        if sign is not None and sign.kind == _RUN:
            at += 1
            back = at, place
        elif sign is not None and sign.fits(name[place]):
            at, place = at + 1, place + 1
        elif back is None:
            return False
        else:
            # The last run takes one letter more.
            back = back[0], back[1] + 1
            at, place = back
    return all(one.kind == _RUN for one in signs[at:])


@cached_if_short(1024)
def _signs(pattern: str) -> tuple[_Sign, ...] | None:
    """What stands at each place; None where it may be anything."""
    if sum(map(pattern.count, "*?[")) > MOST_JOKERS:
        return None
    found: list[_Sign] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        end, sure = _end(pattern, at) if letter == "[" else (0, True)
        if letter == "*":
            found.append(_Sign(_RUN))
        elif letter == "?":
            found.append(_Sign(_ANY))
        elif end:
            found += [_class(pattern[at + 1 : end])] if sure else [_Sign(_ANY), _Sign(_RUN)]
            at = end
        else:
            found.append(_Sign(_OF, letters=frozenset(letter)))
        at += 1
    return tuple(found)


def _end(pattern: str, at: int) -> tuple[int, bool]:
    """Where a class ends, 0 where it does not, and whether every shell ends it there. Where they may not, it is the last place at which any does."""
    first = at + 1
    first += pattern[first : first + 1] in {"!", "^"}
    first += pattern[first : first + 1] == "]"  # which is a member there
    end = pattern.find("]", first)
    if end < 0:  # dash looks for the end of a span behind the pattern
        return (len(pattern) - 1, False) if pattern[-1] == "-" else (0, True)
    if any(pattern.find(one, at + 1, end) >= 0 for one in _INNER):
        return pattern.rfind("]"), False
    return end, True


_MOST_MEMBERS = 32
"""Letters of a class. With more of them it may be any letter: each is compared with each letter of each name."""


def _class(members: str) -> _Sign:
    if members[0] == "^" or "[" in members or len(members) > _MOST_MEMBERS:
        return _Sign(_ANY)
    kind = _NOT if members[0] == "!" else _OF
    ranges: list[tuple[str, str]] = []
    letters: set[str] = set()
    at = int(kind == _NOT)
    while at < len(members):
        last = members[at + 2] if members[at + 1 : at + 2] == "-" and at + 2 < len(members) else ""
        if last:
            ranges.append((members[at], last))
        else:
            letters.add(members[at])
        at += 3 if last else 1
    return _Sign(kind, tuple(ranges), frozenset(letters))
