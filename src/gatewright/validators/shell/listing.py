"""Finds whose file names a shell command hands to another (`find … | xargs`, `$(git ls-files)`); None where it prints anything else.

What is listed lies below folders that the listing names; what prints anything but names of files lists what nobody has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.shell.effects import NUMBERS, Effect, Listed
from gatewright.validators.shell.found import chooses
from gatewright.validators.shell.names import program_name
from gatewright.validators.shell.places import Path, chooses_secrets
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_syntax import Word

__all__ = ["listing"]

_ROOTS = frozenset({"lists", "reads", "reads_below", "repository"})
_SEEKING = frozenset("grep egrep fgrep zgrep rg ag ack fd fdfind".split())
_TOLD = Pattern(
    r"(?:^|.*\W)(?:\.?env|shadow|passwd|id_\w+|pem|key|p12|token|secrets?|credentials?|netrc|pgpass|ssh|aws|gnupg|npmrc|kube|history)(?:\W.*)?",
    IGNORECASE,
)
"""A pattern that chooses secrets among names."""
_WILD = Pattern(r"[*?\[]")
_LETTERS = Pattern(r"\[[^\]]*\]|[*?./]")


def listing(commands: Sequence[Command], effects: Sequence[Sequence[Effect]], folder: Path) -> tuple[Listed, ...] | None:  # fmt: skip
    """Where the names come from that these commands print; None where they print anything else, or choose secrets."""
    words = [one.words for one in commands if one.words]
    if len(words) == 1 and not words[0][0].bare:
        return tuple(Listed(folder, word=one) for one in words[0][1:])
    if len(words) == 1 and _lists_processes(words[0]):
        return (Listed(NUMBERS),)
    if words and program_name(words[0][0].text) in _ANYWHERE:
        return None
    if not words or len(words) != len(commands) or not _lists_names(words):
        return None
    for filtering in words[1:]:
        texts = [one.text for one in filtering[1:]]
        inverted = any(one[:1] == "-" and one[1:2] != "-" and "v" in one for one in texts)
        if not inverted and any(map(_TOLD.fits, texts)):
            return None
    name, texts = program_name(words[0][0].text), [one.text for one in words[0][1:]]
    if name == "find" and any(map(chooses_secrets, texts)):
        return None
    roots = [one.path for one in effects[0] if one.kind in _ROOTS and one.path is not None and one.of != "redirection"]  # fmt: skip
    chosen = _chosen(name, texts) or (len(words) > 1 and any(program_name(one[0].text) in _SEEKING for one in words[1:]))  # fmt: skip
    dashed = name == "ls"
    return tuple(_listed(one, chosen=chosen)._replace(dashed=dashed) for one in roots or [folder])


_ANYWHERE = frozenset({"locate", "plocate", "mlocate", "which", "type", "whereis"})
"""These list what lies anywhere on the host."""
_TERSE = Pattern(r"-[A-Za-z0-9]*t.*")


def _lists_processes(words: Sequence[Word]) -> bool:
    name = program_name(words[0].text)
    return name in {"pgrep", "pidof"} or (name == "lsof" and any(_TERSE.fits(one.text) for one in words[1:]))  # fmt: skip


def _chosen(name: str, texts: Sequence[str]) -> bool:
    if name in {"find", "gfind", "bfs"}:
        return chooses(texts)
    if name == "git":
        return any(one not in _ALL_OF_GIT for one in texts[1:])
    if name in {"fd", "fdfind"}:
        return any(_LETTERS.sub("", one) for one in texts if one[:1] != "-") or "-e" in texts
    if name in {"rg", "ag", "ack"} and "--files" in texts:
        return any(one.startswith(_CHOOSING) for one in texts)
    return name in _SEEKING


_ALL_OF_GIT = frozenset({"-z", "-c", "-t", "--cached", "--full-name", "--", "."})
"""Options of `git ls-files` that leave nothing out."""
_CHOOSING = ("-g", "--glob", "--iglob", "-t", "--type")


def _listed(path: Path, *, chosen: bool) -> Listed:
    """The folder of a path with jokers, whose letters choose."""
    at = next((at for at, one in enumerate(path.parts) if _WILD.within(one)), None)
    if not path.wild or at is None:
        return Listed(path, chosen)
    letters = any(_LETTERS.sub("", one) for one in path.parts[at:])
    return Listed(path._replace(parts=path.parts[:at], wild=False), chosen or letters)


_FORMATS = Pattern(r"(?i).*(?:printf|-form|-pretty|-template).*")
"""Options that write what they are told."""
_LISTING = frozenset({"find", "fd", "ls", "locate", "plocate"})
_FILTERS = frozenset({"sort", "uniq", "head", "tail", "grep", "egrep", "fgrep"})
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "zgrep"})
_NAMES_ONLY = Pattern(r"-[A-Za-z]*[lL][A-Za-z]*|--files(?:-with(?:out)?-match(?:es)?)?")
_PARTS = Pattern(r"-[A-Za-z]*[orhI].*|--(?:only|repl|no-f|lab).*")
"""Of a line, which may be put together anew, or more than names."""
_GIT_LISTING = (["ls-files"], ["grep", "-l"], ["diff", "--name-only"])


def _lists_names(commands: Sequence[Sequence[Word]]) -> bool:
    """Whether what these print are names of files that a folder holds, and nothing that the line itself says."""
    first, *others = ([program_name(one[0].text), *(word.text for word in one[1:])] for one in commands)  # fmt: skip
    if any(_FORMATS.fits(text) for one in (first, *others) for text in one[1:]):
        return False
    filtered = all(
        one[0] in _FILTERS
        and not (one[0] in _SEARCHING and any(map(_PARTS.fits, one[1:])))
        and (one[0] in _SEARCHING or not _operands(one))
        for one in others
    )
    return filtered and _lists_alone(first)


def _operands(words: Sequence[str]) -> list[str]:
    return [one for one in words[1:] if not one.startswith("-") and not one.isdigit()]


def _lists_alone(words: Sequence[str]) -> bool:
    if words[0] == "git":
        return any(words[1 : 1 + len(one)] == one for one in _GIT_LISTING)
    if words[0] in _SEARCHING:
        return any(map(_NAMES_ONLY.fits, words[1:]))
    return words[0] in _LISTING
