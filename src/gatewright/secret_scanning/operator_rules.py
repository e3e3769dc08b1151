"""`SecretRule` of an operator, as in gitleaks (no TOML parser): `found_by` applies regex, group, entropy, allow-lists; compiles in advance.

A rule is asked where one of its keywords stands in a text. What its regex finds is a secret unless it is too regular for the rule's
entropy, or an allow-list lets it stand. All of it is linear: a search sees a window of the text, and lists see what was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.patterns import Pattern, Span, either

__all__ = ["AllowList", "SecretRule", "found_by", "keyed", "prepared"]

_LINE = 4096
"""Bytes of a line, before and behind what was found, that an allow-list sees at least, and at most twice as many."""
_NOTHING = (-1, -1)
_MEMORY = 4 << 20
"""Bytes for the automaton of one rule; where it would need more, RE2 searches without one."""


class AllowList(msgspec.Struct, frozen=True):
    """What a rule finds and is no secret."""

    regexes: tuple[str, ...] = ()
    target: Literal["secret", "match", "line"] = "secret"
    """What they are looked for in."""
    stopwords: tuple[str, ...] = ()
    """Words in the secret, in small letters."""
    every: bool = False
    """Whether a regex and a stop word have to be found, and not only one of them."""


class SecretRule(msgspec.Struct, frozen=True):
    """A rule as it was written."""

    id: str
    regex: str
    keywords: tuple[str, ...]
    """In small letters; one of them stands in every text in which the rule may find something."""
    group: int = 0
    """The group of the regex that is the secret; 0: the first that took part, or all of the match without any."""
    entropy: float = 0.0
    """Bits a character that a secret has more of (Shannon)."""
    allowed: tuple[AllowList, ...] = ()


def keyed(rule: SecretRule) -> str:
    """A pattern of the rule's keywords, in any case of letters."""
    return "(?i:" + either(map(_literal, rule.keywords)) + ")"


def found_by(rule: SecretRule, text: bytes) -> Iterator[Finding]:
    """The places of secrets by this rule."""
    lists = [_Allowing(one, text) for one in rule.allowed]
    for spans in _compiled(rule.regex).all(text):
        start, end = secret = _secret(rule, spans)
        value = text[start:end]
        irregular = bool(value) and _entropy(value) > rule.entropy
        if irregular and not any(one.lets(spans[0], secret) for one in lists):
            yield start, end, rule.id


def _secret(rule: SecretRule, spans: list[Span]) -> Span:
    if rule.group:
        start, end = spans[rule.group]
        # A group that took no part says nothing: rather all of the match than nothing of it.
        return (start, end) if 0 <= start < end else spans[0]
    return next((one for one in spans[1:] if one != _NOTHING and one[0] < one[1]), spans[0])


class _Allowing:
    """An allow-list while one text is looked through. What it says of a line is asked once, however much is found there."""

    def __init__(self, said: AllowList, text: bytes) -> None:
        self._said = said
        self._text = text
        self._known: dict[Span, bool] = {}

    def lets(self, match: Span, secret: Span) -> bool:
        """Whether it lets stand what was found."""
        one = self._said
        value = self._text[secret[0] : secret[1]].lower()
        said = [_any_of(one.stopwords).hits(value)] if one.stopwords else []
        if one.regexes:
            if one.target == "line":
                said.append(self._finds(_line(self._text, match)))
            else:
                said.append(self._finds(secret if one.target == "secret" else match))
        return bool(said) and (all(said) if one.every else any(said))

    def _finds(self, part: Span) -> bool:
        if part not in self._known:
            seen = self._text[part[0] : part[1]]
            self._known[part] = any(_compiled(regex).hits(seen) for regex in self._said.regexes)
        return self._known[part]


def _line(text: bytes, match: Span) -> Span:
    """The line of a match, or what is near of a long one: in whole blocks, so that those who stand near each other see the same."""
    start, end = match
    first = max(0, (start // _LINE - 1) * _LINE)
    last = min(len(text), (end // _LINE + 2) * _LINE)
    ends = text.find(b"\n", end, last)
    return text.rfind(b"\n", first, start) + 1 or first, (last if ends < 0 else ends)


def prepared(rules: Iterable[SecretRule]) -> int:
    """Compile what these ask, rather than in the middle of somebody's call; how many regexes that are."""
    rules = list(rules)
    allowed = [one for rule in rules for one in rule.allowed]
    regexes = {rule.regex for rule in rules}.union(*(one.regexes for one in allowed))
    for regex in regexes:
        _compiled(regex).ready()
    words = {one.stopwords for one in allowed if one.stopwords}
    for some in words:
        _any_of(some).ready()
    return len(regexes) + len(words)


def _entropy(value: bytes) -> float:
    counts, size = Counter(value).values(), len(value)
    return -sum(one / size * math.log2(one / size) for one in counts) if len(counts) > 1 else 1e-9


@lru_cache(4096)
def _compiled(regex: str) -> Pattern:
    return Pattern(regex, captures=True, memory=_MEMORY)


@lru_cache(4096)
def _any_of(words: tuple[str, ...]) -> Pattern:
    """One search for all of them: there may be a thousand, and what a rule finds is a server's to choose."""
    return Pattern(either(map(_literal, words)), bounded=True, memory=_MEMORY)


def _literal(word: str) -> str:
    return "".join(
        chr(one) if chr(one).isalnum() and one < 128 else f"\\x{one:02x}" for one in word.encode()
    )
