"""Judges a whole shell line part by part for the presets `inspect` and `develop` of `sandbox`: commands, folders, variables, redirections.

A line passes where each of its commands does. `inspect` reads and writes nothing; `develop` is what coding agents do all day, inside their
workspace. What a capability allows besides (`network`, `environment`, `endless`) is said by the operator.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_capabilities import needs
from gatewright.validators.shell_clients import sends_input
from gatewright.validators.shell_develop import develop_rule, unwrapped_git, unwrapped_words
from gatewright.validators.shell_files import (
    begins_with_pattern,
    holds_sensitive_files,
    names_sensitive_file,
)
from gatewright.validators.shell_found import DELETING, lists_all, lists_elsewhere
from gatewright.validators.shell_lists import Command, Redirection, Step
from gatewright.validators.shell_made import note_made
from gatewright.validators.shell_pipes import lists_names, pipe_rule
from gatewright.validators.shell_programs import program_name, program_rule, starts_too_many
from gatewright.validators.shell_syntax import Word
from gatewright.validators.shell_workspace import is_started

__all__ = ["steps_rule"]

_MOST_FOLDERS = 8
_NOWHERE = frozenset({"/dev/null"})
_STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})
_DESCRIPTOR = Pattern(r"\d?-?")
_OUTSIDE = Pattern(r"[/~-].*|(?:.*/)?\.\.(?:/.*)?|[A-Za-z]:.*", DOTALL)
_TEMPORARY = Pattern(r"/tmp/[\w][\w./-]*")  # noqa: S108 - a place that others may write, not one of ours
_VARIABLE = Pattern(
    r"(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|TERM|POSIXLY_CORRECT|CI|DEBUG|VERBOSE|PORT|HOST|"
    r"NODE_ENV|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8|PYTHONIOENCODING|RUST_LOG|RUST_BACKTRACE|CGO_ENABLED|GOOS|GOARCH|"
    r"GO111MODULE|DEBIAN_FRONTEND|DJANGO_SETTINGS_MODULE|FLASK_APP|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|HUSKY|DOCKER_BUILDKIT|"
    r"CMAKE_BUILD_TYPE|(?:[A-Z][A-Z0-9]*_)*(?:ENV|LEVEL|DEBUG|TEST|TESTS|SEED|TIMEOUT|MODE|VERBOSE|WORKERS|THREADS|COUNT|SKIP)|"
    r"(?:TEST|SKIP|VITE|NEXT_PUBLIC|REACT_APP|JEST)_[A-Z0-9_]+)=.*",
    DOTALL,
)
_VALUED = Pattern(
    r"(?:CC|CXX|LD|AR)=(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|lld|ar|llvm-ar|ccache)(?:-\d+)?|RUSTFLAGS=-[DWA] ?\w[\w-]*(?: -[DWA] ?\w[\w-]*)*|"
    r"(?:C|CXX|CPP|LD)FLAGS=(?:-[OgWDI][\w=.+-]*(?: -[OgWDI][\w=.+-]*)*)?|NODE_OPTIONS=(?:--max-old-space-size=\d+|--no-warnings|--trace-warnings|"
    r"--experimental-vm-modules|--enable-source-maps|[ ])+|(?:GIT_)?(?:EDITOR|SEQUENCE_EDITOR|PAGER)=(?:true|:|cat)|GOFLAGS=(?:-mod=\w+|-v|[ ])*|"
    r"GIT_TERMINAL_PROMPT=[01]|PIP_[A-Z_]*=(?:[01]|true|false)|npm_config_(?:yes|loglevel)=\w+"
)
_INSIDE = Pattern(r"[\w.][\w./-]*")
_LOADED = Pattern(r"(?:[A-Z0-9]+_)*?(?:BASH|KSH|ZSH|SH|VIRTUAL)_ENV|ENV|(?:LD|DYLD)_.*")
"""Names of what a shell, a loader or an interpreter runs, of which some end like names of settings."""

Judge = Callable[[list[Word]], str | None]
"""What speaks against the words of one command."""


def steps_rule(
    steps: Sequence[Step], judge: Judge, granted: frozenset[str], *, writes: bool
) -> str | None:
    """What speaks against a line: a rule's name, or None. `judge` speaks of one command; `granted` are the capabilities."""
    line = _Line(judge, granted, writes=writes)
    if writes:
        line.listed += [_texts(step.commands[0]) for step in steps if step.lists and step.commands]
    return next(filter(None, map(line.step_rule, steps)), None)


