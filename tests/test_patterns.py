"""Patterns over foreign text mean what Python's `re` says, on every text, and are linear."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

import gatewright
from gatewright import patterns
from gatewright.patterns import ASCII, DOTALL, IGNORECASE, MULTILINE, NEVER, AnyOf, Pattern, escape
from tests.costs import grows

FLAGS = {IGNORECASE: re.IGNORECASE, MULTILINE: re.MULTILINE, DOTALL: re.DOTALL, ASCII: re.ASCII}
NOISE = "aZ_0 \n\t-:=/.\\\"'{}[]<>%é密"
EVERY = "".join(chr(one) for one in range(0x110000) if not 0xD800 <= one < 0xE000)
NAMED, SET = re.compile(r"\\p(?:\{(\w+)\}|([A-Z]))"), re.compile(r"\[(?:\\.|[^\]\\])+\]")
POINT = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
"""A character by its number, as RE2 has it; `re` knows eight digits alone."""
LATER = "Cn"
"""Not assigned in Python's table of Unicode; RE2's may be another year's."""


def every_pattern() -> Iterator[Pattern[Any]]:
    """Each pattern that a module of the package holds."""
    for found in pkgutil.walk_packages(gatewright.__path__, "gatewright."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    held = [one for one in gc.get_objects() if type(one) is Pattern]
    yield from {(one.pattern, one.flags): one for one in held}.values()


@cache
def ranges(name: str) -> str:
    """The characters of `\\p{name}` by RE2, for a class of `re`, which knows no such names."""
    runs = Pattern(rf"\p{{{name}}}+").finditer(EVERY)
    return "".join(f"\\U{ord(one[0][0]):08x}-\\U{ord(one[0][-1]):08x}" for one in runs)


def without_names(text: str) -> str:
    """A pattern with the characters of each `\\p{name}` written out."""
    text = POINT.sub(lambda one: f"\\U{int(one[1], 16):08x}", text)
    text = SET.sub(lambda one: NAMED.sub(lambda named: ranges(named[1] or named[2]), one[0]), text)
    return NAMED.sub(lambda named: f"[{ranges(named[1] or named[2])}]", text)


def by_re(pattern: Pattern[Any]) -> re.Pattern[Any]:
    flags = re.RegexFlag(0)
    for ours, theirs in FLAGS.items():
        flags |= theirs if pattern.flags & ours else re.RegexFlag(0)
    text = pattern.pattern
    return re.compile(without_names(text) if isinstance(text, str) else text, flags)


PATTERNS = sorted(every_pattern(), key=lambda one: (str(one.pattern), one.flags))
KNOWN = [by_re(one) for one in PATTERNS]


def told(found: Any) -> object:
    return None if found is None else (found.span(), found.groups(), found.groupdict())


@settings(max_examples=4, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_each_pattern_of_the_package_says_what_re_says(number: int, data: st.DataObject) -> None:
    ours, theirs = PATTERNS[number], KNOWN[number]
    fitting = st.nothing() if ours.pattern == NEVER else st.from_regex(theirs)
    empty: Any = ours.pattern[:0]
    noise = st.text(alphabet=NOISE) if empty == "" else st.binary(max_size=9)
    # `re` takes for ever over some texts that RE2 reads once: all that can be done is to keep them short.
    text = empty.join(data.draw(st.lists(fitting | noise, max_size=3)))[:100]
    if isinstance(text, str):
        text = "".join(one for one in text if unicodedata.category(one) not in {LATER, "Cs"})
        text = text.replace("\u0130", "I").replace("\u0131", "i")
    assert told(ours.search(text)) == told(theirs.search(text))
    assert told(ours.match(text)) == told(theirs.match(text))
    assert told(ours.fullmatch(text)) == told(theirs.fullmatch(text))
    if theirs.fullmatch(empty) is None:  # after nothing, `re` looks again at the same place
        assert [told(one) for one in ours.finditer(text)] == [
            told(one) for one in theirs.finditer(text)
        ]
        assert ours.findall(text) == theirs.findall(text)
        assert ours.split(text, 2) == theirs.split(text, 2)
    assert (ours.within(text), ours.begins(text), ours.fits(text)) == (
        theirs.search(text) is not None,
        theirs.match(text) is not None,
        theirs.fullmatch(text) is not None,
    )


@pytest.mark.parametrize("letter", "wdsWDS")
def test_a_class_holds_the_characters_that_it_holds_in_python(letter: str) -> None:
    ours, theirs = Pattern(f"\\{letter}"), re.compile(f"\\{letter}")
    differ = [one for one in EVERY if ours.fits(one) is not (theirs.fullmatch(one) is not None)]
    assert {unicodedata.category(one) for one in differ} <= {LATER}


@pytest.mark.parametrize(
    "text", ["a$", "a(?=b)", "(a)\\1", "a++", r"\bword\b", r"[\W]", "a{,3}", "a{1,2000}"]
)
def test_what_cannot_be_said_exactly_is_refused_and_means_nothing_else(text: str) -> None:
    with pytest.raises((ValueError, re2.error)):
        Pattern(text).search("a")


def test_places_are_counted_in_characters() -> None:
    found = list(Pattern(r"(b)|(\d)").finditer("é密b\U0001f6007"))
    assert [(one.span(), one.groups(), one.lastgroup) for one in found] == [
        ((2, 3), ("b", None), None),
        ((4, 5), (None, "7"), None),
    ]


def test_half_a_surrogate_pair_is_text_that_no_letter_fits() -> None:
    assert Pattern(r"\w+").findall("ab\ud800c") == ["ab", "c"]
    assert Pattern(r"[^a]").search("a\udfff").span() == (1, 2)  # type: ignore[union-attr]


def test_an_escaped_text_fits_itself_and_nothing_else() -> None:
    every = "".join(map(chr, range(1, 256)))
    assert Pattern(escape(every), DOTALL).fits(every)
    assert not Pattern(escape("a.b")).fits("axb")


def test_replacing_takes_a_text_or_a_function_and_a_count() -> None:
    pattern = Pattern("[ab]")
    assert pattern.sub(r"\1", "cab") == r"c\1\1"
    assert pattern.sub(lambda one: one[0].upper(), "cab", 1) == "cAb"
    assert pattern.subn("x", "cdc") == ("cdc", 0)


def test_all_places_of_a_long_text_are_found_in_one_reading() -> None:
    pattern = Pattern(r"\d+")
    pattern.findall("1")

    def read(count: int) -> None:
        assert sum(1 for _ in pattern.finditer("é1" * count)) == count

    assert grows(lambda: read(20_000), lambda: read(80_000), 8.0) <= 8.0


@pytest.mark.parametrize("text", ["AB", "ab", "Ab", "a\nb", "12", "\u0661", "Ax", "", "AB12"])
def test_any_of_several_fits_what_one_of_them_fits_with_its_own_flags(text: str) -> None:
    several = [
        Pattern(r"ab|a.b", IGNORECASE | DOTALL),
        Pattern(r"\d{1,2}"),
        Pattern(r"\d\d", ASCII),
        Pattern(r"A\w?"),
    ]
    assert AnyOf(*several).fits(text) is any(one.fits(text) for one in several)
    assert AnyOf(*several).within(text) is any(one.within(text) for one in several)


def test_a_pattern_is_whole_before_anybody_else_may_compile_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads compile what `uncompiled` names."""
    texts: list[str] = []

    class Noting(dict[int, Pattern[str]]):
        def __setitem__(self, _: int, one: Pattern[str]) -> None:
            texts.append(one._text)

    monkeypatch.setattr(patterns, "_uncompiled", Noting())
    AnyOf(Pattern("a", IGNORECASE), Pattern("b"))
    assert texts == ["(?i)a", "b", "(?:(?i)a)|(?:b)"]
