"""Matches signals of tool poisoning in texts of tool definitions and results: by phrases, and by word groups that meet in one sentence.

What the definition itself declares is not counted: a tool with a parameter `password` may speak of the password. Which language a
sentence is in does not matter: groups have words of many, and stand in it in any order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from gatewright.identifier_words import words_of
from gatewright.patterns import IGNORECASE, Pattern
from gatewright.pins.advice import without_advice
from gatewright.pins.signal_patterns import MEMORY, any_of, compiled
from gatewright.pins.signals import DYNAMIC, Group, Kind, Signal, Signals, load
from gatewright.secret_scanning.unicode_forms import normal

__all__ = ["Finding", "Said", "compile_all", "findings", "plain", "prepare", "unsaid"]

_ENDS = Pattern(r"(?:[.!?]+[)\]'\"`*]*\s)|[\x{3002}\x{ff01}\x{ff1f}\x{964}\x{61f}]")
_LATIN = Pattern(r"[0-9A-Za-z_]+")
_SNAKE = Pattern(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_INTO = (
    r"in|into|as|via|with|to|field|parameter|argument|set|fill|dans|champ|paramètre|en|em|nel|nella|campo|parámetro|im|als|feld|w|do|jako|i|på|til|som|pada|di|"
    r"ke|sebagai|naar|als|veld|kentässä|kenttään|trong|vào|v|pole|pola|în|mezőbe|στο|को|में|dalam"
)
_POINTED = Pattern(
    rf"(?:['\"`\x{{ab}}\x{{201c}}:=]\s?|(?:^|[^\w])(?:{_INTO}) (?:the |das |la |le |il |o |het )?"
    r"(?:(?:field|parameter|argument|feld|campo|champ|paramètre|veld|pole|parametro|parámetro) )?['\"`]?)(\w+)",
    IGNORECASE,
)
_ASSIGNED = Pattern(
    r"(\w+)['\"`]?\s?(?:[:=]|(?:alan|field|parameter|argument|veld|mező)\w*)", IGNORECASE
)
"""A name may stand before as well as behind what says that it is one."""
_DECLARED = Pattern(r"(?:^|[^\w./~-])\w+")
_WORDS_IN = Pattern(r"\w+")
_SHOWN = 40
"""Characters of each of the words that are shown."""
_MOST_NAMES = 1000


class Said(NamedTuple):
    """A text of a definition."""

    text: str
    where: str = "sentence"
    """`parameter` inside of a schema, `name` for the words of a parameter's name."""


class Finding(NamedTuple):
    """A signal, and the words by which it was found."""

    signal: Signal
    words: str


def findings(
    said: Sequence[Said], names: Iterable[str] = (), tool: str = "", of: Kind = "definitions"
) -> list[Finding]:
    """All signals in texts of a tool of this name, whose parameters have these names. Linear in the texts."""
    found: dict[str, Finding] = {}
    own = _Own(names, tool, of)
    for finding in chain(_phrases(said, own), _spoken(said, own)):
        found.setdefault(finding.signal.id, finding)
    for one in list(found.values()):
        if one.signal.id in found:
            for other in one.signal.covers:
                found.pop(other, None)
            found.pop(next((other for other in one.signal.covers_one if other in found), ""), None)
    return list(found.values())


def prepare() -> None:
    """Load the signals and compile what is looked for: once in a process, a tenth of a second or two, of which RE2 keeps Python's global
    lock for some hundredths."""
    _phrase_set("definitions")
    _group_sets("definitions")
    findings([Said("Say it.")], ["text"], "say")


def compile_all(of: Kind) -> int:
    """Compile every pattern with which words are found, which would else be done where the first of them stands; how many there are."""
    signals = load(of)
    wanted = [one.pattern() for one in _used(of).values()]
    wanted += ["|".join(one.any) for one in (*signals.phrases, *signals.spoken) if one.any]
    for pattern in wanted:
        compiled(pattern, MEMORY[of])
    return len(wanted)


def unsaid(of: Kind) -> Collection[str]:
    """What stands in a finding for the words of a group that says none of them, for all such groups."""
    return frozenset(_named(name) for name, one in _used(of).items() if one.unsaid)


def plain(text: str) -> str:
    """A text as pieces of it are shown: one line, printable."""
    kept = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(kept.replace("«", "<").replace("»", ">").split())


# -- phrases ------------------------------------------------------------------------------------------


@cache
def _phrase_set(of: Kind) -> Any:
    return any_of(["|".join(one.any) for one in load(of).phrases], MEMORY[of])


