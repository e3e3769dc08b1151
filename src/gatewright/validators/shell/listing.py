"""`listing`: what a command's output names to another (`find … | xargs`, `$(pgrep x)`): files below folders, words or numbers; else None.

What is listed lies below folders that the listing names; what prints anything but names of files lists what nobody has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.shell.effects import NUMBERS, Effect, Listed
from gatewright.validators.shell.find_expression import chooses
from gatewright.validators.shell.names import program_name
from gatewright.validators.shell.places import Path, chooses_secrets
from gatewright.validators.shell.table import table
from gatewright.validators.shell.words import given
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_globs import letters_of
from gatewright.validators.shell_syntax import Word
from gatewright.word_tables import tables

__all__ = ["listing"]

_ROOTS = frozenset({"lists", "reads", "reads_below", "repository"})
_SEEKING = frozenset("grep egrep fgrep zgrep rg ag ack fd fdfind".split())
_TOLD = Pattern(
    r"(?:^|.*\W)(?:\.?env|shadow|passwd|id_\w+|pem|key|p12|token|secrets?|credentials?|netrc|pgpass|ssh|aws|gnupg|npmrc|kube|history)(?:\W.*)?",
    IGNORECASE,
)
"""A pattern that chooses secrets among names."""
_WILD = Pattern(r"[*?\[]")


def listing(commands: Sequence[Command], effects: Sequence[Sequence[Effect]], folder: Path) -> tuple[Listed, ...] | None:  # fmt: skip
    """Where the names come from that these commands print; None where they print anything else, or choose secrets."""
    words = [one.words for one in commands if one.words]
    if not words or len(words) != len(commands):
        return None
    if len(words) == 1 and not words[0][0].bare:
        return tuple(Listed(folder, word=one) for one in words[0][1:])
    if _counts(words[-1]):
        return (Listed(NUMBERS),)
    if len(words) == 1 and _prints("numbers", words[0]):
        return (Listed(NUMBERS, chosen=True),)
    name, texts = program_name(words[0][0].text), [one.text for one in words[0][1:]]
    told = (name == "find" and any(map(chooses_secrets, texts))) or any(map(_leaves_secrets, words[1:]))  # fmt: skip
    if told or not _lists_names(commands, effects):
        return None
    roots = [one.path for one in effects[0] if one.kind in _ROOTS and one.path is not None and one.of != "redirection"]  # fmt: skip
    chosen = _chosen(name, texts) or any(program_name(one[0].text) in _SEEKING for one in words[1:])
    dashed = name == "ls"
    return tuple(_listed(one, chosen=chosen)._replace(dashed=dashed) for one in roots or [folder])


def _leaves_secrets(words: Sequence[Word]) -> bool:
    """Whether a filter of names is there to find those of secrets."""
    texts = [one.text for one in words[1:]]
    inverted = any(one[:1] == "-" and one[1:2] != "-" and "v" in one for one in texts)
    return not inverted and any(map(_TOLD.fits, texts))


_COUNTING = frozenset({"-l", "-c", "-m", "-w", "--lines", "--bytes", "--chars", "--words"})


def _counts(words: Sequence[Word]) -> bool:
    """Whether a command prints one number: how much comes in, or how many processes there are."""
    if program_name(words[0].text) == "wc":
        return len(words) == 2 and words[1].text in _COUNTING
    return _prints("count", words)


def _chosen(name: str, texts: Sequence[str]) -> bool:
    if name in {"find", "gfind", "bfs"}:
        return chooses(texts)
    if name == "git":
        return any(one not in _ALL_OF_GIT for one in texts[1:])
    if name in {"fd", "fdfind"}:
        return any(_named(one) for one in texts if one[:1] != "-") or "-e" in texts
    if name in {"rg", "ag", "ack"} and "--files" in texts:
        return any(one.startswith(_CHOOSING) for one in texts)
    return name in _SEEKING


_ALL_OF_GIT = frozenset({"-z", "-c", "-t", "--cached", "--full-name", "--", "."})
"""Options of `git ls-files` that leave nothing out."""
_CHOOSING = ("-g", "--glob", "--iglob", "-t", "--type")


def _named(pattern: str) -> bool:
    """Whether a pattern has letters by which it chooses."""
    return letters_of(pattern).strip("./") != ""


def _listed(path: Path, *, chosen: bool) -> Listed:
    """The folder of a path with jokers, whose letters choose."""
    at = next((at for at, one in enumerate(path.parts) if _WILD.within(one)), None)
    if not path.wild or at is None:
        return Listed(path, chosen)
    letters = any(map(_named, path.parts[at:]))
    return Listed(path._replace(parts=path.parts[:at], wild=False), chosen or letters)


class _Prints(NamedTuple):
    """With which options a program prints nothing but what its table says: one of those that it `needs`, and no others than those and what it
    `takes`; None: any."""

    needs: frozenset[str]
    takes: frozenset[str] | None


def _row(row: Mapping[str, Any]) -> _Prints:
    needs = frozenset(row.get("needs", "").split())
    return _Prints(needs, None if row.get("any") else needs.union(row["takes"].split()))


_TABLES = {
    table: {name: _row(row) for row in rows for name in row["programs"]}
    for table, rows in tables(__file__, "listings.toml").items()
}
"""Table of the file → program, or program and subcommand → what it prints."""
_LONGEST = 3
"""Words of a program and its subcommands."""


def _prints(kind: str, words: Sequence[Word]) -> bool:
    """Whether a command prints nothing but what a table says, by its longest name there."""
    texts = [program_name(words[0].text), *(one.text for one in words[1:_LONGEST])]
    names = (" ".join(texts[:size]) for size in range(len(texts), 0, -1))
    name = next((one for one in names if one in _TABLES[kind]), "")
    if not name:
        return False
    needs, takes = _TABLES[kind][name]
    if takes is None:
        return True
    options = _options(name, words[len(name.split()) :])
    return options <= takes and (not needs or not options.isdisjoint(needs))


_TELLING = frozenset("-printf -fprintf -ls -fls -exec -execdir -ok -okdir".split())
"""Tests of `find` that print something else."""
_READ = frozenset({"reads", "reads_below", "lists", "lists_below"})


def _lists_names(commands: Sequence[Command], effects: Sequence[Sequence[Effect]]) -> bool:
    """Whether what these print are names of files that a folder holds, and nothing that the line itself says."""
    first, *others = (one.words for one in commands)
    if any(one.variables for one in commands) or any(one.kind == "starts" for one in effects[0]):
        return False
    # What a filter reads by itself is no list.
    reads = (one for found in effects[1:] for one in found)
    if any(one.kind in _READ and one.by == "operand" for one in reads):
        return False
    return all(_prints("filters", one) for one in others) and _lists_alone(first)


def _lists_alone(words: Sequence[Word]) -> bool:
    if program_name(words[0].text) == "find":
        return _TELLING.isdisjoint([one.text for one in words[1:]])
    return _prints("names", words)


def _options(name: str, words: Sequence[Word]) -> frozenset[str]:
    """The names of the options of a command that has been read before."""
    entry = table().entries[name]
    return frozenset(one.name for one in given(entry, words)[0].options)
