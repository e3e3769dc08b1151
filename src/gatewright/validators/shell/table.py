"""Loads the table of shell programs (`programs/*.toml`): for each program or subcommand its known options, operands and effects.

What no entry names is refused, so an entry is a promise: each option in it does what its list says. Lists are words: `-abc` are letters,
`-k:` one with a value, `-i?` one that may have a value in its own word, `name`, `name=` and `name?` the same of long options, and `-name!`,
`-name!=` whole words behind one dash.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

__all__ = ["EFFECTS", "FLAG", "KINDS", "MAYBE", "SPECIAL", "VALUED", "BadEntry", "Entry", "Operands", "Opt", "Slot", "Table", "collected", "data_file_of", "data_files", "entries_of", "operands_of", "table"]  # fmt: skip

FLAG, VALUED, MAYBE = 0, 1, 2
"""Whether an option has a value: none, one, or one in its own word."""
_LISTS = ("flags", "before", "reads", "writes", "runs", "hosts", "folders")
KINDS = frozenset(
    "reads writes deletes lists text pattern host url code script package folder command target rest again module".split()
)
"""What an operand may be."""
EFFECTS = frozenset(
    "recursive endless deletes sends environment network settings changes runs secrets writes_here project writes reads lists code unpacks "
    "fetches publishes package acts".split()
)
"""What a program, or an option of it, may do besides what its operands say."""
SPECIAL = frozenset(
    "find sed awk xargs env tar date git-config jq yq test sqlite ps ping interval sleep seq cd command ip make kill git-remote "
    "curl zip sql echo docker-run dd less top sysctl head rsync fd set python-module named numbers".split()
)
"""Readers in Python for what lists cannot say."""
_STDIN = frozenset({"reads", "runs", "names", "sends", "writes"})
_EXAMPLES = ("passes", "refuses", "develops", "never")
_KEYS = frozenset(
    (*_LISTS, *_EXAMPLES, "names", "manual", "does", "effects", "operands", "instead", "stdin", "bare", "closed", "special", "note")
)  # fmt: skip


class BadEntry(ValueError):  # noqa: N818 - it says what is bad
    """A data file says something that has no meaning; the text names the entry and the word."""


class Opt(NamedTuple):
    """One option."""

    takes: int
    kind: str
    """What it is, or its value: `text`, `reads`, `writes`, `runs`, `hosts` or `folders`."""
    does: frozenset[str] = frozenset()
    instead: Operands | None = None
    """The operands with this option."""


class Slot(NamedTuple):
    """One place in the operands of a program."""

    kind: str
    least: int = 1
    many: bool = False


class Operands(NamedTuple):
    """The operands of a program, in their order."""

    slots: tuple[Slot, ...]
    tail: str = ""
    """`command`, `rest`, or `again` (another command of the same program), where all words behind these belong to another program."""
    dashed: bool = False
    """Whether the tail begins behind `--` alone, so that options are read until then."""


class Entry(NamedTuple):
    """What is known of one program or subcommand."""

    names: tuple[str, ...]
    manual: str
    letters: Mapping[str, Opt]
    longs: Mapping[str, Opt]
    words: Mapping[str, Opt]
    """Whole words behind one dash."""
    effects: frozenset[str]
    operands: Operands
    stdin: str
    special: str
    bare: bool
    """Whether the program may run without one of its subcommands."""
    closed: bool
    """Whether words of it that are in no entry may run others or change the host, so that none of them is taken for harmless."""
    examples: Mapping[str, tuple[str, ...]]

    def options(self) -> Iterator[Opt]:
        """All that it knows, however they are spelled."""
        return chain(self.letters.values(), self.longs.values(), self.words.values())


class _Named(NamedTuple):
    form: str
    """`-`, `--` or `!`, as the option is spelled."""
    name: str
    takes: int


def _options(text: str) -> Iterator[_Named]:
    """The options that a list names. Raises `BadEntry`."""
    for word in text.split():
        if not word.startswith("-") or word.startswith("--"):
            yield from _long(word)
        elif "!" in word:
            name, _, sign = word[1:].partition("!")
            if not name or sign not in _SIGNS:
                raise BadEntry(f"the word {word!r}")
            yield _Named("!", name, _SIGNS[sign])
        else:
            yield from _letters(word)


_SIGNS = {"": FLAG, "=": VALUED, ":": VALUED, "?": MAYBE}


def _long(word: str) -> Iterator[_Named]:
    name = word.rstrip("=?:")
    if not name or name.startswith("-") or word[len(name) :] not in _SIGNS:
        raise BadEntry(f"the word {word!r}: a long option stands without its dashes")
    yield _Named("--", name, _SIGNS[word[len(name) :]])


def _letters(word: str) -> Iterator[_Named]:
    at = 1
    if len(word) < len("-a"):
        raise BadEntry(f"the word {word!r}")
    while at < len(word):
        sign = word[at + 1 : at + 2]
        marked = sign in _SIGNS and sign != ""
        if word[at] in "=:?!":
            raise BadEntry(f"the word {word!r}")
        yield _Named("-", word[at], _SIGNS[sign] if marked else FLAG)
        at += 2 if marked else 1


def operands_of(text: str) -> Operands:
    """What operands are: kinds in their order. Raises `BadEntry`."""
    words = text.split()
    tail, dashed = "", False
    if words and words[-1].rstrip("?*+") in _TAILS:
        tail = words.pop().rstrip("?*+")
        dashed = tail == "rest" and words[-1:] == ["--"]
        words = words[:-1] if words[-1:] == ["--"] else words
    found = tuple(map(_slot, words))
    if sum(one.many for one in found) > 1 or (tail and not dashed and any(one.many for one in found)):  # fmt: skip
        raise BadEntry(
            f"the operands {text!r}: only one of them may be many, and none before a tail"
        )
    return Operands(found, tail, dashed)


_TAILS = frozenset({"command", "rest", "again"})


def _slot(word: str) -> Slot:
    kind = word.rstrip("?*+")
    sign = word[len(kind) :]
    if kind not in KINDS - _TAILS or sign not in {"", "?", "*", "+"}:
        raise BadEntry(f"the operand {word!r}")
    return Slot(kind, 0 if sign in {"?", "*"} else 1, sign in {"*", "+"})


def _entry(raw: Mapping[str, Any]) -> Entry:
    _hold_words(raw)
    known: dict[tuple[str, str], Opt] = {}
    for kind in _LISTS:
        for one in _options(_text(raw, kind)):
            key = one.form, one.name
            if key in known:
                raise BadEntry(f"the option {one.name!r} stands in two lists")
            known[key] = _opt(kind, one)
    _further(known, raw.get("does", {}))
    _instead(known, raw.get("instead", {}))
    names = tuple(raw.get("names", ()))
    if not names or not all(isinstance(one, str) and one == " ".join(one.split()) for one in names):
        raise BadEntry("names")
    return Entry(
        names,
        _text(raw, "manual"),
        {name: opt for (form, name), opt in known.items() if form == "-"},
        {name: opt for (form, name), opt in known.items() if form == "--"},
        {name: opt for (form, name), opt in known.items() if form == "!"},
        frozenset(raw.get("effects", ())),
        operands_of(_text(raw, "operands")),
        raw.get("stdin", "reads"),
        raw.get("special", ""),
        bool(raw.get("bare", False)),
        bool(raw.get("closed", False)),
        {key: tuple(raw.get(key, ())) for key in _EXAMPLES},
    )


def _hold_words(raw: Mapping[str, Any]) -> None:
    """Refuse words that mean nothing in an entry."""
    unknown = {
        "key": raw.keys() - _KEYS,
        "effect": {*raw.get("effects", ())} - EFFECTS,
        "special reader": {raw.get("special", "")} - SPECIAL - {""},
        "stdin": {raw.get("stdin", "reads")} - _STDIN,
    }
    for what, words in unknown.items():
        for word in sorted(words):
            raise BadEntry(f"the {what} {word!r}")


def _text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key, "")
    if not isinstance(found, str):
        raise BadEntry(f"{key} is no text")
    return found


_OF_FLAGS = {"writes": "writes_here", "runs": "runs", "hosts": "network"}
"""What an option does that stands in a list of values and has none."""


def _opt(kind: str, one: _Named) -> Opt:
    if kind in {"flags", "before"}:
        return Opt(one.takes, "text")
    if one.takes == FLAG:
        if kind not in _OF_FLAGS:
            raise BadEntry(f"the option {one.name!r} in {kind} has no value")
        return Opt(FLAG, "text", frozenset({_OF_FLAGS[kind]}))
    return Opt(one.takes, kind)


def _further(known: dict[tuple[str, str], Opt], does: Mapping[str, str]) -> None:
    for effect, text in does.items():
        if effect not in EFFECTS:
            raise BadEntry(f"the effect {effect!r} in does")
        for one in _options(text):
            opt = known.get((one.form, one.name), Opt(one.takes, "text"))
            kind = effect if effect in _OF_VALUES and opt.takes and opt.kind == "text" else opt.kind
            known[one.form, one.name] = opt._replace(kind=kind, does=opt.does | {effect})


_OF_VALUES = frozenset({"reads", "writes", "runs", "package"})
"""What `does` may say of the value of an option."""


def _instead(known: dict[tuple[str, str], Opt], instead: Mapping[str, str]) -> None:
    for text, operands in instead.items():
        for one in _options(text):
            opt = known.get((one.form, one.name))
            if opt is None:
                raise BadEntry(f"instead names {one.name!r}, which is in no list")
            known[one.form, one.name] = opt._replace(instead=operands_of(operands))


def entries_of(text: str, name: str) -> Iterator[Entry]:
    """The entries of one data file. Raises `BadEntry` with the file, the entry and the word that is wrong."""
    try:
        programs = tomllib.loads(text).get("program", [])
    except tomllib.TOMLDecodeError as problem:
        raise BadEntry(f"{name}: {problem}") from None
    for raw in programs:
        try:
            yield _entry(raw)
        except BadEntry as problem:
            raise BadEntry(f"{name}: {raw.get('names')}: {problem}") from None


def data_files() -> Mapping[str, str]:
    """Name → text of each data file."""
    folder = files("gatewright.validators.shell").joinpath("programs")
    found = sorted(folder.iterdir(), key=lambda one: one.name)
    return {one.name: one.read_text("utf-8") for one in found if one.name.endswith(".toml")}


@cache
def _file_names() -> Mapping[str, str]:
    return {
        known: name
        for name, text in data_files().items()
        for entry in entries_of(text, name)
        for known in entry.names
    }


def data_file_of(entry: str) -> str:
    """The data file of a program or subcommand; empty where no entry has this name."""
    return _file_names().get(entry, "")


class Table(NamedTuple):
    """All entries by name, `git log` among them, and the names that have subcommands."""

    entries: Mapping[str, Entry]
    parents: frozenset[str]


def collected(entries: Iterable[Entry]) -> Table:
    """A table of these. Raises `BadEntry` where two have one name."""
    found: dict[str, Entry] = {}
    for entry in entries:
        for name in entry.names:
            if name in found:
                raise BadEntry(f"{name!r} has two entries")
            found[name] = entry
    words = (name.split(" ") for name in found)
    parents = {" ".join(one[:at]) for one in words for at in range(1, len(one))}
    return Table(found, frozenset(parents))


@cache
def table() -> Table:
    """The table of all data files, read when it is first asked for."""
    return collected(one for name, text in data_files().items() for one in entries_of(text, name))