def _phrases(said: Sequence[Said], own: _Own) -> Iterator[Finding]:
    signals, phrases = load(own.of).phrases, _phrase_set(own.of)
    kept = [one.text for one in said]
    # Twice: phrases may be broken by line ends, and some signals want a line's beginning.
    plain = [" ".join(text.split()) for text in kept]
    lines = "\n".join([*plain, *(a for a, b in zip(kept, plain, strict=True) if a != b)])
    hits = sorted(phrases.Match(lines) or ())
    if any(signals[hit].advice for hit in hits):
        left = own.without_declared(without_advice(lines))
        still = set(phrases.Match(left) or ())
        hits = [hit for hit in hits if hit in still or not signals[hit].advice]
    for hit in hits:
        yield Finding(signals[hit], _place("|".join(signals[hit].any), lines, own.of))


def _place(pattern: str, text: str, of: Kind) -> str:
    found = compiled(pattern, MEMORY[of]).search(text)
    return "" if found is None else _short(found.group())


def _short(text: str) -> str:
    """As it may stand in a message: one line, printable, and not long enough to say much."""
    return plain(text)[:_SHOWN]


def _named(group: str) -> str:
    return f"({group})"


# -- sentences ----------------------------------------------------------------------------------------


class _Own:
    """What a definition declares."""

    def __init__(self, names: Iterable[str], tool: str, of: Kind) -> None:
        self.of = of
        kept = [name for name, _ in zip(names, range(_MOST_NAMES), strict=False)]
        words = {name: {_stem(one) for one in words_of(name)} for name in kept}
        declares = _declares()
        self.declared = {one for some in words.values() for one in some}
        self.declared |= {_stem(one) for one in words_of(tool)}
        self.declared &= declares
        self.all = {name.casefold() for name in (*kept, tool)}
        self.taking = {name.casefold() for name in kept if words[name].isdisjoint(declares)}

    def parameter(self, sentence: str) -> str:
        """The name of a parameter that declares nothing private, where a sentence points to it: a plain word is one otherwise. In
        another script than Latin the name itself is pointed to by its letters."""
        if not self.taking:
            return ""
        patterns = [_POINTED, _ASSIGNED]
        if sum(not one.isascii() for one in sentence) > len(sentence) // 3:
            patterns.append(_LATIN)
        for pattern in patterns:
            for one in pattern.finditer(sentence):
                said = (one[0] if pattern is _LATIN else one[1]).casefold()
                if said in self.taking:
                    return said
        return ""

    def other_tool(self, sentence: str) -> str:
        """An identifier that is no name of this definition's."""
        return next(
            (one[0] for one in _SNAKE.finditer(sentence) if one[0].casefold() not in self.all), ""
        )

    def without_declared(self, text: str) -> str:
        """The text with another word for what the definition declares; paths are left as they are."""
        if not self.declared:
            return text
        return _DECLARED.sub(
            lambda found: (
                " value" if _stem(found[0].strip(" '\"`(")) in self.declared else found[0]
            ),
            text,
        )

    def declares(self, words: str) -> bool:
        """Whether words are of what is declared, or begin as it does: many languages bend the end of a word."""
        said = [_stem(one) for one in _WORDS_IN.findall(words)] + [
            _stem(one) for one in words_of(words)
        ]
        return any(one.startswith(known) for one in said for known in self.declared)


@cache
def _declares() -> frozenset[str]:
    return frozenset(map(_stem, load().declares))


def _stem(word: str) -> str:
    """A word without its capitals, its accents and its plural, and written out where it is short for another."""
    plain = word.casefold()
    if not plain.isascii():
        apart = normal("NFKD", plain).translate(_PLAIN)
        plain = "".join(one for one in apart if not unicodedata.combining(one))
    return load().aliases.get(plain, plain).removesuffix("s")


_PLAIN = str.maketrans("łıøđ", "liod")


_PASSES = {"definitions": 1, "results": 6}
"""In so many automata the groups are looked for: in one, what they have read so far multiplies. Definitions are too short to mind."""


@cache
def _group_sets(of: Kind) -> Sequence[tuple[Sequence[str], Any]]:
    groups = {name: one.pattern() for name, one in _used(of).items() if not one.late}
    parts = [list(groups)[first :: _PASSES[of]] for first in range(_PASSES[of])]
    return [(names, any_of([groups[name] for name in names], MEMORY[of])) for names in parts]


def _used(of: Kind) -> Mapping[str, Group]:
    """The groups that a signal of this kind asks for."""
    signals = load(of)
    asked = {name for one in signals.spoken for name in (*one.all, *one.none)}
    return {name: one for name, one in signals.groups.items() if name in asked}


@cache
def _late(of: Kind) -> frozenset[str]:
    return frozenset(name for name, one in load(of).groups.items() if one.late)


