"""`Call`: one shell command while it is read; turns options, operands and standard input into effects, by the program's table entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from gatewright.patterns import Pattern
from gatewright.validators.shell.effects import DASHED, MARK, At, Effect, marked, paths_of
from gatewright.validators.shell.places import HERE, Path, resolve
from gatewright.validators.shell.table import MAYBE, Entry, Slot
from gatewright.validators.shell.words import Given, Option, Refused
from gatewright.validators.shell_pipelines import MARKS
from gatewright.validators.shell_syntax import Word

__all__ = ["Call", "always", "assigned", "fed", "read_operands", "read_options"]

Read = Callable[[Sequence[Word], At, list[Effect]], None]
_STREAMS = frozenset({"-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "/dev/fd/0"})  # fmt: skip
_TO_OUTPUT = frozenset(
    "curl|wget|tar|gtar|bsdtar|openssl|iconv|pandoc|gpg|zip|gzip|bzip2|xz|zstd|lz4|brotli|pigz|uniq|guniq|xxd|pdftotext".split(
        "|"
    )
)
"""Programs to which a dash in place of a file that they write is the output; to others it is a name."""
_OPENING = _TO_OUTPUT | {"tee", "gtee", "sponge", "cp", "gcp", "dd", "gdd"}
"""Programs that open what their operands name; others put something in its place, or change it."""
_PATHS = frozenset({"reads", "writes", "deletes", "lists"})
_ALWAYS = frozenset(
    "network environment endless secrets sends settings code publishes runs project writes_here unpacks fetches package acts".split()
)


_SCRIPTS = {"sed": ("-e", "--expression"), "awk": ("-e", "--source")}
"""Options whose values are scripts in a little language."""


_VOLUMES = frozenset({"-v", "--volume", "--mount"})
_OF_NONE = {"runs": "runs", "writes": "writes_here", "hosts": "network"}
"""What an option does that may have a value and has none."""
_NAMING = frozenset({"--include", "--glob", "--iglob", "-g"})
"""Options whose value says by their names which files are read."""
_ANY_WORDS = Pattern(
    r"g?(?:echo|basename|dirname|expr|factor|seq|tr|true|false|id|groups|readlink|realpath|ls|dir|vdir|df|sleep)|command|type|which|whereis|printf|pwdx|"
    r"git (?:describe|rev-parse|merge-base|name-rev|cherry|check-ignore|check-attr|count-objects|show-ref|show-branch|worktree list|submodule status|notes list|version)|"
    r"(?:docker|podman|nerdctl)(?: container| image| network| volume)? (?:ps|port|top|history|diff|ls|list|images)"
)
"""Programs that write and run nothing by any option of theirs, in the table or not: they may get words that nobody has seen."""
_FORMATS = frozenset({"--format", "--pretty", "--sort"})
_SIGNED = Pattern(r"%[-+ ]?G|(?:^|[-*(])signature")
"""What runs `gpg` to say who has signed."""


class Call:
    """One command, as it is read."""

    def __init__(self, read: Read, entry: Entry, name: str, words: Sequence[Word], at: At, found: list[Effect]) -> None:  # fmt: skip
        self.read, self.entry, self.name, self.words, self.at, self.found = read, entry, name, words, at, found  # fmt: skip
        self.does: set[str] = set(entry.effects)
        self.of_git = name.startswith("git ")
        self.is_plain = "".join([one.text for one in words]).isascii()
        self.given = Given([], [])
        self.named: list[str] = []
        """Patterns of names that it looks for."""

    def add(self, kind: str, path: Path | None = None, text: str = "", by: str = "") -> None:
        """One more effect."""
        if kind == "endless" and self.at.bounded:
            return
        self.found.append(Effect(kind, path, text, by, self.name))

    def add_paths(self, kind: str, word: Word, by: str) -> None:
        """An effect on what a word names."""
        if _is_stream(self.name, kind, word.text, by):
            return
        mark = marked(word.text)
        if not mark:
            path = resolve(self.at.folder, word.text, glob=word.glob)
            self.found.append(Effect(kind, path, word.text, by, self.name))
            return
        listed = self.at.listed.get(mark) or ()
        text = word.text.replace(mark, "*")
        for at, path in enumerate(paths_of(word, self.at)):
            one = listed[min(at, len(listed) - 1)] if listed else None
            said = one is not None and one.word is not None
            how = "" if said else "some" if one is not None and one.chosen else "all"
            self.found.append(Effect(kind, path, text, by, self.name, how))

    def seen(self, word: Word) -> None:
        """Refuse a text that nobody has seen where it could be an option, or several words."""
        mark = marked(word.text)
        if mark == word.text and DASHED in self.at.listed and not (self.is_harmless() or self._needs_one()):  # fmt: skip
            raise Refused("unknown_arguments", self.name)
        if mark and (word.bare or word.text.startswith(mark)) and self._is_unseen(word.text) and not _ANY_WORDS.fits(self.name):  # fmt: skip
            raise Refused("unknown_arguments" if mark == MARK else "command_substitution", self.name)  # fmt: skip

    def hold(self, *words: Word) -> None:
        """Refuse a script, or a word whose beginning says what it is, of which nobody has seen a part."""
        if any(marked(one.text) for one in words):
            raise Refused("unknown_arguments", self.name)

    def _is_unseen(self, text: str) -> bool:
        return any(self.at.listed.get(one[0]) is None for one in MARKS.finditer(text))

    def is_harmless(self) -> bool:
        """Whether no option that the table knows of the program does anything."""
        options = self.entry.options()
        return all(one.kind in {"text", "reads"} and not one.does & _CHANGING for one in options)

    def _needs_one(self) -> bool:
        """Whether a name is all that it gets and needs: if that were an option, there would be none."""
        slots, tail, _ = self.entry.operands
        runs = any(
            one.kind == "runs" or one.does & {"runs", "code"} for one in self.entry.options()
        )
        alone = sum(one.text[:1] != "-" for one in self.words) == 1
        return alone and not tail and not runs and slots != () and slots[0].least > 0

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(one.name in names for one in self.given.options)

    def command(self, words: Sequence[Word], at: At | None = None) -> None:
        """Another command that this one runs."""
        if words:
            self.add("starts", None, words[0].text)
            self.read(words, (at or self.at)._replace(depth=self.at.depth + 1), self.found)


def _is_stream(program: str, kind: str, text: str, by: str) -> bool:
    """Whether a word means another stream, and no file: what is deleted is always one, and what is written by that name may be."""
    if text.startswith("/dev/fd/") and kind != "writes":
        return True
    if text not in _STREAMS or kind in _DELETES:
        return False
    if kind != "writes":
        return True
    if text == "-":
        return program.partition(" ")[0] in _TO_OUTPUT or program in _TO_OUTPUT
    return by != "operand" or program in _OPENING


def read_options(call: Call, options: Sequence[Option]) -> None:
    """Add what options do. A script in a little language is read by what knows that."""
    _enter(call, options)
    scripts = _SCRIPTS.get(call.entry.special, ())
    for option in options:
        if option.name in _VOLUMES and call.entry.special == "docker-run":
            _mounted(call, option)
            continue
        if option.opt.does:
            _further(call, option)
        if option.value is None:
            if option.opt.takes == MAYBE and option.opt.kind in _OF_NONE:
                call.add(_OF_NONE[option.opt.kind], call.at.folder, "", option.name)
        elif option.name not in scripts:
            _valued(call, option, option.value)


def _enter(call: Call, options: Sequence[Option]) -> None:
    """Where all else happens: it is read first, wherever it stands."""
    for name, opt, value in options:
        if opt.kind == "folders" and value is not None:
            path = paths_of(value, call.at)[0]
            call.add("enters", path, value.text, name)
            call.at = call.at._replace(folder=path)


def _mounted(call: Call, option: Option) -> None:
    """A folder of this machine that a container gets."""
    value = option.value or Word("")
    source = value.text.partition(":")[0]
    if option.name != "--mount" and ("/" in source or source.startswith((".", "~"))):
        call.add_paths("writes", value._replace(text=source), option.name)


def _further(call: Call, option: Option) -> None:
    call.does |= option.opt.does
    for effect in sorted(option.opt.does & _ALWAYS):
        text = "" if option.value is None else option.value.text
        call.add(effect, call.at.folder, text, option.name)


def _valued(call: Call, option: Option, value: Word) -> None:
    """What the value of an option is."""
    kind, name, text = option.opt.kind, option.name, value.text
    if value.bare and marked(text):
        call.seen(value)
    if name in _NAMING and kind in {"text", "reads"}:
        # What is left out by `!` is not read.
        if text[:1] != "!":
            call.add("names", resolve(HERE, text, glob=True), text, name)
    elif kind in {"reads", "writes"}:
        call.add_paths(kind, value, name)
    elif kind in _VALUES:
        call.add(_VALUES[kind], None, text, name)
    elif kind == "text":
        _text(call, name, text)


def _text(call: Call, name: str, text: str) -> None:
    """A text that may hold a path, or a format with which git runs another program."""
    if text.startswith("file:"):  # `mediainfo --Output=file:…`
        call.add_paths("reads", Word(text.removeprefix("file:").removeprefix("//")), name)
    if "/" in text or "~" in text:
        call.add("value", call.at.folder, text, name)
    if name == "-ldflags" and _LINKER.within(text):
        call.add("runs", None, "", name)
    if call.of_git and name in _FORMATS and _SIGNED.within(text):
        call.add("runs", None, text, name)


_LINKER = Pattern(r"-extld(?:[= ]|flags.*-(?:B|fuse-ld|specs|wrapper|fplugin))")
"""What makes Go link by another program."""
_VALUES = {"runs": "runs", "hosts": "host", "package": "package"}


_CHANGING = frozenset({"changes", "deletes", "runs", "writes", "writes_here", "sends", "settings"})
_BELOW = {"reads": "reads_below", "lists": "lists_below", "deletes": "deletes_below"}
_DELETES = frozenset({"deletes", "deletes_below"})


def _pathspec(word: Word, kind: str) -> Word:
    """Paths of git, whose jokers it reads itself."""
    if kind in _DELETES and word.text.startswith(":"):
        raise Refused("operand", word.text)
    return word._replace(glob=word.glob or not _JOKERS.isdisjoint(word.text))


_JOKERS = frozenset("*?[")


def read_operands(call: Call, slots: tuple[Slot, ...], operands: Sequence[Word]) -> None:
    """Add what operands are. Raises `Refused` where there are more of them than the program takes."""
    kinds = assigned(slots, len(operands))
    if kinds is None:
        raise Refused("operand", f"{call.name} {operands[-1].text}")
    for kind, word in zip(kinds, operands, strict=True):
        if kind in _PATHS:
            _path(call, kind, word)
        elif kind == "script":
            _script(call, word)
        elif kind == "folder":
            call.add("enters", paths_of(word, call.at)[0], word.text, "operand")
        else:
            call.seen(word)
            if kind != "pattern":
                call.add(_OPERANDS.get(kind, kind), call.at.folder, word.text, "operand")
    if _PATHS.isdisjoint(kinds):
        _unnamed(call, slots, named=bool(operands))


_OPERANDS = {"url": "host"}


def _path(call: Call, kind: str, word: Word) -> None:
    """An operand that is a path, with what the program does to it."""
    if kind == "lists":
        call.seen(word)
    if DASHED in call.at.listed:
        call.seen(word._replace(bare=False) if marked(word.text) != word.text else word)
    if "deletes" in call.does and kind != "writes":
        kind = "deletes"
    if "recursive" in call.does:
        kind = _BELOW.get(kind, kind)
    if call.of_git:
        word = _pathspec(word, kind)
    call.add_paths(kind, word, "operand")
    if "changes" in call.does and kind not in {"writes", *_DELETES}:
        call.add_paths("writes", word, "operand")


def _script(call: Call, word: Word) -> None:
    """A file that is run."""
    if word.text[:1] in {"-", "+"}:  # the input; `bash +x -c …`, an option of shells
        call.add("code", None, word.text, "operand")
        return
    for path in paths_of(word, call.at):
        call.add("run", path, word.text, "operand")


def _unnamed(call: Call, slots: tuple[Slot, ...], *, named: bool) -> None:
    """Where no path is named it is the folder, for what lists, deletes or goes on below."""
    first = next((one for one in slots if one.kind in _PATHS), None)
    if first is None:
        return
    below = "recursive" in call.does
    kind = "deletes" if below and "deletes" in call.does else first.kind
    if below:
        kind = _BELOW.get(kind, kind)
    elif named or not (kind == "lists" or (kind == "deletes" and first.least)):
        return
    call.add(kind, call.at.folder, ".", "operand")
    if "changes" in call.does:
        call.add("writes_here", call.at.folder, ".", "operand")


@lru_cache(1024)
def assigned(slots: tuple[Slot, ...], count: int) -> tuple[str, ...] | None:
    """The kind of each of so many operands; None where there are too many."""
    needed = sum(one.least for one in slots)
    kinds: list[str] = []
    free = count - needed
    for at, slot in enumerate(slots):
        if slot.many:
            later = slots[at + 1 :]
            taken = count - len(kinds) - sum(one.least for one in later)
            kinds += [slot.kind] * max(taken, 0)
            free = 0
        elif slot.least:
            kinds.append(slot.kind)
        elif free > 0:
            kinds.append(slot.kind)
            free -= 1
    if len(kinds) < count:
        return None
    return tuple(kinds[:count])


def always(call: Call) -> None:
    """Add what a program does whatever its words are."""
    if call.entry.effects:
        # In an order, so that one line is always refused by one rule.
        for effect in sorted(call.entry.effects & _ALWAYS & call.does):
            call.add(effect, call.at.folder)
    if call.of_git:
        call.add("repository", call.at.folder)
    if call.is_plain:  # no mark in any of them
        return
    if "acts" in call.does:
        call.hold(*call.words)
    if any(one.kind in {"network", "host"} and one.of == call.name for one in call.found):
        call.add("sends", None, "", "operand")


def fed(call: Call, named: bool) -> None:
    """What a program does with its standard input."""
    how = call.entry.stdin
    alone = not named and not call.given.options
    if how == "runs" and (alone or (call.at.fed and not named)):
        call.add("code", None, call.at.fed, "input")
    elif call.at.fed and how == "sends":
        call.add("sends", None, "", "input")
    elif call.at.fed and how == "names":
        call.add("unseen", None, "", "input")
