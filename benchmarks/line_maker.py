"""Makes shell lines from the table of programs: each option of each program that is installed, with inert words of the right kind.

No line is taken from anywhere else, and no word of it is more than a name, a number or one of the inert files of `line_rooms`.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import NamedTuple

from gatewright.validators.shell.table import FLAG, MAYBE, VALUED, Entry, Operands, Opt, table

__all__ = ["PATH", "Installed", "Spelling", "installed", "lines", "options_of"]

PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_TEXTS = (
    "1 2 0 10 3 x a new.txt new.txt a.txt json csv always never auto short full key name src HEAD main utf-8 , : 1,2 "
    "1-2 yes no all none c text 100 1k 1M ../other/new.txt /srv/other/new.txt /home/me/new.txt src/new "
).split()  # fmt: skip
"""Values of options, and operands, that the table calls texts. A new file among them shows where the table is wrong."""
_READ = (
    "a.txt b.txt a.txt b.txt src/a.py src/a.c src/a.js a.json a.yaml a.csv a.xml a.html a.md a.tar a.tar.gz a.zip a.gz a.xz "
    "a.bz2 a.zst a.db a.o a.patch a.sh a.png a.toml src . a.po a.dot a.sql Makefile package.json -"
).split()  # fmt: skip
_KINDS = {
    "reads": _READ,
    "lists": ["src", ".", "a.txt", "sub/deep"],
    "writes": ["new.txt", "src/new.txt", "b.txt", "../other/new.txt", "sub", "-"],
    "deletes": ["b.txt", "sub", "src/a.c", "-"],
    "folder": ["src", "sub", "."],
    "folders": ["src", "sub", "."],
    "script": ["a.sh", "src/a.py", "src/a.js"],
    "runs": ["./a.sh", "cat"],
    "host": ["localhost", "x.example"],
    "hosts": ["localhost"],
    "url": ["http://localhost/x"],
    "code": ["."],
    "pattern": ["x", "a.*", "one", "def"],
    "target": ["all", "x"],
    "package": ["x"],
    "module": ["./..."],
}
_COMMANDS = ("ls", "cat a.txt", "wc -l a.txt", "head -n 1 b.txt", "true")


class Spelling(NamedTuple):
    """One option of an entry."""

    name: str
    """With its dashes."""
    opt: Opt


def options_of(entry: Entry) -> list[Spelling]:
    """All options of an entry, as they are spelled."""
    forms = (("-", entry.letters), ("--", entry.longs), ("-", entry.words))
    return [Spelling(f"{dashes}{name}", opt) for dashes, known in forms for name, opt in known.items()]  # fmt: skip


Installed = tuple[tuple[str, ...], Entry]
"""Names of an entry whose programs are there, and the entry."""


def installed(programs: Collection[str] = ()) -> list[Installed]:
    """The entries that have names whose programs are there; where some are asked for, of these alone."""
    found: dict[int, Installed] = {}
    for name, entry in table().entries.items():
        first = name.partition(" ")[0]
        there = first not in _LEFT_OUT and (
            first in _BUILT_IN or shutil.which(first, path=PATH) is not None
        )
        if there and (not programs or first in programs):
            found[id(entry)] = (*found.get(id(entry), ((),))[0], name), entry
    return list(found.values())


_LEFT_OUT = frozenset({"gcloud", "kubectl"})
"""What Google's package brings: it asks a server which of its versions to run, and takes seconds."""
_BUILT_IN = frozenset({"cd", "type", "command", "ulimit", "umask", "hash", "dirs", "jobs", "wait", "set", "alias"})  # fmt: skip


def lines(random: Random, entries: Sequence[Installed]) -> Iterator[str]:
    """Lines without an end. Each option of each entry comes once before any comes again, alone or with others; every third line is several
    commands."""
    everything = [(names, entry, one) for names, entry in entries for one in (None, *options_of(entry))]  # fmt: skip
    while True:
        random.shuffle(everything)
        for names, entry, one in everything:
            line = _command(random, names, entry, one)
            if random.random() < 0.3:
                other = _command(random, *random.choice(everything))
                line = random.choice(_JOINED).format(line, other, random.choice(_COMMANDS))
            yield line


_JOINED = ("{0} | {1}", "{0} && {1}", "{0}; {1}", "{2} | {0}", "{0} | {1} | head -n 3", "{2} && {0} || {1}", "cd src && {0}", "{0} < a.txt", "for f in a.txt b.txt; do {0}; done", "echo $({0})")  # fmt: skip


def _command(random: Random, names: Sequence[str], entry: Entry, one: Spelling | None) -> str:
    name = random.choice(names)
    options = options_of(entry)
    chosen = [] if one is None else [one]
    if options:
        chosen += random.sample(options, min(len(options), random.choice((0, 0, 1, 2))))
    words: list[str] = []
    for spelling in chosen:
        words += _spelled(random, spelling)
    examples = [split for split in map(_split, _examples(entry)) if split and _begins(split, name)]
    if examples and random.random() < 0.6:
        rest = random.choice(examples)[len(name.split()) :]
    else:
        instead = next((one.opt.instead for one in chosen if one.opt.instead is not None), None)
        rest = _operands(random, instead or entry.operands)
    before = random.random() < 0.8 or bool(entry.operands.tail)
    return shlex.join([*name.split(), *(words + rest if before else rest + words)])


def _examples(entry: Entry) -> Iterator[str]:
    yield from entry.examples["passes"]
    yield from entry.examples["develops"]


def _begins(words: Sequence[str], name: str) -> bool:
    own = name.split()
    return list(words[: len(own)]) == own


_OPERATORS = frozenset("|&;<>$`*?[~\n")


def _split(line: str) -> list[str]:
    """The words of an example that is one plain command; none of any other."""
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    plain = all(shlex.quote(word) == word or f"'{word}'" in line for word in words)
    return words if plain or _OPERATORS.isdisjoint(line) else []


def _spelled(random: Random, spelling: Spelling) -> list[str]:
    name, opt = spelling
    if opt.takes == FLAG or (opt.takes == MAYBE and random.random() < 0.5):
        return [name]
    value = _value(random, opt.kind)
    if opt.takes == VALUED and random.random() < 0.6:
        return [name, value]
    return [f"{name}{value}" if len(name) == len("-a") else f"{name}={value}"]


def _value(random: Random, kind: str) -> str:
    return random.choice(_KINDS.get(kind, _TEXTS))


def _operands(random: Random, operands: Operands) -> list[str]:
    found = []
    for slot in operands.slots:
        most = 3 if slot.many else 1
        found += [_value(random, slot.kind) for _ in range(random.randint(slot.least, most))]
    if operands.tail == "command":
        found += random.choice(_COMMANDS).split()
    elif operands.tail:
        found += ["--"] * operands.dashed + ["a.txt"]
    return found
