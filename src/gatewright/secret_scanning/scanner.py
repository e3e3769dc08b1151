"""`Scanner`: pre-scans text once, then locates secrets (also in base64), personal data, literal terms, operators' rule matches; replaces them.

Two passes. The first asks of all text one question, in one automaton: is there anything worth a look? For nearly all
text there is not, and nothing else is done. The second finds the exact places, rule by rule, and only here names,
check digits and randomness are weighed. The first pass must see whatever the second would find, also in JSON text,
where an escape may stand for a character: escaped ASCII is always worth a look.

A secret in base64 is found by what its beginning becomes there, at each of the three places where it can begin.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache, partial

from gatewright.patterns import escape
from gatewright.secret_scanning import context, passwords
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.exact import OWN
from gatewright.secret_scanning.findings import apart
from gatewright.secret_scanning.formats import formats
from gatewright.secret_scanning.mark import MARK, MARK_BEGINS
from gatewright.secret_scanning.names import is_example, looks_issued
from gatewright.secret_scanning.operator_rules import SecretRule, found_by, keyed, prepared
from gatewright.secret_scanning.patterns import AnyOf, Pattern, Several, Span, either
from gatewright.secret_scanning.personal import (
    PERSONAL,
    is_card,
    is_email,
    is_iban,
    is_phone,
    is_us_ssn,
)

__all__ = ["Scanner", "bytes_of", "scanner"]

Rule = Callable[[bytes], Iterator[Finding]]

_MORE_OF_IT = "[A-Za-z0-9_.=+/~|$:%@-]{5}"
_FIXED = Pattern("[A-Za-z0-9_-]*")
_APART = 4
_ESCAPES = r"\\u00[2-7][0-9A-Fa-f]|\\/"
_RUN = Pattern(r"[A-Za-z0-9+/_-]+={0,2}")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_NUMBER = Pattern(r"[^0-9+(]*")
_MORE_DIGITS = Pattern(r"[ -][0-9]{4}\b")
_MOST_ENCODED = 64 * 1024
_NEAR = 256
_WORDED = (context.HINTS, passwords.HINTS)
_BLOB = 512
"""Characters of base64 around a token that make it a part of something else."""

_WORTH_ENCODING = (
    "password passwd secret api_key apikey access_key accesskey private_key token authorization Bearer credential "
    "client_secret"
).split()
_PREFIXES = (
    "PRIVATE KEY;ghp_;gho_;ghs_;github_pat_;glpat-;AKIA;ASIA;xoxb-;xoxp-;xapp-;sk-ant-;sk-proj-;sk_live_;"
    "rk_live_;AIza;npm_;pypi-Ag;eyJhbGci;hooks.slack.com;ya29.;dop_v1_;SG.;shpat_;whsec_;hf_;_authToken;"
    "AccountKey=;postgres://;postgresql://;mysql://;mongodb://;mongodb+srv://;redis://;amqp://"
).split(";")


def _inner(word: str) -> Iterator[str]:
    """What surely stands in the base64 of any text that holds `word`."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + word.encode()).decode()
        first = -(-before * 8 // 6)
        last = (before + len(word)) * 8 // 6
        if last - first >= 4:
            yield escape(encoded[first:last])


def _hidden() -> str:
    words = [form for word in _WORTH_ENCODING for form in (word, word.title(), word.upper())]
    return either(sorted({one for word in (*words, *_PREFIXES) for one in _inner(word)}))


def _counts(hint: str) -> bool:
    """Whether it begins with so little that much of a random text begins it, and counts what follows."""
    # Three fixed characters are rare enough in random text.
    fixed = _FIXED.end_at(hint.removeprefix("(?:").encode(), 0)
    return fixed < 3 and "{" in hint


def _hint(hint: str, rest: str) -> str:
    """The quick form of a token's pattern. Escapes may stand before it, so no boundary is asked for."""
    bare = hint.replace(r"\b", "")
    return bare if not rest or "{" in hint else f"(?:{bare}){_MORE_OF_IT}"


class Scanner:
    """What to look for, compiled. `personal` are kinds of `PERSONAL`, `terms` literal texts in any case."""

    def __init__(
        self,
        *,
        secrets: bool,
        personal: frozenset[str],
        terms: tuple[str, ...],
        rules: tuple[SecretRule, ...] = (),
    ) -> None:
        """`rules` are an operator's own."""
        self._secrets = secrets
        self._own = rules
        keys = list(map(keyed, rules))
        self._own_which = Several(keys)
        self._own_keys = Pattern(either([*keys, _ESCAPES]), bounded=True) if rules else None
        self.worded = AnyOf([*_WORDED, either(keys)]) if rules else _worded()
        """What may have several words behind it; tokens are one run."""
        self._quick = AnyOf(self._hints(personal, terms))
        exact = list(self._exact(personal, terms))
        self._which = Several([pattern for pattern, _ in exact])
        self._rules = [rule for _, rule in exact]
        self.worth_a_look: Callable[[bytes], bool] = self._quick.hits
        self.plain_worth_a_look: Callable[[bytes], bool] = self._quick.hits_plain
        self.short_worth_a_look: Callable[[bytes], bool] = self._quick.hits_short
        """The same of a text as plain as `is_plain` has it, and of one that is so and short besides."""

    def _hints(self, personal: Collection[str], terms: Collection[str]) -> Iterator[str]:
        """Patterns of which one is found wherever something may be; together only those that do not multiply (`AnyOf`)."""
        plain = [_ESCAPES if all(term.isascii() for term in terms) else r"\\u|\\/"]
        plain += [f"(?i:{_literal(term)})" for term in terms]
        plain += map(keyed, self._own)
        if self._secrets:
            hints = [_hint(hint, rest) for _, hint, rest in formats()]
            counting = [one for one in hints if _counts(one)]
            plain += [one for one in hints if one not in counting] + [_hidden()]
            yield from (either(counting[first::_APART]) for first in range(_APART))
            yield context.HINTS
            yield passwords.HINTS
        yield either(plain)
        if personal:
            yield either(PERSONAL[kind][0] for kind in sorted(personal))

    def hinting(self, raw: bytes) -> Callable[[int], Span]:
        """What says, of places in order, where from there on something is worth a look; both are the end of the text where
        nothing is."""
        return self._quick.next(raw)

    def find(self, text: bytes) -> list[Finding]:
        """(start, end, rule) of everything in a text without escapes, in order, none in another."""
        found = [one for number in self._which.hits(text) for one in self._rules[number](text)]
        return apart(text, _unmarked(text, found) if found and MARK_BEGINS in text else found)

    def holds(self, text: bytes) -> bool:
        """Whether a value stands in a text that is known to be a secret, and does not only look like one."""
        del text
        return False

    def of_member(self, name: str, value: str) -> list[Finding]:
        """The places in a member's value that an operator's rules find where its name stands before it, as in a configuration file.
        Of a match that begins in the name it is what stands in the value."""
        if not self._own:
            return []
        before, said = f'"{name}": "'.encode(), value.encode()
        text = before + said + b'"'
        asked = (self._own[number] for number in self._own_which.hits(text))
        every = (place for rule in asked for place in found_by(rule, text))
        first, last = len(before), len(text) - 1
        return apart(
            said,
            [
                (max(0, start - first), min(end, last) - first, rule)
                for start, end, rule in every
                if end > first
            ],
        )

    def ready(self) -> None:
        """Compile what is asked of every text and member, and the operator's rules: all that `prepare` does not."""
        for one in (self._quick, self.worded, self._which, self._own_which, self._own_keys):
            if one is not None:
                one.ready()
        prepared(self._own)

    @property
    def has_own(self) -> bool:
        """Whether an operator has rules of his own, which may tell a value by the name before it."""
        return bool(self._own)

    def asks_own(self, raw: bytes) -> bool:
        """Whether a rule of an operator's may be applied to a text, JSON or not."""
        return self._own_keys is not None and self._own_keys.hits(raw)

    def replaced(
        self, text: bytes, mark: Callable[[str, bytes], bytes], *, name: bool = False
    ) -> tuple[bytes, list[str]]:
        """The text with `mark(rule, secret)` in each place, and the rule of each. Of the `name` of a member a word stays,
        even one that is known as a secret: whoever reads the text looks for the member by it."""
        found = self.find(text)
        if name:
            found = [one for one in found if one[2] != OWN or _is_issued(text, one)]
        if not found:
            return text, []
        return _replaced(text, found, mark), [rule for _, _, rule in found]

    @staticmethod
    def replaced_at(
        text: bytes, found: list[Finding], mark: Callable[[str, bytes], bytes]
    ) -> bytes:
        """The text with a mark in each of these places."""
        return _replaced(text, found, mark)

    def _exact(self, personal: Iterable[str], terms: tuple[str, ...]) -> Iterator[tuple[str, Rule]]:
        """(what a text must hold, the rule), for all rules of this scanner."""
        if self._secrets:
            yield from _secret_rules()
            yield _hidden(), self._encoded
        for kind in sorted(personal):
            yield PERSONAL[kind][1], partial(_people, kind)
        if terms:
            pattern = "(?i)" + either(map(_literal, terms))
            yield pattern, partial(_all, Pattern(pattern), "term")
        # By their keywords: their regexes may be of a kind whose states multiply in a set.
        yield from ((keyed(one), partial(found_by, one)) for one in self._own)

    def _encoded(self, text: bytes) -> Iterator[Finding]:
        """Runs of base64 that hold a secret. One level: what is encoded twice stays."""
        at = 0
        while (spans := _base64().after(text, at)) is not None:
            start = spans[0][0] - _run_before(text, spans[0][0], _MOST_ENCODED)
            at = max(_RUN.end_at(text, start), spans[0][1])
            decoded = _decode_base64(text[start:at])
            others = (self._rules[one] for one in self._which.hits(decoded))
            if any(any(True for _ in rule(decoded)) for rule in others if rule != self._encoded):
                yield start, at, "base64"


@lru_cache(32)
def scanner(
    *,
    secrets: bool,
    personal: frozenset[str],
    terms: tuple[str, ...] = (),
    rules: tuple[SecretRule, ...] = (),
) -> Scanner:
    """The scanner for this, made once."""
    return Scanner(secrets=secrets, personal=personal, terms=terms, rules=rules)


def _decode_base64(run: bytes) -> bytes:
    """What a run of base64 says, in either alphabet; nothing where it is none."""
    body = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return binascii.a2b_base64(body[: len(body) - (len(body) % 4 == 1)] + b"==")
    except binascii.Error:
        return b""


def _literal(term: str) -> str:
    return bytes_of(term.encode())


def bytes_of(said: bytes) -> str:
    """A pattern that matches these very bytes."""
    return "".join(
        chr(one) if chr(one).isalnum() and one < 128 else f"\\x{one:02x}" for one in said
    )


def _begun(hint: str) -> str:
    """A token begins a word, or a line that is written as a string inside the text."""
    return "|".join(
        r"(?:\b|\\[nrt])" + one[2:] if one.startswith(r"\b") else one for one in hint.split("|")
    )


@lru_cache(1)
def _secret_rules() -> tuple[tuple[str, Rule], ...]:
    forms = ((f"(?:{_begun(hint)})(?:{rest})", name) for name, hint, rest in formats())
    return (
        *((one, partial(_tokens, one, name)) for one, name in forms),
        *context.RULES,
        *passwords.RULES,
    )


@lru_cache(1)
def _worded() -> AnyOf:
    return AnyOf(_WORDED)


@lru_cache(1)
def _base64() -> Pattern:
    return Pattern(_hidden(), bounded=True)


@cache
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)


