"""Secret scanner: `Redactor` finds and replaces secrets and personal data in text, JSON, streams; `without_secrets` for logs. No I/O.

`Redactor` is all of it for one policy: text in, text without it out, together with the rules that
found something. What was found is never said. To read: `scanner` (two passes), then its tables `formats`, `context` and
`passwords`, and what applies it to JSON (`json_text`) and to text in pieces (`stream`, `chunks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gatewright.secret_scanning.exact import is_telling
from gatewright.secret_scanning.held import HELD, PROCESS, Held, WithHeld
from gatewright.secret_scanning.invisible import (
    visible as visible_text,
)  # a module here has the name
from gatewright.secret_scanning.invisible import visible_json
from gatewright.secret_scanning.json_text import redacted_json, suspected_json
from gatewright.secret_scanning.mark import marker
from gatewright.secret_scanning.operator_rules import SecretRule
from gatewright.secret_scanning.patterns import compiled
from gatewright.secret_scanning.personal import PERSONAL
from gatewright.secret_scanning.scanner import Scanner, scanner
from gatewright.secret_scanning.stream import Stream

__all__ = [
    "HELD",
    "HIDDEN",
    "MANY",
    "PERSONAL",
    "PROCESS",
    "Clean",
    "Held",
    "Redactor",
    "SecretRule",
    "Stream",
    "is_dense",
    "prepare",
    "without_secrets",
]

HIDDEN = "hidden"
"""The rule that takes out what nobody sees. It leaves no mark."""


MANY = 128
"""Places that are worth a look: each takes some ten microseconds."""
_MUCH = 8 * 1024
"""Bytes that are not all ASCII, in which there may be as many characters that nobody sees."""


class Clean(NamedTuple):
    """A text as it may travel, and the rules that took something out of it, one for each place or counted."""

    text: bytes
    rules: Sequence[str] | Mapping[str, int]
    size: int = 0
    """Bytes that the text has without a report on what was taken out, where it has one."""


class Redactor:
    """One policy. Made once; the compiled rules are shared by all of one kind."""

    def __init__(
        self,
        key: bytes,
        *,
        secrets: bool = True,
        personal: frozenset[str] = frozenset(),
        terms: tuple[str, ...] = (),
        hidden: bool = False,
        own: tuple[str, ...] = (),
        held: Held | None = HELD,
        rules: tuple[SecretRule, ...] = (),
    ) -> None:
        """`key` (at most 32 bytes) makes the marks of this gateway its own, `personal` are kinds of
        `PERSONAL`, `terms` literal texts that are taken out in any case of letters, `hidden` takes out what nobody sees,
        `own` are secrets of the gateway, taken out by their exact value, and so is with `secrets` what is `held` at the time;
        `rules` are the operator's."""
        self.policy = {
            "key": key.hex(),
            "secrets": secrets,
            "personal": sorted(personal),
            "terms": terms,
            "hidden": hidden,
            "own": own,
            **({"rules": msgspec.to_builtins(rules)} if rules else {}),
        }
        # Apart from the rules, which take a tenth of a second to compile: another secret compiles nothing but itself.
        self._scanner = scanner(secrets=secrets, personal=personal, terms=terms, rules=rules)
        if own:
            theirs = Held(len(own))
            theirs.hold("policy", own, len(own))
            self._scanner = WithHeld(self._scanner, theirs)
        self.asks_own = self._scanner.asks_own
        """Whether an operator's rule may be applied to a text, whose lists cost what nobody here knows."""
        self.ready = self._scanner.ready
        """Compiles what else would be compiled with the first text."""
        self.held = held if secrets else None
        if self.held is not None:
            self._scanner = WithHeld(self._scanner, self.held)
        self._mark = marker(key)
        self.find = self._scanner.find
        """(start, end, rule) of all that is to be taken out of a text, apart from what nobody sees."""
        self.holds = self._scanner.holds
        """Whether a value stands in a text that is known to be a secret, and does not only look like one."""
        self._terms = (*terms, *(one for one in own if is_telling(one) and len(one.split()) > 1))
        self._hidden = hidden
        self.worth_a_look = _always if hidden else self._scanner.worth_a_look
        """False for text, JSON or not, in which nothing can be found. The quick half of all this."""

    def takes_long(self, raw: bytes) -> bool:
        """Whether to clean a text takes more than some milliseconds: there are many places to look at, a keyword
        of an operator's rule, or much in which there may be something that nobody sees. Linear, and quick."""
        if self._hidden and len(raw) > _MUCH and not (raw.isascii() and b"\\u" not in raw):
            return True
        return self.asks_own(raw) or self.has_many(raw, MANY)

    def has_many(self, raw: bytes, many: int) -> bool:
        """Whether there are more than so many places to look at."""
        return _has_many(self._scanner, raw, many)

    def json(self, raw: bytes) -> Clean:
        """A JSON text; `raw` itself where nothing was found."""
        if not self._hidden:
            return Clean(*redacted_json(raw, self._scanner, self._mark))
        seen, count = visible_json(raw)  # first: what nobody sees may stand inside a secret
        text, rules = redacted_json(seen, self._scanner, self._mark)
        return Clean(text, [*rules, *[HIDDEN] * count])

    def text(self, text: str) -> Clean:
        """A text for people, as UTF-8."""
        count = 0
        if self._hidden:
            text, count = visible_text(text)
        clean, rules = self._scanner.replaced(text.encode("utf-8", "replace"), self._mark)
        return Clean(clean, [*rules, *[HIDDEN] * count])

    def stream(self) -> Stream:
        """A new `Stream`, for one text that comes in pieces. It knows the values that are held now."""
        held = () if self.held is None else self.held.values
        # A stream lets text go at spaces; a value that has some is waited for as a whole.
        terms = (*self._terms, *(one for one in held if len(one.split()) > 1))
        return Stream(self._scanner, self._mark, terms, hidden=self._hidden)


def _has_many(places: Scanner, raw: bytes, many: int) -> bool:
    at, after = 0, places.hinting(raw)
    for _ in range(many + 1):
        start, end = after(at)
        if start >= len(raw):
            return False
        at = max(end, start + 1)
    return True


def _always(raw: bytes) -> bool:
    return bool(raw)


def _unmarked(rule: str, secret: bytes) -> bytes:
    del secret
    return f"[REDACTED:{rule}]".encode()


def prepare() -> None:
    """Compile every rule that there is, and those by which logs and records are cleaned: before anybody is served, because that
    takes a tenth of a second in which the event loop does nothing else."""
    scanner(secrets=True, personal=frozenset())
    compiled()


def is_dense(text: bytes, many: int) -> bool:
    """Whether `without_secrets` has more than so many places of a text to look at, each of which takes some ten microseconds."""
    return _has_many(_for_logs(), text, many)


def _for_logs() -> Scanner:
    return WithHeld(scanner(secrets=True, personal=frozenset()), HELD)


def without_secrets(text: bytes) -> bytes:
    """A line for a log or a record, JSON or not, with every secret replaced by the name of its rule."""
    found = _for_logs()
    if not found.worth_a_look(text):
        return text
    # A record is one JSON object: its members are judged by their names, too.
    if text[:1] == b"{":
        return suspected_json(text, found, _unmarked)[0]
    return found.replaced(text, _unmarked)[0]
