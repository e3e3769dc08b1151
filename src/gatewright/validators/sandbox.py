"""Validator `sandbox` (MGP §4.5): judges shell command lines and values by mode allow-list, deny-list, strict, or preset `inspect`, `develop`.

Three modes. `allow-list` parses a line and accepts known programs in uses that only read; `deny-list`
parses it the same way and refuses the programs and options that are known for harm; `strict` needs no grammar
and refuses every metacharacter, as the specification says it literally. A pipe between commands passes where
`pipes` says so.

A call's arguments are judged where nobody said which of them are commands: what a command member holds is a
line (or, in a list, its words), and every other text is a value, which must not begin like an option and must
not contain anything that a shell could read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from gatewright.patterns import ASCII, Pattern
from gatewright.schemas.json_pointers import Place
from gatewright.schemas.objection import Objection
from gatewright.validators.command_members import are_texts, command_lines, folders_of
from gatewright.validators.options import read_options
from gatewright.validators.shell.line import Line
from gatewright.validators.shell.modes import Denying, denying_line
from gatewright.validators.shell.places import HERE, Path, workspace
from gatewright.validators.shell.reading import Reader
from gatewright.validators.shell.table import Table
from gatewright.validators.shell.watching import Seen, Watched
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_pipelines import Step, read_list
from gatewright.validators.shell_strict import SENTENCES, strict, text_rule
from gatewright.validators.shell_syntax import MAX_BYTES, Unacceptable, Word, is_plain, read
from gatewright.word_tables import tables

__all__ = ["Options", "Placed", "Sandbox", "Value", "prepare"]

Mode = Literal["allow-list", "deny-list", "strict"]
Allowed = Literal["inspect", "develop", "reads", "network", "environment", "endless"]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator may set for one tool."""

    mode: Mode = "allow-list"
    allow: tuple[Allowed, ...] = ()
    """What a line may do, in place of `mode` and `pipes`: a preset (`inspect`, `develop`) or single capabilities; each of its commands is
    judged by itself."""
    pipes: bool = False
    """Whether commands may be joined by a pipe."""
    programs: tuple[str, ...] = ()
    """Programs that are allowed besides the known ones, with any options."""
    value: bool = False
    """Whether what is judged is one value for a command line instead of a whole one."""


_NODES = "has {} where only a plain command is accepted; send one program with its arguments"
_SAY: Mapping[str, str] = tables(__file__, "sentences.toml")["sandbox"]


def prepare(options: Mapping[str, Any], tool: str = "") -> Sandbox:
    """The validator for one tool; its name does not matter here. Raises `BadOptions`."""
    del tool
    return Sandbox(read_options(Options, options))