class _Sentence:
    """Which groups stand in a sentence, and with which words."""

    def __init__(self, text: str, own: _Own, *, named: bool, parts: bool = False) -> None:
        """In `parts` of a long text a group is looked for when it is asked for: few are."""
        self._text, self._own, self._named = text, own, named
        self._groups: set[str] | None = None if parts else self._standing()
        self._words: dict[str, str] = {}

    @property
    def signals(self) -> Signals:
        """What is looked for."""
        return load(self._own.of)

    def _standing(self) -> set[str]:
        sets = _group_sets(self._own.of)
        return {names[one] for names, found in sets for one in found.Match(self._text) or ()}

    def may(self, signal: Signal) -> bool:
        """Whether the groups of a signal that are the same for all definitions stand here."""
        return self._groups is None or signal.needed - _late(self._own.of) <= self._groups

    def without_advice(self) -> _Sentence | None:
        """The sentence without an honest warning in it; None where it has none."""
        left = without_advice(self._text)
        return None if left == self._text else _Sentence(left, self._own, named=self._named)

    def words(self, group: str, *, declared: bool = False) -> str:
        """The words of a group; empty where it does not stand here. With `declared` also by what the definition declares."""
        if declared:
            return self._found(group, declared=True)
        if group not in self._words:
            self._words[group] = self._found(group)
        return self._words[group]

    def _found(self, group: str, *, declared: bool = False) -> str:
        if group in DYNAMIC:
            ask: Callable[[str], str] = (
                self._own.parameter if group == "own_parameter" else self._own.other_tool
            )
            return ask(self._text)
        known = load(self._own.of).groups[group]
        if self._groups is not None and not known.late and group not in self._groups:
            return ""
        found = (
            _short(one.group())
            for one in compiled(known.pattern(), MEMORY[self._own.of]).finditer(self._text)
        )
        # `id` is a command, and what most parameters are called.
        places = (
            one for one in found if one[:1] != "`" or one.strip("`").casefold() not in self._own.all
        )
        if known.declared and not self._named and not declared:
            places = (one for one in places if not self._own.declares(one))
        return next((one for one in places if one), "")


def _spoken(said: Sequence[Said], own: _Own) -> Iterator[Finding]:
    open_ = {one.id: one for one in load(own.of).spoken}
    for text, where in said:
        for finding in chain(_raw(text, open_, own.of), _in_text(text, where, open_, own)):
            if open_.pop(finding.signal.id, None) is not None:
                yield finding


def _raw(text: str, open_: Mapping[str, Signal], of: Kind) -> Iterator[Finding]:
    for signal in [one for one in open_.values() if one.where == "raw"]:
        place = compiled("|".join(signal.any), MEMORY[of]).search(text)
        # Behind it something has to stand that is out of sight.
        if place is not None and text[place.end() :].strip():
            yield Finding(signal, "white space")


def _in_text(text: str, where: str, open_: Mapping[str, Signal], own: _Own) -> Iterator[Finding]:
    plain = " ".join(text.split())
    whole = _Sentence(plain, own, named=where == "name")
    places = {where} if where == "name" else {where, "sentence"}
    # What does not stand in the text as a whole stands in none of its sentences.
    wanted = [one for one in open_.values() if one.where in places and whole.may(one)]
    if not wanted:
        return
    before: _Sentence | None = None
    for sentence in _sentences(plain, own, named=where == "name"):
        for signal in wanted:
            if signal.id in open_ and (signal.sentences > 1 or sentence.may(signal)):
                words = _meets(signal, sentence, before if signal.sentences > 1 else None)
                if words:
                    yield Finding(signal, words)
        before = sentence


def _sentences(text: str, own: _Own, *, named: bool) -> Iterator[_Sentence]:
    at = 0
    for end in [*(one.end() for one in _ENDS.finditer(text)), len(text)]:
        if end > at:
            yield _Sentence(text[at:end], own, named=named, parts=own.of == "results")
        at = end


def _meets(signal: Signal, sentence: _Sentence, before: _Sentence | None) -> str:
    """The words by which a signal's groups meet; empty where they do not."""
    found: list[str] = []
    for group in signal.all:
        words = sentence.words(group, declared=signal.declared) or (
            before.words(group) if before is not None else ""
        )
        if not words:
            return ""
        known = sentence.signals.groups.get(group)
        found.append(_named(group) if known is not None and known.unsaid else words)
    if any(sentence.words(group) for group in signal.none):
        return ""
    warned = sentence.without_advice()
    # What only a warning says is no order.
    if warned is not None and not _meets(signal, warned, before):
        return ""
    return " … ".join(dict.fromkeys(found))