@lru_cache(len(PERSONAL))
def _person(kind: str) -> Pattern:
    return Pattern(PERSONAL[kind][1])


def _tokens(pattern: str, name: str, text: bytes) -> Iterator[Finding]:
    for spans in _compiled(pattern).all(text):
        start, end = spans[0]
        # `_begun` lets a token follow `\n` as it is written in a string; those two are no part of it.
        start += 2 * text.startswith(b"\\", start)
        # What documentation shows is no secret, and four letters in an image are no token.
        if not (is_example(text[start:end].decode("latin-1")) or _in_blob(text, start, end)):
            yield start, end, name


def _in_blob(text: bytes, start: int, end: int) -> bool:
    """Whether this is but a few letters of much more: an image, a binary file."""
    after = text[end : end + _BLOB]
    around = _run_before(text, start, _BLOB) + len(after) - len(after.lstrip(_ALPHABET))
    return around >= _BLOB


def _run_before(text: bytes, at: int, most: int) -> int:
    """How many characters of base64 stand directly before a place."""
    for size in (_NEAR, most):  # nearly all are short
        before = text[max(0, at - size) : at]
        run = len(before) - len(before.rstrip(_ALPHABET))
        if run < len(before):
            break
    return run


def _all(pattern: Pattern, rule: str, text: bytes) -> Iterator[Finding]:
    return ((*spans[0], rule) for spans in pattern.all(text))


