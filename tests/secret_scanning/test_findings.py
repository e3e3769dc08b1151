"""What is found is of whole characters, wherever the bounds of patterns, which count bytes, would cut one."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from gatewright import secret_scanning
from gatewright.secret_scanning import HELD, Redactor, without_secrets
from gatewright.secret_scanning.findings import apart, begin_of_character, end_of_character
from gatewright.secret_scanning.operator_rules import SecretRule
from gatewright.secret_scanning.patterns import OnLine, Pattern
from gatewright.secret_scanning.personal import PERSONAL
from gatewright.secret_scanning.scanner import scanner

OWN = (
    SecretRule("behind", "tok .{5,40}", ("tok",)),
    SecretRule("before", "[^ ]{3,7} ends", ("ends",)),
)
TERMS = ("pré", "größe")
EVERY = scanner(secrets=True, personal=frozenset(PERSONAL), terms=TERMS, rules=OWN)
REDACTOR = Redactor(b"k", personal=frozenset(PERSONAL), terms=TERMS, rules=OWN, held=None)

WIDE = "é€"
"""A character of two bytes and one of three: behind up to four letters, a bound falls on each of their bytes."""
LETTERS = "Zq7!"
_MOST = 600
"""Repetitions of something without an end."""


def cut(text: bytes, place: tuple[int, int, str]) -> bool:
    """Whether a place begins or ends inside a character."""
    return any(at < len(text) and text[at] & 0xC0 == 0x80 for at in place[:2])


def patterns() -> list[str]:
    """What the scanner looks for: all patterns of its modules, its rules, an operator's."""
    found = {rule for rule, _ in EVERY._exact(frozenset(PERSONAL), TERMS)}
    found.update(one.regex for one in OWN)
    for module in pkgutil.iter_modules(secret_scanning.__path__):
        said = vars(importlib.import_module(f"{secret_scanning.__name__}.{module.name}")).values()
        for one in (part for each in said for part in (each if type(each) is tuple else (each,))):
            if isinstance(one, Pattern):
                found.add(one.text)
            elif isinstance(one, OnLine):
                found.add(one._begin.text + one._within.text)
    return sorted(found)


