"""`Effect`: one thing a shell command does, and to which path; `At`: its folder and input; `paths_of`: paths that a word may mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gatewright.validators.shell.places import HERE, Path, resolve
from gatewright.validators.shell_pipelines import MARKS
from gatewright.validators.shell_syntax import Word

__all__ = [
    "DASHED",
    "MARK",
    "MOST_LISTED",
    "NUMBERS",
    "At",
    "Effect",
    "Listed",
    "marked",
    "paths_of",
]

MARK = "\uf8ff"
"""What stands in a word for names that `find` or `xargs` puts there; no text of a line has it."""


MOST_LISTED = 16
"""Folders that one listing names, at most: each word that stands for what is listed is judged for each of them."""


class Effect(NamedTuple):
    """One thing that a command does."""

    kind: str
    path: Path | None = None
    text: str = ""
    by: str = ""
    """The option that says so, `operand`, or nothing for what the program always does."""
    of: str = ""
    """The program or subcommand."""
    listed: str = ""
    """`all` or `some` where the path is any of those that something else lists."""


class Listed(NamedTuple):
    """Names that something lists."""

    root: Path
    chosen: bool = False
    """Whether they are but some of what is there, by their names or by what they hold."""
    word: Word | None = None
    """The word itself, where a line says it, in place of names below a folder."""
    dashed: bool = False
    """Whether one of them may begin with a dash, and be an option."""


DASHED = "\uf8fe"
"""Stands among what is listed where names that `xargs` puts on a line may begin with a dash."""
NUMBERS = Path("#")
"""In place of a folder: what is listed are numbers, of processes and containers where they are `chosen`."""


class At(NamedTuple):
    """Where and how a command runs."""

    folder: Path = HERE
    listed: Mapping[str, tuple[Listed, ...] | None] = {}
    """What stands for a mark; None where nobody has seen it."""
    fed: str = ""
    """What its standard input is: `pipe`, `network` for what comes from another machine, or nothing."""
    depth: int = 0
    bounded: bool = False
    """Whether somebody ends it after a time."""


def marked(text: str) -> str:
    """The mark in a text, if there is one."""
    found = None if text.isascii() else MARKS.search(text)
    return "" if found is None else found[0]


def paths_of(word: Word, at: At) -> list[Path]:
    """The paths that a word may mean: several where names are listed."""
    text = word.text
    mark = marked(text)
    if not mark:
        return [resolve(at.folder, text, glob=word.glob)]
    before, _, after = text.partition(mark)
    after = MARKS.sub("*", after)
    listed = at.listed.get(mark)
    if listed is None or len(listed) > MOST_LISTED:
        return [Path("?", tuple(after.split("/")), True)]
    said = [one.word for one in listed if one.word is not None]
    if said:
        return [resolve(at.folder, f"{before}{one.text}{after}", glob=one.glob) for one in said]
    if before not in {"", "./"}:
        return [resolve(at.folder, f"{before}*{after}", glob=True)]
    return [resolve(one.root, f"./*{after}", glob=True) for one in listed]