class _Line:
    """What is known of a line up to a command: where it has gone, and which files it has made."""

    def __init__(self, judge: Judge, granted: frozenset[str], *, writes: bool) -> None:
        self._judge, self._granted, self._writes = judge, granted, writes
        self._folders: list[str] = []
        self._made: set[str] = set()
        self.listed: list[list[str]] = []
        """The programs whose output stands among the arguments of others."""

    def step_rule(self, step: Step) -> str | None:
        """What speaks against the next pipeline."""
        for command in step.commands:
            rule = self._command_rule(command)
            if rule is not None:
                return rule
        if self._writes and any(
            _is_fed_code(one, piped=at > 0) for at, one in enumerate(step.commands)
        ):
            return "inline_code"
        commands = [one.words for one in step.commands if one.words]
        if step.lists and not (commands and lists_names(commands)):
            return "command_substitution"
        if step.lists and any(holds_sensitive_files(one.text) for one in commands[0][1:]):
            return "host_file"
        rule = (pipe_rule(commands) if commands else None) or self._fed_rule(commands)
        self._folders += _gone_to(step, self._folders)
        return rule if len(self._folders) <= _MOST_FOLDERS else "too_long"

    def _fed_rule(self, commands: list[list[Word]]) -> str | None:
        """What speaks against changing or deleting what is listed before a pipe."""
        for at, words in enumerate(commands):
            if self._writes and any(program_name(one.text) == "xargs" for one in words):
                rule = _changed_rule(
                    words, [[one.text for one in before] for before in commands[:at]]
                )
                if rule is not None:
                    return rule
        return None

    def _command_rule(self, command: Command) -> str | None:
        if not all(_is_harmless(one, writes=self._writes) for one in command.variables):
            return "assignment"
        if _takes_unseen(command):
            return "unknown_arguments"
        rule = self._redirections_rule(command)
        rule = rule or (self._words_rule(command.words) if command.words else None)
        for one in command.redirections:
            # A file that the line itself writes is code that nobody has seen as such.
            if one.sign in _WRITING and not _is_stream(one):
                note_made(self._made, one.target.text)
        return rule

    def _redirections_rule(self, command: Command) -> str | None:
        for one in command.redirections:
            rule = _redirection_rule(one, self._folders, writes=self._writes)
            if rule is not None:
                return rule
        return None

    def _words_rule(self, words: list[Word]) -> str | None:
        rule = self._preset_rule(words)
        if rule is not None:
            return rule
        missing = needs(unwrapped_words(words)) - self._granted
        if missing:
            return min(missing)
        secret = any(map(names_sensitive_file, _below(words[1:], self._folders)))
        return "host_file" if secret or _reads_below(words, self._folders) else None

    def _preset_rule(self, words: list[Word]) -> str | None:
        if starts_too_many(words):
            return "too_long"
        if _sets_git(words, writes=self._writes):
            return "option"
        if not self._writes:
            return self._judge(unwrapped_git(words))
        rule = develop_rule(words, self._judge, self._made)
        if rule is not None:
            return rule
        # What changes something by a name that is relative to a folder of the host.
        if any(one.text == "./found" for one in words):
            rule = _changed_rule(words, self.listed)
            if rule is not None:
                return rule
        started = any(is_started(one.text) for one in _below(words[1:], self._folders))
        elsewhere = any(_FOREIGN.fits(one) or is_started(one) for one in self._folders)
        outside = (started or elsewhere) and program_rule(unwrapped_words(words))
        return "outside" if outside else None


def _sets_git(words: Sequence[Word], *, writes: bool) -> bool:
    """Whether git gets a setting for its log that runs a program, or, where nothing is written, another folder with settings of its own."""
    texts = [word.text for word in words]
    if program_name(texts[0]) == "git" and texts[1:2] and not writes and "-C" in _before_subcommand(texts):  # fmt: skip
        return True
    settings = (text.lower() for before, text in pairwise(texts) if before == "-c")
    return any(one.startswith("log.") and not _LOG_SETTING.fits(one) for one in settings)


def _before_subcommand(texts: Sequence[str]) -> list[str]:
    """The options of git itself."""
    return list(takewhile(lambda one: one[:1] == "-" or "=" in one, texts[1:]))


_LOG_SETTING = Pattern(r"log\.(?:date|decorate|abbrevcommit|follow|graphcolors|mailmap|showroot|diffmerges)(?:=.*)?", DOTALL)  # fmt: skip
_FOREIGN = Pattern(
    r"/*|~[^/]*|-|(?:.*/)?\.\.(?:/.*)?|/(?:etc|usr|bin|sbin|lib|boot|dev|proc|sys|var|opt|root|home|Users|System|Library)(?:/[^/]*)?/*",
    DOTALL,
)
"""Where nothing is changed by names that are relative to it: the host's folders, homes, and whatever lies above."""


def _texts(command: Command) -> list[str]:
    return [one.text for one in command.words] or ["find"]


def _changed_rule(words: list[Word], listed: list[list[str]]) -> str | None:
    """What speaks against a program that gets the names which these list."""
    if program_rule(unwrapped_words(words)) is None:
        return None
    if any(map(lists_elsewhere, listed)):
        return "outside"
    deletes = any(program_name(one.text) in DELETING for one in words)
    return "recursive_delete" if deletes and any(map(lists_all, listed[:1])) else None


_TAKING = frozenset("sqlite3 mysql mariadb psql batch at ed ex vi vim lldb gdb".split())
"""What these read is commands, some of which run programs or delete."""