class Texts:
    """Texts that a pattern fits as far as possible: the least of everything, and in one repetition more than its bound of wide
    characters."""

    def __init__(self, before: int) -> None:
        """So many letters before the wide ones."""
        self._before = LETTERS[:before].encode()

    def of(self, pattern: str) -> Iterator[bytes]:
        # The tree of the module that reads patterns for `re`: the words of RE2 are nearly the same.
        parse = importlib.import_module("re._parser").parse
        return self._wide(parse(pattern.replace(r"\z", r"\Z").encode("latin-1")))

    def _wide(self, tree: Iterable[Any]) -> Iterator[bytes]:
        nodes = list(tree)
        for at, node in enumerate(nodes):
            for wide in self._wide_in(*node):
                yield _least(nodes[:at]) + wide + _least(nodes[at + 1 :])

    def _wide_in(self, op: Any, said: Any) -> Iterator[bytes]:
        if str(op) == "BRANCH":
            for one in said[1]:
                yield from self._wide(one)
        elif str(op) == "SUBPATTERN":
            yield from self._wide(said[3])
        elif str(op) in {"MAX_REPEAT", "MIN_REPEAT"}:
            (first, *more), most = said[2], min(int(said[1]), _MOST)
            fits = _fitting(*first) if not more else frozenset()
            if most > 1 and fits.issuperset(WIDE.encode()):
                for one in (WIDE, *WIDE):
                    yield self._before + (one * (most // len(one.encode()) + 2)).encode()
            elif not fits:
                yield from self._wide(said[2])


def _least(nodes: Iterable[Any]) -> bytes:
    return b"".join(_least_of(*node) for node in nodes)


def _least_of(op: Any, said: Any) -> bytes:
    if str(op) == "BRANCH":
        return _least(said[1][0])
    if str(op) == "SUBPATTERN":
        return _least(said[3])
    if str(op) in {"MAX_REPEAT", "MIN_REPEAT"}:
        return _least(said[2]) * int(said[0])
    if str(op) == "AT":
        return b""
    fits = _fitting(op, said)
    return bytes((next((one for one in b'7bZ!-= "' if one in fits), min(fits)),))


_BYTES = frozenset(range(256))


def _fitting(op: Any, said: Any) -> frozenset[int]:
    """The bytes that fit one node of one byte; none for others."""
    match str(op):
        case "LITERAL":
            return frozenset((said,))
        case "NOT_LITERAL":
            return _BYTES - {said}
        case "ANY":
            return _BYTES - set(b"\n")
        case "RANGE":
            return frozenset(range(said[0], said[1] + 1))
        case "CATEGORY":
            return _of_category(*str(said).split("_")[1:])
        case "IN":
            fits = frozenset(byte for one in said for byte in _fitting(*one))
            return _BYTES - fits if str(said[0][0]) == "NEGATE" else fits
    return frozenset()


def _of_category(*words: str) -> frozenset[int]:
    """As `SPACE` and `NOT_SPACE` are written, `\\s` and `\\S`."""
    letter = words[-1][0] if words[0] == "NOT" else words[-1][0].lower()
    return frozenset(one for one in _BYTES if re.match(rb"\%b" % letter.encode(), bytes((one,))))


@pytest.fixture(scope="module")
def texts() -> list[bytes]:
    every = [text for n in range(5) for one in patterns() for text in Texts(n).of(one)]
    return [*every, *(b"say " + one + b"\n" for one in every)]


def test_no_bound_of_a_pattern_cuts_a_character(texts: list[bytes]) -> None:
    assert len(texts) > 2000
    found = [(text, one) for text in texts for one in EVERY.find(text)]
    assert [(text, one) for text, one in found if cut(text, one)] == []
    rules = {rule for _, (_, _, rule) in found}
    assert rules >= {"command-line", "named", "email", "behind", "before"}


def test_the_patterns_themselves_do_cut_characters(texts: list[bytes]) -> None:
    """Else the test before would show nothing."""
    cuts: set[str] = set()
    for text in texts:
        for number in EVERY._which.hits(text):
            cuts.update(one[2] for one in EVERY._rules[number](text) if cut(text, one))
    assert cuts == {"command-line", "email", "behind", "before"}


def test_nothing_that_is_cleaned_is_an_error_or_is_spoilt(texts: list[bytes]) -> None:
    """Lines of the log, records, results, and texts that come in pieces."""
    HELD.clear()
    for text in texts:
        raw = json.dumps({"x": text.decode()}, ensure_ascii=False).encode()
        assert "\ufffd" not in without_secrets(raw).decode() + without_secrets(text).decode()
        assert "\ufffd" not in REDACTOR.json(raw).text.decode()
        stream = REDACTOR.stream()
        pieces = [stream.feed(one) for one in (text.decode()[:9], text.decode()[9:])]
        assert "\ufffd" not in "".join([*pieces, stream.end()])


def test_a_value_of_a_member_is_cut_nowhere_by_an_operators_rule() -> None:
    rule = SecretRule("pin", '"pin": ".{5}', ("pin",))
    own = scanner(secrets=False, personal=frozenset(), rules=(rule,))
    assert own.of_member("pin", "éééé") == [(0, 6, "pin")]


def test_places_are_in_order_and_none_is_in_another() -> None:
    text = "aé€b€éz".encode()
    places = [(7, 9, "third"), (2, 4, "first"), (4, 5, "second"), (3, 3, "empty"), (12, 13, "last")]
    assert apart(text, places) == [(1, 6, "first"), (7, 10, "third"), (12, 13, "last")]
    each = apart(text, ((at, at + 1, "r") for at in range(len(text))))
    assert [text[start:end].decode() for start, end, _ in each] == list(text.decode())


def test_of_bytes_that_are_no_text_no_step_is_long() -> None:
    text = b"\x80" * 64
    assert (begin_of_character(text, 32), end_of_character(text, 32)) == (29, 35)
    assert (begin_of_character(text, 1), end_of_character(text, 63)) == (0, 64)
