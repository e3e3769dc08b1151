"""Replaces expansions and command substitutions on a shell line by a value where it is certain, else by a mark for unknown text.

What git tells of revisions and folders is known as far as it can be a path; what any other command prints nobody has seen.
"""

from __future__ import annotations

from tree_sitter import Node

from gatewright.patterns import DOTALL, Pattern

__all__ = [
    "ARITHMETIC",
    "EXPANSIONS",
    "PLACES",
    "SUBSTITUTIONS",
    "named_parts",
    "stand_in",
    "stands_alone",
]

PLACES = {b"$PWD": b".", b"${PWD}": b".", b"$HOME": b"~", b"${HOME}": b"~"}
EXPANSIONS = {
    **PLACES, b"$?": b"0", b"$#": b"0", b"$$": b"0", b"$RANDOM": b"0", b"$SECONDS": b"0", b"$LINENO": b"0",
}  # fmt: skip
"""What is known of a line's own variables, as far as it can be a path; of `PLACES` where nothing grows together with it (`stands_alone`)."""
ARITHMETIC = Pattern(r"\$\(\((?:\d+(?:#[\da-f]+)?|[\s+*/%()<>&|^-])*\)\)")
"""Numbers and signs. A name would be evaluated in turn, and its value may hold commands."""


def named_parts(node: Node) -> list[Node]:
    """The parts of a node that are no mere signs."""
    return [part for part in node.children if part.is_named]


def stand_in(node: Node) -> bytes | None:
    """What stands for the output of a command on the line: a revision, a folder of git, or a mark (`%`) of what nobody has seen yet. None
    where nothing may."""
    if node.type == "process_substitution":
        # In quotes: a shell does not split it.
        return b"'/dev/fd/%'" if (node.text or b"").startswith(b"<(") else None
    inner = named_parts(node)
    if len(inner) != 1 or inner[0].type not in _PRINTING:
        return None
    known = _known((inner[0].text or b"").decode(), *_around(node))
    if known is not None:
        return known
    word = node
    while word.parent is not None and word.parent.type in {"string", "concatenation"}:
        word = word.parent
    within = word.parent.type if word.parent is not None else ""
    return b"%" if within in _TAKING else None


def _known(told: str, before: str, after: str) -> bytes | None:
    """What a command prints, as far as its words say it, with what stands around it in its word."""
    if told == "pwd":
        return b"." if _is_alone(before, after) else None
    for known, means in _TOLD:
        if known.fits(told):
            return means
    # A branch may be called like a place of the host.
    if _REVISION.fits(told) or (_BRANCH.fits(told) and not _PLACED.fits(before)):
        return b"HEAD"
    # Beside other text it would be another folder.
    return _GIT_FOLDERS.get(told) if not before and after[:1] in {"", "/"} else None


_TOLD = (
    (Pattern(r"nproc(?: --all)?|id -[ug]|date \+%s|getconf _NPROCESSORS_ONLN|sysctl -n hw\.(?:ncpu|logicalcpu|physicalcpu)"), b"1"),
    (Pattern(r"uname(?: -[smr])?|date \+[\"']?%[%YmdHMSFTjy_-]*[\"']?"), b"x"),
)  # fmt: skip
"""Commands whose output is a number or a plain name."""
_TAKING = frozenset(
    "command for_statement variable_assignment test_command unary_expression binary_expression negation_expression parenthesized_expression".split()
)
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_PRINTING = frozenset({"command", "pipeline", "redirected_statement", "list"})


def _around(node: Node) -> tuple[str, str]:
    """What stands before and behind a substitution in its word, without quotes."""
    word = node
    while word.parent is not None and word.parent.type in {"string", "concatenation"}:
        word = word.parent
    text, at = word.text or b"", word.start_byte
    parts = text[: node.start_byte - at], text[node.end_byte - at :]
    before, after = (one.decode().replace('"', "").replace("'", "") for one in parts)
    return before, after


def stands_alone(node: Node) -> bool:
    """Whether a folder that a variable names begins a path, and what follows is below it: `$PWD-old` and `..$HOME` are elsewhere."""
    return _is_alone(*_around(node))


def _is_alone(before: str, after: str) -> bool:
    return _BEGINS.fits(before) and _FOLLOWS.fits(after)


_BEGINS = Pattern(r"(?:.*[=:,;\s(]|-[A-Za-z])?", DOTALL)
_FOLLOWS = Pattern(r"(?:[/:,;\s)].*)?", DOTALL)
_REF = r"[A-Za-z0-9_@][\w./@^~{}-]*"
_REVISION = Pattern(
    rf"git rev-parse (?:(?:--verify|--short(?:=\d+)?) {_REF}|(?:HEAD|@)[\d~^@{{}}]*)|git merge-base {_REF} {_REF}"
)
_BRANCH = Pattern(
    rf"git rev-parse --abbrev-ref (?:--symbolic-full-name )?(?:HEAD|@(?:\{{u(?:pstream)?\}})?)|git branch --show-current|"
    rf"git describe(?: --(?:tags|always|long|all|exact-match|dirty|abbrev=\d+))*(?: {_REF})?"
)
_GIT_FOLDERS = {"git rev-parse --show-toplevel": b".", "git rev-parse --git-dir": b".git"}
_PLACED = Pattern(r"(?:.*[^\w])?/.*|.*~.*|.*\.\..*", DOTALL)
"""The beginning of a word that is a place, or climbs; `origin/` is none."""
