"""A second reading of shell commands by the table of programs, written for itself: slow, plain, and without the modules that judge lines.

It says of a command, word for word, what it does. What words mean to a policy stands here by hand (`WORDS`): only these words, options and
names of programs may be in a command. Programs with a reader of their own in Python are not read here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import NamedTuple

from tests.shell_table import Option, Program, dealt, parents, split_tail

__all__ = ["WORDS", "WORKSPACE", "Effect", "No", "Reading", "Unread", "resolved"]


class Unread(Exception):  # noqa: N818 - it says that nothing is said
    """This reading says nothing of a command."""


class No(Exception):  # noqa: N818 - a verdict
    """The command is refused."""


WORKSPACE, HOME = "/w/ws", "/h/me"
WORDS: Mapping[str, str] = {
    "x": "", "a.txt": "file", "src": "", "src/a.py": "file", ".": "", "sub/b": "file", "1": "", "5": "", "k=v": "", "deploy": "publishes",
    "k=../v": "leads", "-": "", "--": "",
    ".env": "secret", "~/.ssh/id_rsa": "secret leads", "/etc/shadow": "secret leads", ".git/config": "kept", ".bashrc": "kept",
    "../x": "leads", "/srv/x": "leads", "/etc/hosts": "leads", "/tmp/x": "leads", "/usr/share/x": "system", "~/n": "leads",
    "~": "below", "/home/o/n": "leads others", "https://x.example/": "url", "@x": "at", "HEAD:a": "colon", "x.example": "file",
    "!x": "odd", "./a": "",
}  # fmt: skip
"""Word → what it is: a secret, something kept from being written, an address, or a way that leads out."""
_FILES = ("reads", "writes", "deletes", "lists")
_ALWAYS = frozenset(
    "network environment endless secrets sends settings code publishes runs project writes_here unpacks fetches package acts".split()
)
_NOTHING = Program([""], {}, set(), "", "", False, False)
Given = list[tuple[str, Option, str | None]]
"""Options with their values."""


class Effect(NamedTuple):
    """One thing that a command does."""

    kind: str
    word: str
    folder: str
    by: str
    of: str


class _Words:
    """The words of a command, taken one by one."""

    def __init__(self, program: Program, above: Program | None, words: list[str]) -> None:
        more = {} if above is None else {name: one for name, one in above.options.items() if name[-1] != "!"}  # fmt: skip
        self.known = {**more, **program.options}
        self.words, self.at = words, 0
        self.options: Given = []
        self.operands: list[str] = []

    def take(self, most: int | None) -> None:
        """Read until so many operands are there."""
        while self.at < len(self.words) and (most is None or len(self.operands) < most):
            word = self._next()
            if word == "--":
                left = self.words[self.at :] if most is None else self.words[self.at : self.at + most - len(self.operands)]  # fmt: skip
                self.operands += left
                self.at += len(left)
                return
            if word == "-" or word[0] != "-":
                self.operands.append(word)
            else:
                self._option(word)

    def _next(self) -> str:
        if self.at == len(self.words):
            raise No
        self.at += 1
        return self.words[self.at - 1]

    def _option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        key = name if word.startswith("--") else f"{name}!"
        option = self.known.get(key)
        if option is None or (equals and option.takes == ""):
            if word.startswith("--"):
                raise No
            self._cluster(word[1:])
        elif equals:
            self.options.append((name, option, value))
        else:
            self.options.append((name, option, self._next() if option.takes == "=" else None))

    def _cluster(self, letters: str) -> None:
        while letters:
            name, letters = f"-{letters[0]}", letters[1:]
            if name not in self.known:
                raise No
            option = self.known[name]
            if option.takes == "=":
                self.options.append((name, option, letters or self._next()))
                return
            if option.takes == "?":
                self.options.append((name, option, letters or None))
                return
            self.options.append((name, option, None))


class Reading:
    """One command, read into effects."""

    def __init__(self, known: Mapping[str, Program]) -> None:
        self._known, self._parents = known, parents(tuple(known))
        self.effects: list[Effect] = []
        self._folder = WORKSPACE
        self.bounded = False

    def read(self, words: list[str]) -> None:
        """Down to the subcommand, then its options and operands. Raises `No` or `Unread`."""
        name, words = words[0], words[1:]
        if "/" in name:
            raise Unread
        above: Program | None = None
        resting: tuple[str, list[str], str] | None = None
        while name in self._parents:
            program = self._known.get(name)
            if program is not None and (program.bare or split_tail(program.operands)[1]):
                resting = name, words, self._folder
            step = self._below(name, program or _NOTHING, above, words)
            if step is None:
                return self._rest(name, above, words, resting)
            following, taken, words = step
            self._options(taken.options, set(), name)
            above = None if following.startswith("git ") else program or _NOTHING
            name = following
        if name in self._known:
            return self._run(name, self._known[name], above, words)
        return self._rested(resting)

    def _rest(self, name: str, above: Program | None, words: list[str], resting: tuple[str, list[str], str] | None) -> None:  # fmt: skip
        """Where no subcommand follows."""
        program = self._known.get(name)
        if program is None:
            return self._rested(resting)
        taken = _Words(program, above, words)
        if resting is None:
            taken.take(1)
        if taken.operands:
            raise No
        return self._run(name, program, above, words)

    def _rested(self, resting: tuple[str, list[str], str] | None) -> None:
        if resting is None:
            raise No
        name, words, self._folder = resting
        self._run(name, self._known[name], None, words)

    def _below(self, name: str, own: Program, above: Program | None, words: list[str]) -> tuple[str, _Words, list[str]] | None:  # fmt: skip
        names = [name] if " " in name or not own.names[0] else [name, own.names[0]]
        for at, word in enumerate(words[:12]):
            for full in (f"{one} {word}" for one in names):
                if full in self._known or full in self._parents:
                    taken = _Words(own, above, words[:at])
                    taken.take(None)
                    if not taken.operands and taken.at == at:
                        return full, taken, words[at + 1 :]
            if word[0] != "-" and at and words[at - 1][0] != "-":
                break
        return None

    def _run(self, name: str, program: Program, above: Program | None, words: list[str]) -> None:
        if program.own:
            raise Unread
        if _is_asked(program, words):
            return
        slots, tail, dashed = split_tail(program.operands)
        taken, rest = self._taken(program, above, words)
        said = [one.instead for _, one, _ in taken.options if one.instead is not None]
        if said:
            slots, another, _ = split_tail(next(filter(_changes, said), said[0]))
            if tail and not dashed and not another:
                taken, rest = _Words(program, above, words), []
                taken.take(None)
            tail = another or (tail if dashed else "")
        does = set(program.effects)
        self._options(taken.options, does, name)
        self._operands(name, slots, taken.operands, does)
        self._always(name, program, alone=not taken.operands and not taken.options)
        self._further(name, tail, taken.operands, rest)

    def _taken(self, program: Program, above: Program | None, words: list[str]) -> tuple[_Words, list[str]]:  # fmt: skip
        """Options and operands, and what belongs to another program."""
        slots, tail, dashed = split_tail(program.operands)
        if not tail:
            taken = _Words(program, above, words)
            taken.take(None)
            return taken, []
        if dashed:
            cut = words.index("--") if "--" in words else len(words)
            taken = _Words(program, above, words[:cut])
            taken.take(None)
            return taken, words[cut + 1 :]
        if tail == "rest" and not slots and all(one[-1] == "!" for one in program.options):
            return _Words(program, above, []), words
        taken = _Words(program, above, words)
        taken.take(max(len(slots), 1))
        if not slots and taken.operands:
            taken.operands = []
            return taken, words[taken.at - 1 :]
        return taken, words[taken.at :]

    def _always(self, name: str, program: Program, *, alone: bool) -> None:
        for kind in sorted(program.effects & _ALWAYS):
            self._add(kind, "", "", name)
        if name.startswith("git "):
            self._add("repository", ".", "", name)
        if program.stdin == "runs" and alone:
            self._add("code", "", "", name)

    def _further(self, name: str, tail: str, operands: list[str], rest: list[str]) -> None:
        if tail == "command" and rest:
            short = name in {"timeout", "gtimeout"} and all(one in {"1", "5"} for one in operands)
            self.bounded = self.bounded or short
            self.read(rest)
        elif tail == "again":
            self.read([name.split(" ", maxsplit=1)[0], *rest])
        else:
            for word in rest:
                self._add("argument", word, "operand", name)

    def _options(self, options: Given, does: set[str], of: str) -> None:
        for name, option, value in options:
            if option.kind == "folders" and value is not None:
                self._add("enters", value, name, of)
                self._folder = resolved(value, self._folder)
        for name, option, value in options:
            does |= option.does
            for kind in sorted(option.does & _ALWAYS):
                self._add(kind, value or "", name, of)
            if value is not None:
                self._value(name, option.kind, value, of)
            elif option.takes == "?" and option.kind in _OF_NONE:
                self._add(_OF_NONE[option.kind], "", name, of)

    def _value(self, name: str, kind: str, value: str, of: str) -> None:
        if name in {"--include", "--glob", "--iglob", "-g"} and kind in {"text", "reads"}:
            if value[:1] != "!":
                self._add("names", value, name, of)
        elif kind != "folders":
            self._add({"hosts": "host", "text": "value"}.get(kind, kind), value, name, of)

    def _operands(self, name: str, slots: list[str], operands: list[str], does: set[str]) -> None:
        kinds = list(dealt(slots, len(operands)))
        if len(kinds) < len(operands):
            raise No
        for kind, word in zip(kinds, operands, strict=False):
            if kind in _FILES:
                self._file(name, kind, word, does)
            elif kind == "script":
                self._add("code" if word[0] in "-+" else "run", word, "operand", name)
            elif kind != "pattern":
                self._add({"url": "host", "folder": "enters"}.get(kind, kind), word, "operand", name)  # fmt: skip
        paths = [one for one in slots if one.rstrip("?*+") in _FILES]
        if paths and not set(kinds[: len(operands)]) & set(_FILES):
            self._unnamed(name, paths[0], does, named=bool(operands))

    def _file(self, name: str, kind: str, word: str, does: set[str]) -> None:
        done = "deletes" if "deletes" in does and kind != "writes" else kind
        self._add(_below_of(done, does), word, "operand", name)
        if "changes" in does and done not in {"writes", "deletes"}:
            self._add("writes", word, "operand", name)

    def _unnamed(self, name: str, slot: str, does: set[str], *, named: bool) -> None:
        """The folder, where no file is named."""
        kind, below = slot.rstrip("?*+"), "recursive" in does
        if below:
            kind = "deletes" if "deletes" in does else _below_of(kind, does)
        elif named or not (kind == "lists" or (kind == "deletes" and slot[-1] not in "?*")):
            return
        self._add(kind, ".", "operand", name)
        if "changes" in does:
            self._add("writes_here", "", "operand", name)

    def _add(self, kind: str, word: str, by: str, of: str) -> None:
        self.effects.append(Effect(kind, word, self._folder, by, of))


_OF_NONE = {"runs": "runs", "writes": "writes_here", "hosts": "network"}


def _is_asked(program: Program, words: list[str]) -> bool:
    """Whether nothing is asked but the version, or how it is used."""
    if len(words) != 1 or words[0] not in {"--version", "--help", "-V", "-v", "-h"}:
        return False
    asked = program.options.get(words[0])
    return asked is not None and (words[0][1] == "-" or asked.instead == "")


def _changes(operands: str) -> bool:
    return any(one.rstrip("?*+") in {"writes", "deletes", "script", "code"} for one in operands.split())  # fmt: skip


def _below_of(kind: str, does: set[str]) -> str:
    return f"{kind}_below" if "recursive" in does and kind in {"reads", "lists"} else kind


def resolved(word: str, folder: str) -> str:
    """The path that a word means in a folder."""
    if word[0] == "~":
        return posixpath.normpath(HOME + word[1:])
    return posixpath.normpath(posixpath.join(folder, word))
