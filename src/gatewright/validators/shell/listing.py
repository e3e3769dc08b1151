"""`listing`: what a command's output names to another (`find … | xargs`, `$(pgrep x)`): files below folders, words or numbers; else None.

What is listed lies below folders that the listing names; what prints anything but names of files lists what nobody has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.shell.effects import NUMBERS, Effect, Listed
from gatewright.validators.shell.find_expression import chooses
from gatewright.validators.shell.names import program_name
from gatewright.validators.shell.places import Path, chooses_secrets
from gatewright.validators.shell.table import table
from gatewright.validators.shell.words import given
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_files import SHELL_WORDS
from gatewright.validators.shell_globs import letters_of
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


def listing(commands: Sequence[Command], effects: Sequence[Sequence[Effect]], folder: Path) -> tuple[Listed, ...] | None:  # fmt: skip
    """Where the names come from that these commands print; None where they print anything else, or choose secrets."""
    words = [one.words for one in commands if one.words]
    if not words or len(words) != len(commands):
        return None
    if len(words) == 1 and not words[0][0].bare:
        return tuple(Listed(folder, word=one) for one in words[0][1:])
    if _counts(words[-1]):
        return (Listed(NUMBERS),)
    if len(words) == 1 and (_lists_processes(words[0]) or _lists_containers(words[0])):
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


_BY_NUMBER = {name: frozenset(said) for name, said in SHELL_WORDS["listing_processes"].items()}
"""With which options these print nothing but numbers, a white space between them. What others print, or put between, a shell could evaluate."""


def _lists_processes(words: Sequence[Word]) -> bool:
    name = program_name(words[0].text)
    if name not in _BY_NUMBER:
        return False
    options = _options(name, words[1:])
    return options <= _BY_NUMBER[name] and (name != "lsof" or "-t" in options)


_COUNTING = frozenset({"-l", "-c", "-m", "-w", "--lines", "--bytes", "--chars", "--words"})


def _counts(words: Sequence[Word]) -> bool:
    """Whether a command prints one number: how much comes in, or how many processes there are."""
    if program_name(words[0].text) == "pgrep":
        options = _options("pgrep", words[1:])
        return not options.isdisjoint({"-c", "--count"}) and options <= _BY_NUMBER["pgrep"] | {"-c", "--count"}  # fmt: skip
    return program_name(words[0].text) == "wc" and len(words) == 2 and words[1].text in _COUNTING


_CONTAINERS = frozenset(SHELL_WORDS["listing_containers"])
_BY_ID = frozenset(SHELL_WORDS["listing_containers_options"])


def _lists_containers(words: Sequence[Word]) -> bool:
    """Whether a command prints what containers or images are called by their numbers."""
    texts = [program_name(words[0].text), *(one.text for one in words[1:3])]
    name = next((one for one in (" ".join(texts[:3]), " ".join(texts[:2])) if one in _CONTAINERS), "")  # fmt: skip
    options = _options(name, words[len(name.split()) :]) if name else frozenset()
    return not options.isdisjoint({"-q", "--quiet"}) and options <= _BY_ID


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
    """With which options a program prints nothing but names of files: one of those that it `needs`, and no others than those that it `takes`."""

    needs: frozenset[str]
    takes: frozenset[str]


def _prints(needs: str, takes: str) -> _Prints:
    return _Prints(frozenset(needs.split()), frozenset((needs + " " + takes).split()))


_SEARCHED = """
    -r -R -i -w -x -E -F -P -G -s -e -n -H -I -a -t -T -g -u -S -d -m -Z -z -0 -. -v -f --recursive --dereference-recursive --ignore-case --smart-case
    --word-regexp --line-regexp --extended-regexp --fixed-strings --perl-regexp --basic-regexp --regexp --file --include --exclude --exclude-dir
    --exclude-from --glob --iglob --type --type-not --type-add --hidden --no-ignore --no-ignore-vcs --no-messages --follow --max-depth --max-count
    --cached --untracked --null --invert-match --text --sort --sortr --sort-files --no-heading
"""
_GREP = _prints("-l -L --files-with-matches --files-without-match --files-without-matches --name-only", _SEARCHED)  # fmt: skip
_FD = _prints("", """
    -H -I -s -i -g -a -F -L -p -0 -u -t -e -E -d -S --hidden --no-ignore --no-ignore-vcs --case-sensitive --ignore-case --glob --regex --fixed-strings
    --absolute-path --follow --full-path --type --extension --exclude --max-depth --min-depth --exact-depth --size --changed-within --changed-before
    --max-results --print0 --one-file-system --prune --and --unrestricted --base-directory --search-path
""")  # fmt: skip
_LISTING: Mapping[str, _Prints] = {
    "ls": _prints(
        "",
        "-1 -A -c -d -p -r -R -S -t -u -U -v -X --almost-all --directory --recursive --reverse --sort",
    ),
    **dict.fromkeys(("fd", "fdfind"), _FD),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "git grep"), _GREP),
    "rg": _prints(" ".join((*_GREP.needs, "--files")), _SEARCHED),
    "git ls-files": _prints(
        "",
        """
        -z -c -m -o -d -i -u -x -X --cached --modified --others --deleted --ignored --unmerged --exclude --exclude-from --exclude-standard --directory
        --no-empty-directory --full-name --error-unmatch --recurse-submodules --deduplicate
    """,
    ),
    "git diff": _prints(
        "--name-only", "-z --cached --staged --diff-filter --no-renames --merge-base"
    ),
}
_TELLING = frozenset("-printf -fprintf -ls -fls -exec -execdir -ok -okdir".split())
"""Tests of `find` that print something else."""
_ENDS = frozenset({"-n", "-q", "--lines", "--quiet", *(f"-{one}" for one in range(10))})
_FINDS = frozenset(
    "-i -v -E -F -P -G -w -x -e -a -m -q --ignore-case --invert-match --extended-regexp --fixed-strings --perl-regexp --regexp --word-regexp "
    "--line-regexp --max-count --text".split()
)
_FILTERS: Mapping[str, frozenset[str] | None] = {
    **dict.fromkeys(("sort", "uniq")),
    **dict.fromkeys(("head", "tail"), _ENDS),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _FINDS),
}
"""What leaves lines out, or changes their order, and with which of its options: none puts something between them, or cuts them."""
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
    return all(map(_leaves_out, others)) and _lists_alone(first)


def _leaves_out(words: Sequence[Word]) -> bool:
    name = program_name(words[0].text)
    takes = _FILTERS.get(name, frozenset())
    return takes is None or (name in _FILTERS and _options(name, words[1:]) <= takes)


def _lists_alone(words: Sequence[Word]) -> bool:
    name, texts = program_name(words[0].text), [one.text for one in words[1:]]
    if name == "find":
        return _TELLING.isdisjoint(texts)
    if name == "git":
        name = " ".join(("git", *texts[:1]))
    row = _LISTING.get(name)
    if row is None:
        return False
    options = _options(name, words[len(name.split()) :])
    return options <= row.takes and (not row.needs or not options.isdisjoint(row.needs))


def _options(name: str, words: Sequence[Word]) -> frozenset[str]:
    """The names of the options of a command that has been read before."""
    entry = table().entries[name]
    return frozenset(one.name for one in given(entry, words)[0].options)
