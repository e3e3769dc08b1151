"""Checks files that find, ls, grep or git list for a command that deletes or changes them: the folders, and what selects in them.

`find . -type f -delete` empties the workspace as `rm -rf .` does, and `rm $(ls -d ../*)` its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_programs import program_name
from gatewright.validators.shell_workspace import is_written_inside

__all__ = ["DELETING", "chooses_by_name", "find_roots", "lists_all", "lists_elsewhere"]

DELETING = frozenset("rm rmdir unlink shred truncate rimraf".split())
"""What leaves nothing of a file."""
_FIRST = Pattern(r"-[HLPEXdsx]+|-O\d?")
_NAMING = Pattern(r"-(?:i?name|i?path|i?wholename|i?regex|newer\w*|mtime|mmin|size|empty)")
_ANY = Pattern(r"[^\w]*|.?", DOTALL)
_OR = frozenset({"-o", "-or"})
_NOT = frozenset({"!", "-not"})
_HERE = frozenset({".", "./", "*", "./*"})
_SEEKING = frozenset("grep egrep fgrep zgrep rg".split())


def find_roots(texts: Sequence[str]) -> list[str]:
    """The folders that a `find` begins in, behind the options that stand before them."""
    rest = list(texts)
    while rest and (_FIRST.fits(rest[0]) or rest[0] == "-D"):
        del rest[: 2 if rest[0] == "-D" else 1]
    return list(takewhile(lambda one: not one.startswith(("-", "(", "!")), rest))


def chooses_by_name(texts: Sequence[str]) -> bool:
    """Whether each alternative of a `find` holds a test that leaves files out by their names, sizes or times."""
    if "," in texts or any(one in _NOT and after == "(" for one, after in pairwise(texts)):  # fmt: skip
        return False
    found = False
    for at, text in enumerate(texts):
        if text in _OR:
            if not found:
                return False
            found = False
        elif _NAMING.fits(text) and not (at and texts[at - 1] in _NOT):
            value = texts[at + 1] if at + 1 < len(texts) else ""
            found = found or text == "-empty" or not _ANY.fits(value)
    return found


def _listed(texts: Sequence[str]) -> list[str]:
    """The operands of a listing program that are files."""
    name, rest = program_name(texts[0]), list(texts[1:])
    if name == "find":
        return find_roots(rest)
    operands = [one for one in rest if not one.startswith("-")]
    # The first is what is looked for.
    return operands[1:] if name in _SEEKING and not any(one.startswith("-e") for one in rest) else operands  # fmt: skip


def lists_elsewhere(texts: Sequence[str]) -> bool:
    """Whether a listing program lists what is outside."""
    return not all(one in _HERE or is_written_inside(one) for one in _listed(texts))


def lists_all(texts: Sequence[str]) -> bool:
    """Whether a listing program lists all of the workspace."""
    name, operands = program_name(texts[0]), _listed(texts)
    here = not operands or not _HERE.isdisjoint(operands)
    if name == "find":
        return here and not chooses_by_name(texts)
    chosen = name == "git" and (operands != ["ls-files"] or len(texts) > 2)
    return not chosen if name == "git" else here and name not in _SEEKING
