"""`SecretRule`: an operator's rule in the form of gitleaks' TOML; `found_by` applies it: keywords, regex, group, entropy, allow-lists.

A rule is asked where one of its keywords stands in a text. What its regex finds is a secret unless it is too regular for the rule's
entropy, or an allow-list lets it stand. All of it is linear: a search sees a window of the text, and lists see what was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.patterns import Pattern, Span, either

__all__ = ["AllowList", "SecretRule", "found_by", "keyed"]

_LINE = 4096
"""Bytes of a line, before and behind what was found, that an allow-list sees."""
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
    for spans in _compiled(rule.regex).all(text):
        start, end = secret = _secret(rule, spans)
        value = text[start:end]
        if value and _entropy(value) > rule.entropy and not _stands(rule, text, spans[0], secret):
            yield start, end, rule.id


def _secret(rule: SecretRule, spans: list[Span]) -> Span:
    if rule.group:
        return spans[rule.group]
    return next((one for one in spans[1:] if one != _NOTHING and one[0] < one[1]), spans[0])


def _stands(rule: SecretRule, text: bytes, match: Span, secret: Span) -> bool:
    return any(_lets(one, text, match, secret) for one in rule.allowed)


def _lets(one: AllowList, text: bytes, match: Span, secret: Span) -> bool:
    value = text[secret[0] : secret[1]].lower()
    said = [any(word.encode() in value for word in one.stopwords)] if one.stopwords else []
    if one.regexes:
        seen = {"secret": secret, "match": match, "line": _line(text, match)}[one.target]
        part = text[seen[0] : seen[1]]
        said.append(any(_compiled(regex).hits(part) for regex in one.regexes))
    return bool(said) and (all(said) if one.every else any(said))


def _line(text: bytes, match: Span) -> Span:
    start, end = match
    last = min(len(text), end + _LINE)
    ends = text.find(b"\n", end, last)
    return text.rfind(b"\n", max(0, start - _LINE), start) + 1 or max(0, start - _LINE), (
        last if ends < 0 else ends
    )


def _entropy(value: bytes) -> float:
    counts, size = Counter(value).values(), len(value)
    return -sum(one / size * math.log2(one / size) for one in counts) if len(counts) > 1 else 1e-9


@lru_cache(4096)
def _compiled(regex: str) -> Pattern:
    return Pattern(regex, captures=True, memory=_MEMORY)


def _literal(word: str) -> str:
    return "".join(one if one.isalnum() else f"\\x{ord(one):02x}" for one in word)
