"""The data files of the table of shell programs, read a second time and by other means than the modules that judge lines.

Only `tomllib` and this file say what an entry means here, so that a mistake of the one reading is none of the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["Option", "Program", "dealt", "parents", "programs", "split_tail"]

_BY_NAME = frozenset(
    "jq fd xxd head cp mv rsync truncate dd ln chmod install mkdir top kill curl zip uniq pkill sleep seq date sed awk ping less tar".split()
)
"""First names of entries that have a reader of their own without saying so."""
_TAILS = ("command", "rest", "again")
_LISTS = ("flags", "before", "reads", "writes", "runs", "hosts", "folders")


class Option(NamedTuple):
    """One option."""

    takes: str
    """`` nothing, `=` a value, `?` maybe one in its own word."""
    kind: str
    does: set[str]
    instead: str | None = None


class Program(NamedTuple):
    """One entry."""

    names: list[str]
    options: dict[str, Option]
    """By their spelling: `-a`, `--all`, and `-all!` for a whole word behind one dash."""
    effects: set[str]
    operands: str
    stdin: str
    bare: bool
    own: bool
    """Whether a reader in Python knows more of it than the table."""


def programs() -> dict[str, Program]:
    """All entries by their names."""
    found: dict[str, Program] = {}
    for file in files("gatewright.validators.shell").joinpath("programs").iterdir():
        if file.name.endswith(".toml"):
            for raw in tomllib.loads(file.read_text("utf-8"))["program"]:
                found |= dict.fromkeys(raw["names"], _program(raw))
    return found


@cache
def parents(names: tuple[str, ...]) -> frozenset[str]:
    """What stands before a subcommand."""
    return frozenset(name.rsplit(" ", at)[0] for name in names for at in range(1, name.count(" ") + 1))  # fmt: skip


def split_tail(operands: str) -> tuple[list[str], str, bool]:
    """Places of operands, what follows them (`command`, `rest`, `again`), and whether that begins behind `--` alone."""
    slots = operands.split()
    tail = slots.pop().rstrip("?*+") if slots and slots[-1].rstrip("?*+") in _TAILS else ""
    dashed = slots[-1:] == ["--"]
    return slots[:-1] if dashed else slots, tail, dashed and tail == "rest"


def dealt(slots: list[str], count: int) -> Iterator[str]:
    """The kind of each operand: what must be there is, what may be there is while operands are left over."""
    spare = max(count - sum(slot[-1] not in "?*" for slot in slots), 0)
    for slot in slots:
        kind = slot.rstrip("?*+")
        if slot[-1] not in "?*":
            yield kind
        if slot[-1] == "?" and spare:
            spare -= 1
            yield kind
        if slot[-1] in "*+":
            yield from [kind] * spare
            spare = 0


def _program(raw: Mapping[str, Any]) -> Program:
    options: dict[str, Option] = {}
    for kind in _LISTS:
        options |= {name: _option(kind, takes) for name, takes in _words(raw.get(kind, ""))}
    for effect, text in raw.get("does", {}).items():
        for name, takes in _words(text):
            options[name] = _doing(options.get(name, Option(takes, "text", set())), effect)
    for text, operands in raw.get("instead", {}).items():
        for name, _ in _words(text):
            options[name] = options[name]._replace(instead=operands)
    own = "special" in raw or raw["names"][0] in _BY_NAME
    effects, operands = set(raw.get("effects", ())), raw.get("operands", "")
    return Program(raw["names"], options, effects, operands, raw.get("stdin", "reads"), raw.get("bare", False), own)  # fmt: skip


def _option(kind: str, takes: str) -> Option:
    if kind in {"flags", "before"}:
        return Option(takes, "text", set())
    if takes:
        return Option(takes, kind, set())
    return Option("", "text", {{"writes": "writes_here", "runs": "runs", "hosts": "network"}[kind]})


def _doing(option: Option, effect: str) -> Option:
    says = effect in {"reads", "writes", "runs", "package"} and option.takes and option.kind == "text"  # fmt: skip
    return option._replace(kind=effect if says else option.kind, does={*option.does, effect})


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Each option that a list names, and whether it takes a value."""
    for word in text.replace(":", "=").split():
        if word[0] == "-" and "!" in word:
            name, sign = word.split("!")
            yield f"{name}!", sign
        elif word[0] == "-":
            yield from _letters(word[1:])
        else:
            name = word.rstrip("=?")
            yield f"--{name}", word[len(name) :]


def _letters(letters: str) -> Iterator[tuple[str, str]]:
    for at, letter in enumerate(letters):
        if letter not in "=?":
            after = letters[at + 1 : at + 2]
            yield f"-{letter}", after if after in {"=", "?"} else ""
