"""Rules for pipelines that end in `xargs`: what is written into it becomes arguments, so it is judged as names of files, not as text.

`host_file` is about names that stand on the line. Behind a pipe into `xargs` that would not hold for a program that only
prints (`echo`), and not at all for one that makes a name out of pieces (`printf '/etc/sha%s' dow`). So a program that reads files
gets its arguments from what lists them, possibly through what leaves lines out. Which names a folder holds is not on the line.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.patterns import Pattern
from gatewright.validators.shell_files import holds_sensitive_files, names_sensitive_file
from gatewright.validators.shell_programs import PROGRAMS, program_name
from gatewright.validators.shell_syntax import Word

__all__ = ["lists_names", "pipe_rule"]

_FORMATS = Pattern(r"(?i).*(?:printf|-form|-pretty|-template).*")
"""Options that write what they are told."""
_LISTING = frozenset({"find", "fd", "ls", "locate", "plocate"})
_FILTERS = frozenset({"sort", "uniq", "head", "tail", "grep", "egrep", "fgrep"})
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "zgrep"})
_NAMES_ONLY = Pattern(r"-[A-Za-z]*[lL][A-Za-z]*|--files(?:-with(?:out)?-match(?:es)?)?")
_PARTS = Pattern(r"-[A-Za-z]*[orhI].*|--(?:only|repl|no-f|lab).*")
"""Of a line, which may be put together anew, or more than names."""
_GIT_LISTING = (["ls-files"], ["grep", "-l"], ["diff", "--name-only"])


def pipe_rule(commands: Sequence[Sequence[Word]]) -> str | None:
    """What speaks against commands that are joined by pipes: a rule's name, or None."""
    looked = 0
    for at, command in enumerate(commands):
        if not _feeds(command):
            continue
        if not at:
            if _takes_names(command):
                return "unknown_arguments"
            continue
        # What stands before the last of them was looked at for that.
        fresh, looked = commands[looked:at], at
        if any(names_sensitive_file(word._replace(glob=True)) for one in fresh for word in one[1:]):
            return "host_file"
        rule = _fed_rule(commands[:at], command)
        if rule:
            return rule
    return None


def _fed_rule(before: Sequence[Sequence[Word]], command: Sequence[Word]) -> str | None:
    """What speaks against what one command gets as arguments from those before it, which name no sensitive file."""
    if _is_text(command):
        return None
    if not lists_names(before):
        return "unknown_arguments"
    # What lists the host's own files hands them to whoever reads.
    held = any(holds_sensitive_files(word.text) for word in before[0][1:])
    return "host_file" if held else None


def _feeds(command: Sequence[Word]) -> bool:
    """Whether `xargs` is in it, also behind `time` and the like."""
    return _takes_names(command) or any(program_name(word.text) == "xargs" for word in command)


def _takes_names(command: Sequence[Word]) -> bool:
    """Whether a program reads names of files from its input by an option, which is `xargs` without its name."""
    return any(word.text.startswith("--files0-from") for word in command[1:])


def _is_text(command: Sequence[Word]) -> bool:
    """Whether what `xargs` runs takes no files: `echo`, which it is without a program, too."""
    texts = [program_name(word.text) for word in command]
    if "xargs" not in texts:
        return False
    behind = texts[texts.index("xargs") + 1 :]
    run = [one for one in behind if one in PROGRAMS]
    # A program that is not in the table may take files; without any `xargs` runs `echo`.
    if not run and any(one[:1].isalpha() for one in behind):
        return False
    return all(PROGRAMS[one].textual or one in {"basename", "dirname"} for one in run)


def lists_names(commands: Sequence[Sequence[Word]]) -> bool:
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
