"""`Line`: judges a whole shell line: each command's effects by the policy, tracking `cd` and what earlier commands listed, wrote, downloaded.

What is kept of a line: the folders in which it may be, what its commands list for others, the files that it has made, and whether it has
fetched or made what somebody could take for code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.shell.effects import MARK, At, Effect, Listed, marked
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.listing import listing
from gatewright.validators.shell.names import KEEPING, program_name, starts_too_many
from gatewright.validators.shell.places import ANYWHERE, HERE, Path, entered, place, resolve
from gatewright.validators.shell.policy import Judge, rule_of
from gatewright.validators.shell.reading import Reader
from gatewright.validators.shell.unrolled import texts_of, unrolled
from gatewright.validators.shell.values import is_local
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_commands import Command, Redirection
from gatewright.validators.shell_pipelines import Step
from gatewright.validators.shell_syntax import MAX_BYTES, Word

__all__ = ["Line"]


_MOST_EFFECTS = 4000
"""Of one line, which folders, values of a loop and jobs multiply."""
_READ = 16
"""Effects for which a command counts, besides its words: reading it takes about as long."""
_OF_PATTERN = 64
"""Effects for which a path with jokers counts: it is held against each name that is secret."""
_MOST_UNROLLED = 2 * MAX_BYTES
"""Characters of what loops make of a line."""
_MOST_FOLDERS = 8
_READING = frozenset("reads reads_below lists lists_below names text value writes deletes deletes_below repository enters endless starts".split())  # fmt: skip
"""Kinds of what a command does that only reads by nature, and may write by an option."""
_DESCRIPTOR = Pattern(r"\d?-?")
_NOWHERE = frozenset({"/dev/null"})
_STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_LOGS = Pattern(r".*\.(?:log|out|csv|md|html|diff|tmp|tsv)", IGNORECASE)
"""What nobody takes for code, settings or a list of what to install."""


class _State(NamedTuple):
    """Where one shell is."""

    folders: tuple[Path, ...] = (HERE,)
    """Where it may be."""
    failed: tuple[Path, ...] = ()
    """Where it is as well if a `cd` has failed."""
    pushed: tuple[tuple[Path, ...], ...] = ()
    before: tuple[Path, ...] = (ANYWHERE,)


class Line:
    """One line under a preset, or under what else says of each effect whether it passes; `granted` are the capabilities, `folder` is where it
    runs."""

    def __init__(self, reader: Reader, granted: frozenset[str], *, writes: bool, judges: Mapping[str, Judge] | None = None, folder: Path = HERE) -> None:  # fmt: skip
        self._reader, self._granted, self._writes, self._judges = reader, granted, writes, judges
        self._start = _State((folder,))
        self._states: dict[tuple[int, ...], _State] = {(): self._start}
        self._within: dict[str, list[Step]] = {}
        """Mark → what prints that for which it stands."""
        self._listed: dict[str, tuple[Listed, ...] | None] = {}
        self._made: set[tuple[str, ...]] = set()
        self._typed: set[tuple[str, ...]] = set()
        self._tainted = self._fetched = False
        self._left, self._unrolled = _MOST_EFFECTS, _MOST_UNROLLED

    def judge(self, steps: Sequence[Step]) -> None:
        """Raises `Refused` where something speaks against the line."""
        for step in steps:
            if step.lists:
                self._within.setdefault(step.lists, []).append(step)
        self._steps(steps)
        if self._writes and any(one.again for one in steps):
            # A job, and a loop when it comes round, may run what is made behind it.
            self._tainted, self._states = self._fetched, {(): self._start}
            self._steps(steps)

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if not step.lists:
                self._step(step)

    def _step(self, step: Step) -> list[list[Effect]]:
        state = self._state(step)
        effects: list[list[Effect]] = []
        for folder in state.folders:
            if self._within:
                self._substitute(step, folder)
            if not self._listed:
                effects = self._beside(step, folder)
                continue
            each = [self._beside(one, folder) for one in self._each(step)]
            effects = [[one for read in several for one in read] for several in zip(*each, strict=True)]  # fmt: skip
        self._states[step.scope] = self._gone(step, state)
        return effects

    def _gone(self, step: Step, state: _State) -> _State:
        """Where a shell is behind a pipeline, whatever word of a loop stands in it."""
        if not any(map(_going, step.commands)):
            return state
        several = [_gone(one, state) for one in unrolled(step, self._listed)]
        folders = _united(*(one.folders for one in several))
        return several[0]._replace(folders=folders)

    def _each(self, step: Step) -> Iterator[Step]:
        """The pipeline once for each word of a loop."""
        for at, one in enumerate(unrolled(step, self._listed)):
            self._unrolled -= sum(len(word.text) for each in one.commands for word in each.words) if at else 0  # fmt: skip
            if self._unrolled < 0:
                raise Refused("too_long", "for")
            yield one

    def _beside(self, step: Step, folder: Path) -> list[list[Effect]]:
        """A pipeline, whose commands run beside each other."""
        fetched = self._fetched
        effects = self._pipeline(step, folder)
        if len(step.commands) > 1 and self._fetched and not fetched:
            effects = self._pipeline(step, folder)
        return effects

    def _substitute(self, step: Step, folder: Path) -> None:
        """Judge what prints parts of a pipeline, in the folder in which that runs."""
        for mark in sorted({one for text in texts_of(step) for one in text if one in self._within}):
            states, self._states = self._states, {(): _State((folder,))}
            inner = self._within[mark]
            effects: list[list[Effect]] = []
            for one in inner:
                effects = self._step(one)
                # What it prints is named by whoever made it.
                self._tainted = self._tainted or any(map(_is_foreign, effects))
            self._listed[mark] = (
                listing(inner[0].commands, effects, folder) if len(inner) == 1 else None
            )
            self._states = states

    def _state(self, step: Step) -> _State:
        scope = step.scope
        while scope not in self._states:
            scope = scope[:-1]
        state = self._states[scope]
        if step.joined != "&&" and state.failed:
            state = state._replace(folders=_united(state.folders, state.failed), failed=())
        if len(state.folders) > _MOST_FOLDERS:
            raise Refused("too_long", "cd")
        return state

    def _pipeline(self, step: Step, folder: Path) -> list[list[Effect]]:
        """The effects of each command of a pipeline, all of which pass."""
        read: list[list[Effect]] = []
        fed = ""
        for at, command in enumerate(step.commands):
            how = fed
            if not how and command.redirections and any("<" in one.sign for one in command.redirections):  # fmt: skip
                how = "file"
            listed = self._listed
            if at and any(one.text.endswith("xargs") for one in command.words):
                listed = {**listed, MARK: listing(step.commands[:at], read, folder)}
            found = self._command(command, At(folder, listed, how))
            read.append(found)
            if at + 1 < len(step.commands):
                fed = "network" if fed == "network" or _is_foreign(found) else "pipe"
        return read

    def _command(self, command: Command, at: At) -> list[Effect]:
        words = command.words
        found = _around(command, at) if command.variables or command.redirections or not words else []  # fmt: skip
        own = len(found)
        if words:
            if starts_too_many(words):
                raise Refused("too_long", words[0].text)
            self._reader.read(words, at, found)
        wild = [one for one in found if one.path is not None and one.path.wild]
        self._left -= _READ + len(words) + len(found) + _OF_PATTERN * len(wild)
        if self._left < 0:
            raise Refused("too_long", "effects")
        if found:
            self._hold(found, self._said(found, at))
        if self._writes:
            self._keep(found, at, own, typed=_is_typed(command, at))
        return found

    def _hold(self, found: Sequence[Effect], said: Said) -> None:
        for effect in found:
            rule = rule_of(effect, said, self._judges)
            if rule is not None:
                raise Refused(rule, f"{effect.of} {effect.by} {effect.kind} {effect.text}")

    def _said(self, found: Sequence[Effect], at: At) -> Said:
        kinds = {one.kind for one in found}
        local = "host" in kinds and all(is_local(one.text) for one in found if one.kind == "host")
        tainted = self._tainted or at.fed == "network"
        return Said(self._granted, self._writes, self._made, self._typed, tainted, "writes_here" in kinds, "project" in kinds, local, kinds <= _READING)  # fmt: skip

    def _keep(self, found: Sequence[Effect], at: At, own: int, *, typed: bool) -> None:
        """Keep what a command has made, and whether it may be code from elsewhere."""
        if not found:
            return
        foreign = at.fed == "network" or _is_foreign(found)
        self._fetched = self._fetched or foreign
        brought = any(_is_taken(one) and (_is_brought(one) or self._is_typed(one)) for one in found)
        only_reads = {one.kind for one in found} <= _READING
        for place_, effect in enumerate(found):
            put = (place_ < own and effect.by == "redirect") or effect.of in _PUTTING
            if effect.kind == "writes" and effect.path is not None:
                if typed and _SOURCES.fits(effect.text):
                    self._typed.add(effect.path.parts)
                elif (put or foreign or brought) and not (_LOGS.fits(effect.text) and not foreign):
                    self._made.add(effect.path.parts)
                    self._tainted = True
                # What a program for texts makes of another file, or of what stands on the line.
                elif only_reads and effect.of not in KEEPING:
                    self._made.add(
                        (*_root(effect), "*")
                        if effect.listed or effect.path.wild
                        else effect.path.parts
                    )
                    self._tainted = self._tainted or (
                        effect.path.parts[-1:] in _STARTED and effect.of not in _EDITING
                    )
            elif (effect.kind in _TAKING and (foreign or effect.of in _CUTTING)) or (
                effect.kind == "unpacks"
                and any(
                    one.kind == "reads" and one.path and place(one.path) != "inside"
                    for one in found
                )
            ):
                self._tainted = True

    def _is_typed(self, effect: Effect) -> bool:
        return effect.path is not None and effect.path.parts in self._typed


_SOURCES = Pattern(r"(?:[\w@+-]+/)*(?:test_[\w-]*|[\w-]+(?:\.(?:test|spec))?)\.(?:py|pyi|[jt]sx?|mjs|cjs|mts|go|rs|rb|php|java|kt|scala|swift|cs|c|cc|cpp|h|hpp|ex|exs|hs|ml|vue|svelte|css|html)|(?:[\w@+-]+/)*_\w+\.py")  # fmt: skip
"""Sources. What a tool takes by itself, as `setup.py` or a `Makefile`, is none of them."""
_TAKEN = frozenset("setup.py conftest.py manage.py noxfile.py tasks.py dodo.py fabfile.py sitecustomize.py usercustomize.py build.rs gulpfile.js gruntfile.js".split())  # fmt: skip


def _is_typed(command: Command, at: At) -> bool:
    """Whether a command writes what stands on the line: a `cat` of which the here-document was taken out."""
    words = [one.text for one in command.words]
    names = [one.target.text.rpartition("/")[2].lower() for one in command.redirections]
    return words == ["cat"] and not at.fed and _TAKEN.isdisjoint(names)


_EDITING = frozenset({"sed", "gsed", "yq"})
"""What changes a file where it is, as a version in `package.json`."""
_STARTED = frozenset((one,) for one in "Makefile GNUmakefile makefile package.json setup.py conftest.py noxfile.py tasks.py justfile Rakefile".split())  # fmt: skip
"""Files that tools take for code by their names."""


def _root(effect: Effect) -> tuple[str, ...]:
    """The folder of a path with jokers, or of what is listed."""
    parts = effect.path.parts if effect.path is not None else ()
    at = next((at for at, one in enumerate(parts) if not _JOKERS.isdisjoint(one)), len(parts))
    return parts[:at]


_JOKERS = frozenset("*?[")


def _is_taken(effect: Effect) -> bool:
    """Whether an effect is where something comes from."""
    moved = effect.kind == "deletes" and effect.of in {"mv", "gmv"}
    return effect.kind.startswith("reads") or moved or effect.of in {"ln", "gln"}


_PUTTING = frozenset({"tee", "sponge", "dd", "xxd"})
_CUTTING = frozenset({"split", "gsplit", "csplit", "gcsplit"})
_TAKING = frozenset({"writes_here", "unpacks", "fetches"})
"""What takes what it is fed, or asks for, into the workspace."""


def _is_brought(effect: Effect) -> bool:
    """Whether a file comes from where others put files."""
    path = effect.path
    return path is not None and (
        path.base == "~" or (path.base == "/" and path.parts[:1] in _OTHERS)
    )


_OTHERS = (("tmp",), ("home",), ("Users",), ("private",), ("var",), ("dev",))


def _is_foreign(found: Sequence[Effect]) -> bool:
    """Whether something comes from another machine that the line names."""
    return any(one.kind == "host" and not is_local(one.text) for one in found)


def _is_stream(one: Redirection) -> bool:
    """Whether a redirection leads to another stream, or nowhere."""
    target = one.target.text
    if one.sign == "<<<" or (one.sign == "<" and target.startswith("/dev/fd/")):
        return True  # a text that stands on the line, or what a command prints
    if one.sign in {">&", "<&"} and _DESCRIPTOR.fits(target):
        return True
    return target in _NOWHERE or (one.sign[-1] != "<" and target in _STREAMS)


def _around(command: Command, at: At) -> list[Effect]:
    """What its variables and redirections do."""
    # Alone a variable is the shell's own.
    by = "operand" if command.words else "alone"
    found = [Effect("variable", None, one, by, "variable") for one in command.variables]
    return found + [_redirected(one, at) for one in command.redirections if not _is_stream(one)]


def _redirected(one: Redirection, at: At) -> Effect:
    target = one.target
    if marked(target.text):
        raise Refused("file_redirect", target.text)
    path = resolve(at.folder, target.text, glob=target.glob)
    if one.sign == "<":
        return Effect("reads", path, target.text, "redirect", "redirection")
    if one.sign not in _WRITING or target.glob:
        raise Refused("file_redirect", target.text)
    return Effect("writes", path, target.text, "redirect", "redirection")


def _united(*several: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(one for some in several for one in some))


_GOING = frozenset({"cd", "pushd", "popd", "chdir"})


def _gone(step: Step, state: _State) -> _State:
    """Where a shell is behind a pipeline. Some shells run the last command of one themselves."""
    for words in filter(None, map(_going, step.commands)):
        gone = _after(words, state)
        if len(step.commands) > 1:
            gone = gone._replace(folders=_united(gone.folders, state.folders))
        state = gone
    return state


_BEFORE_GOING = ("time", "-p", "--")


def _going(command: Command) -> Sequence[Word]:
    """The words of a command that goes to another folder; none of any other."""
    words = command.words
    if not words or (words[0].text not in _GOING and not words[0].text.endswith(_BEFORE_GOING)):
        return ()
    at = 0
    while at < len(words) and (program_name(words[at].text) == "time" or words[at].text in {"-p", "--"}):  # fmt: skip
        at += 1
    if at < len(words) and marked(words[at].text):
        # A word of a loop, which may be any of these.
        raise Refused("program_name", words[at].text)
    return words[at:] if at < len(words) and words[at].text in _GOING else ()


def _turns(word: Word) -> bool:
    return word.text.startswith(("-", "+"))


def _after(words: Sequence[Word], state: _State) -> _State:
    name = words[0].text
    to = next((one for one in words[1:] if not one.text.startswith("-") or one.text == "-"), None)
    failed = _united(state.failed, state.folders)
    stack = name in {"pushd", "popd"}
    if stack and ((to is None and name == "pushd") or any(map(_turns, words[1:]))):
        # What turns the stack, or changes it without going there: nobody computes where the line is from then on.
        raise Refused("option", name)
    if name == "popd":
        folders = state.pushed[-1] if state.pushed else (ANYWHERE,)
        return _State(folders, failed, state.pushed[:-1], state.folders)
    if to is not None and to.text == "-":
        return _State(state.before, failed, state.pushed, state.folders)
    found = to or Word("~")
    if marked(found.text):
        return _State((ANYWHERE,), failed, state.pushed, state.folders)
    folders = tuple(dict.fromkeys(entered(one, found.text, glob=found.glob) for one in state.folders))  # fmt: skip
    pushed = (*state.pushed, state.folders) if name == "pushd" else state.pushed
    return _State(folders, failed, pushed, state.folders)