def _people(kind: str, text: bytes) -> Iterator[Finding]:
    for spans in _person(kind).all(text):
        start, end = spans[0]
        if kind == "phone":
            start = _NUMBER.end_at(text, start)
        said = text[start:end].decode("utf-8", "replace")
        before = text[max(0, start - 40) : start].decode("utf-8", "replace")
        # One more group: a longer number than any card's.
        if kind == "card" and _MORE_DIGITS.at(text, end):
            continue
        size = _person_size(kind, said, before)
        if size:
            yield start, start + (size if kind == "iban" else end - start), kind


def _person_size(kind: str, said: str, before: str) -> int:
    if kind == "iban":
        return is_iban(said)
    if kind == "card":
        return is_card(said, before)
    if kind == "phone":
        return is_phone(said) and not before[-1:].isalnum()
    if kind == "us_ssn":
        return is_us_ssn(said)
    return is_email(said) and not before.endswith("//")


def _unmarked(text: bytes, found: list[Finding]) -> list[Finding]:
    """Without what is only a part of a mark: the text may have come through another gateway, or through here before."""
    marks = [one.span() for one in MARK.finditer(text)]
    begins = [start for start, _ in marks]
    return [
        (start, end, rule)
        for start, end, rule in found
        if not (before := bisect_right(begins, start)) or end > marks[before - 1][1]
    ]


def _is_issued(text: bytes, found: Finding) -> bool:
    return looks_issued(text[found[0] : found[1]].decode("latin-1"))


def _replaced(text: bytes, found: list[Finding], mark: Callable[[str, bytes], bytes]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, end, rule in found:
        pieces += (text[at:start], mark(rule, text[start:end]))
        at = end
    return b"".join((*pieces, text[at:]))