class Sandbox:
    """Judges command lines (text), the words of one (list of texts), and values (`Value`)."""

    takes_words = True
    at_once = 512
    """Bytes judged on the event loop. The parser of shell grammar takes 4 ms for 1 KiB of `{$`, and 2 ms for half of that."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._writes = "develop" in options.allow
        self._mode: Mode = "allow-list" if options.allow else options.mode
        self._granted = _granted(options.allow)
        # The table is read here, and not in the middle of somebody's call.
        kinds: Mapping[str, type[Reader]] = {"allow-list": Reader, "deny-list": Denying}
        self._reader = kinds[self._mode](options.programs) if self._mode in kinds else Reader(known=Table({}, frozenset()))  # fmt: skip

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one value."""
        if self._mode == "strict":
            return strict(value)
        if self._options.value and isinstance(value, str):
            value = Value(value)
        if isinstance(value, Value):
            rule = _value_rule(value)
        elif isinstance(value, Placed):
            rule = self._rule(value.line, workspace(value.folder))
        else:
            rule = self._rule(value)
        return None if rule is None else Objection("", rule, _sentence(rule))

    def cost(self, value: Any) -> int:
        """Microseconds that judging a value takes: of a line that is parsed, six for each character, and more with a loop, or with patterns
        that are held against names in several folders."""
        if isinstance(value, Placed):
            return 20 + len(value.folder) // 4 + self.cost(value.line)
        if isinstance(value, str) and len(value) <= MAX_BYTES and self._options.mode != "strict":
            return 50 + (_each(value) if self._options.allow else _EACH) * len(value)
        if isinstance(value, Value):
            return 15 + len(value.text) // 4
        words = value if isinstance(value, list) else [value]
        return 50 * len(words) + sum(len(one) for one in words if isinstance(one, str))

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Command members as lines or words, every other text as a value; for `strict` all together."""
        return iter([(None, arguments)]) if self._options.mode == "strict" else _parts(arguments)

    def watched(self, value: Any) -> tuple[Seen, tuple[str, str] | None]:
        """What the commands of a line do, as far as it is judged, and the rule that ends that with what it is about; for `why`."""
        seen: Seen = []
        if self._mode == "strict" or self._options.value:
            return seen, None
        if isinstance(value, Placed):
            return seen, self._refused(value.line, workspace(value.folder), seen)
        return seen, self._refused(value, HERE, seen)

    def _rule(self, value: Any, folder: Path = HERE) -> str | None:
        found = self._refused(value, folder)
        return None if found is None else found[0]

    def _refused(
        self, value: Any, folder: Path, seen: Seen | None = None
    ) -> tuple[str, str] | None:
        try:
            steps = self._steps(value)
            if isinstance(self._reader, Denying):
                line = denying_line(self._reader, folder, seen)
            else:
                judges = None if seen is None else Watched(seen)
                line = Line(
                    self._reader, self._granted, writes=self._writes, folder=folder, judges=judges
                )
            line.judge(steps)
        except Unacceptable as problem:
            return problem.what, ""
        except Refused as problem:
            return problem.rule, problem.why
        return None

    def _steps(self, value: Any) -> list[Step]:
        if self._options.allow:
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
                value = value[0]
            if isinstance(value, str):
                return read_list(value)
        commands = _commands(value, pipes=self._options.pipes and not self._options.allow)
        return [Step([Command(one) for one in commands])]


_EACH, _LOOPED, _FOUND = 6, 48, 96
_LOOP, _GOING, _JOKER = Pattern(r"\bfor\b", ASCII), Pattern(r"\b(?:cd|pushd|popd|chdir|time)\b|\bfind\s+[^\s-]\S*\s+[^\s(!-]", ASCII), Pattern(r"[*?\[]")  # fmt: skip


def _each(line: str) -> int:
    """Microseconds for each character of a line of several commands."""
    if _JOKER.within(line) and _GOING.within(line):
        return _FOUND
    # Commands of a loop are judged for each of its words.
    return _LOOPED if _LOOP.within(line) else _EACH


def _granted(allow: tuple[Allowed, ...]) -> frozenset[str]:
    """The capabilities that are allowed."""
    return frozenset({*allow, *_DEVELOPING} if "develop" in allow else allow)


_DEVELOPING = frozenset({"network", "endless"})
"""What work needs all day. Variables of the environment hold tokens, which no work has to print."""


class Value(msgspec.Struct, frozen=True):
    """A text that is one value of a command line."""

    text: str
    is_name: bool = False
    """Whether it is a member's name, of which only the characters matter."""


class Placed(msgspec.Struct, frozen=True):
    """A line, or the words of one, beside which a member says in which folder it runs."""

    line: Any
    folder: str


def _commands(value: Any, *, pipes: bool) -> list[list[Word]]:
    if isinstance(value, str):
        return read(value, pipes=pipes)
    if not are_texts(value) or not value:
        raise Unacceptable("no_command")
    if not all(map(is_plain, value)):
        raise Unacceptable("control_character")
    # A single word with spaces is a line for a shell; several words go to the program as they are.
    if len(value) == 1:
        return read(value[0], pipes=pipes)
    return [[Word(one, bare=False) for one in value]]


_NO_OPTION = Pattern(r"-(?:[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)?")
"""A number, or what stands for the standard input."""


_SETTING, _PROXY = Pattern(r"[a-z][a-z0-9_]*=[\w.,:/@+-]*"), Pattern("[a-z]+_proxy=")
"""A name and its value as one word. What names mean to a shell or a loader is in capitals, or says `proxy`."""


def _value_rule(value: Value) -> str | None:
    if value.is_name:
        return text_rule(value.text)
    if value.text.startswith("-") and not _NO_OPTION.fits(value.text):
        return "leading_dash"
    found = strict(value.text)
    # `key=value` is how many tools take settings, and no shell's assignment behind a program.
    if found is None or (found.rule == "assignment" and _is_setting(value.text)):
        return None
    return found.rule


def _is_setting(text: str) -> bool:
    return _SETTING.fits(text) and not _PROXY.begins(text)


def _sentence(rule: str) -> str:
    return _SAY.get(rule) or SENTENCES.get(rule) or _NODES.format(rule.replace("_", " "))


def _parts(arguments: Any) -> Iterator[tuple[Place | None, Any]]:
    stack: list[tuple[Place | None, Any]] = [(None, arguments)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, str):
            yield place, Value(found)
        elif isinstance(found, list):
            stack.extend((Place(place, at), found[at]) for at in range(len(found) - 1, -1, -1))
        elif isinstance(found, dict):
            taken, lines = command_lines(found)
            for name, line in lines:
                placed = [Placed(line, one) for one in folders_of(found)]
                yield from ((Place(place, name), one) for one in placed or [line])
            yield from ((Place(place, name), Value(name, is_name=True)) for name in found)
            rest = (name for name in reversed(found) if name not in taken)
            stack.extend((Place(place, name), found[name]) for name in rest)