def _is_fed_code(command: Command, *, piped: bool) -> bool:
    """Whether a program gets its commands, or what it sends away, from its input."""
    if not command.words or not (piped or any("<" in one.sign for one in command.redirections)):
        return False
    words = unwrapped_words(command.words)
    name = program_name(words[0].text)
    return name in _TAKING or sends_input(name, [one.text for one in words[1:]])


def _takes_unseen(command: Command) -> bool:
    """Whether what becomes arguments stands in a file."""
    return any(one.sign == "<" for one in command.redirections) and any(
        program_name(word.text) == "xargs" for word in command.words
    )


def _is_harmless(variable: str, *, writes: bool) -> bool:
    """Whether no program takes code from what a variable says. A path for code may lead inside, where the workspace's own code runs anyway."""
    name, _, value = variable.partition("=")
    if name == "PYTHONPATH":
        inside = all(_INSIDE.fits(part) and ".." not in part for part in value.split(":"))
        return writes and inside
    if _LOADED.fits(name):
        return False
    return _VARIABLE.fits(variable) or _VALUED.fits(variable)


_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})


def _is_stream(one: Redirection) -> bool:
    """Whether a redirection leads to another stream, or nowhere."""
    target = one.target.text
    if one.sign in {">&", "<&"} and _DESCRIPTOR.fits(target):
        return True
    return target in _NOWHERE or (one.sign[-1] != "<" and target in _STREAMS)


def _redirection_rule(one: Redirection, folders: list[str], *, writes: bool) -> str | None:
    target = one.target.text
    if _is_stream(one):
        return None
    if names_sensitive_file(one.target) or any(map(names_sensitive_file, _below([one.target], folders))):  # fmt: skip
        return "host_file"
    if one.sign == "<":
        return None
    if not writes or one.sign not in _WRITING or one.target.glob:
        return "file_redirect"
    inside = not _OUTSIDE.fits(target) and not any(map(_OUTSIDE.fits, folders))
    inside = inside or (_TEMPORARY.fits(target) and ".." not in target)
    places = [target, *(one.text for one in _below([one.target], folders))]
    return None if inside and not any(map(is_started, places)) else "file_redirect"


def _below(words: Sequence[Word], folders: list[str]) -> Iterator[Word]:
    """Words, and the values of options, as they are meant after a `cd`."""
    for folder in folders:
        wild = any(sign in folder for sign in "*?[")
        for word in words:
            for text in _named_by(word.text):
                yield word._replace(text=f"{folder}/{text}", glob=word.glob or wild)


def _named_by(text: str) -> Iterator[str]:
    """What of a word may be a place that is relative to the folder."""
    named = [text] if text[:1] != "-" else [text[2:]] if text[1:2] != "-" else []
    yield from (one for one in (*named, text.partition("=")[2]) if one and one[0] not in "/~")


def _gone_to(step: Step, folders: list[str]) -> list[str]:
    """The folders in which what follows may run. Some shells run the last command of a pipeline themselves."""
    found = []
    for command in step.commands:
        texts = [word.text for word in command.words]
        while texts and (program_name(texts[0]) == "time" or texts[0] in {"-p", "--"}):
            del texts[0]
        if texts and program_name(texts[0]) in {"cd", "pushd"}:
            to = next((one for one in texts[1:] if not one.startswith("-")), "~")
            found += [to, *(posixpath.join(folder, to) for folder in folders)]
    return found


_READS_BELOW = frozenset({"rg", "ag", "ack", "zipgrep"})
_RECURSIVE = Pattern(r"-[A-Za-z]*[rRd].*|--[rd].*", DOTALL)
"""Also `-d recurse` of `grep`, however shortened."""
_SEEKING = frozenset(
    "grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep lzgrep zstdgrep diff gdiff colordiff ggrep".split()
)
_GIT_READS = frozenset({"diff", "grep"})
"""What reads files that are not in a repository, the first without being told to."""


def _reads_below(words: Sequence[Word], folders: list[str]) -> bool:
    """Whether a program reads everything below a folder that holds the host's secrets."""
    texts = [word.text for word in words]
    # Behind what starts another program as well.
    at = next((at for at, one in enumerate(texts) if program_name(one) in _READERS_BELOW), None)
    if at is None or (at and program_name(texts[0]) not in _STARTERS):
        return False
    name, rest = program_name(texts[at]), texts[at + 1 :]
    if name == "git":
        sub = next((one for one in rest if one in _GIT_READS), None)
        if sub is None:
            return False
        name, rest = sub, rest[rest.index(sub) + 1 :]
    elif name in _SEEKING and not any(map(_RECURSIVE.fits, rest)):
        return False
    operands = [one for one in rest if not one.startswith("-")]
    named = operands[begins_with_pattern(name, rest) :]
    named += [one.partition("=")[2] for one in rest if one.startswith("-") and "=" in one]
    roots = [*named, *(posixpath.join(folder, one) for folder in folders for one in (".", *named))]
    return any(map(holds_sensitive_files, roots))


_READERS_BELOW = _READS_BELOW | _SEEKING | {"git"}
_STARTERS = frozenset("time nice timeout env stdbuf xargs".split())
