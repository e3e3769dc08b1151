"""Makes the `Line` that judges shell lines for `readonly` or `sandbox` mode `deny-list`: readers of commands, rules for each effect.

`readonly` lets pass what reads, whatever it reads, and asks others for what they show. `deny-list` refuses what is known for harm: programs that
run, end or open something by nature, and of the programs of the table what runs others, leads elsewhere or touches the host; it lets pass
programs that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import takewhile

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell.effects import At, Effect, marked
from gatewright.validators.shell.line import Line
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.names import (
    ALIASES,
    KEEPING,
    RUNNERS,
    SERVING,
    TESTING,
    known_as,
    program_name,
    starts_another,
)
from gatewright.validators.shell.places import (
    HERE,
    SYSTEM,
    Path,
    chooses_secrets,
    is_kept,
    is_secret,
    place,
    resolve,
)
from gatewright.validators.shell.policy import JUDGES, Judge
from gatewright.validators.shell.reading import Reader, arguments
from gatewright.validators.shell.table import Entry, table
from gatewright.validators.shell.watching import Seen, Watched
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_strict import DANGEROUS, DELETERS, harm_of, strict_rule
from gatewright.validators.shell_syntax import Word

__all__ = ["Asked", "Asking", "Denying", "denying_line", "reading_line"]

_WRAPPING = frozenset(
    "env genv xargs gxargs time gtime timeout gtimeout nice gnice stdbuf gstdbuf cross-env ccache sccache c8 nyc".split()
)
"""What starts the program that is named behind it, and nothing else: that one is judged."""
_ON_EACH = frozenset("find gfind bfs fd fdfind command".split())
"""What runs a program for each name that it lists."""
_RIGHTS = frozenset({"chmod", "chown", "chgrp"})

Asked = Callable[[Sequence[str]], str | None]
"""What speaks against a command by its words, the program first: a rule's name, or None."""


class Asking(Reader):
    """Reads commands by the table, but for those of which somebody else knows whether they read."""

    def __init__(self, asked: Mapping[str, Asked]) -> None:
        super().__init__()
        self._asked = asked

    def knows(self, name: str) -> bool:
        """Whether a program of this name is in the table, or somebody else knows it."""
        return name in self._asked or self._knows(
            known_as(name, self._table.entries, self._table.parents)
        )

    def read(self, words: Sequence[Word], at: At, found: list[Effect]) -> None:
        """Add the effects of a command. Raises `Refused`."""
        name = program_name(words[0].text)
        asked = self._asked.get(name)
        if asked is None:
            super().read(words, at, found)
            return
        texts = [name, *(one.text for one in words[1:])]
        rule = "unknown_arguments" if any(map(marked, texts)) else asked(texts)
        if rule is not None:
            raise Refused(rule, name)


def _passes(effect: Effect, said: Said) -> str | None:
    """Nothing speaks against it."""


def _reads(effect: Effect, said: Said) -> str | None:
    """What holds secrets is read as anything else is; names that nobody has seen, and what has no end, are not."""
    said = said._replace(granted=frozenset())  # a URL that stands for a file
    found = JUDGES["reads"](effect, said)
    if found == "host_file":
        found = JUDGES["reads"](effect._replace(path=HERE), said)
    return None if found == "host_file" else found


def _environment(effect: Effect, said: Said) -> str | None:
    """Variables of this shell are shown, those of services are where their secrets are."""
    return "secrets" if effect.of.startswith(SERVING) else None


_READING: Mapping[str, Judge] = {
    **JUDGES,
    **dict.fromkeys(("reads", "reads_below"), _reads),
    **dict.fromkeys(("lists", "lists_below", "names", "enters", "argument", "value"), _passes),
    "environment": _environment,
    "starts": lambda effect, said: None if effect.of in _WRAPPING | _ON_EACH else "runs_programs",
    "secrets": lambda effect, said: "secrets",
}


def reading_line(reader: Reader, seen: Seen | None = None) -> Line:
    """A line that may read, also over the network. `seen` gets what is judged."""
    judges = _READING if seen is None else Watched(seen, _READING)
    return Line(reader, frozenset({"network", "environment"}), writes=False, judges=judges)


class Denying(Reader):
    """Reads commands by the table, and lets pass what nobody knows, unless it is known for harm by its name or its words."""

    def read(self, words: Sequence[Word], at: At, found: list[Effect]) -> None:
        """Add the effects of a command. Raises `Refused`."""
        said = program_name(words[0].text)
        if marked(said) or words[0].glob:
            raise Refused("program_name", said)
        name = said if said in self._extra else self._known_as(said)
        words = [words[0]._replace(text=name), *words[1:]]
        if name in self._extra:
            found += arguments(name, words)
            return
        rule, known = self._rule_of(name, words), self._knows(name)
        if not known or name in _RIGHTS:
            self._hold_words([one.text for one in words])
        if not known and "/" not in name:
            found += arguments(name, words)
            return
        kept = len(found)
        try:
            super().read(words, at, found)
        except Refused as problem:
            if rule is not None or problem.rule not in _UNKNOWN or name in _closed():
                unseen = problem.rule == "unknown_arguments"
                raise Refused(problem.rule if unseen else rule or problem.rule, problem.why) from None  # fmt: skip
            if name in self._table.parents - _VERSIONING and _destroys(words):
                raise Refused("destroys", problem.why) from None
            # Nobody knows what the words mean, and no other word of this program would run anything.
            del found[kept:]
            self._hold_words([one.text for one in words])
            found += arguments(name, words)

    def _rule_of(self, name: str, words: Sequence[Word]) -> str | None:
        """What speaks against a program by its name, where its words may say otherwise. Raises `Refused` where they may not."""
        base = name.rpartition("/")[2]
        loads = base.startswith("ld") and _LOADER.fits(base)
        if starts_another(base, [one.text for one in words[1:]]):
            raise Refused("runs_programs", name)
        rule = "runs_programs" if base in RUNNERS or loads else harm_of(name)
        if rule is None:
            return None
        asks = len(words) == len((name, "--version")) and words[1].text in _ASKING
        stays = name in RUNNERS or not self._knows(name)
        if rule == "destroys" or (stays and not (asks and self._knows(name))):
            raise Refused(rule, name)
        return rule

    def _known_as(self, said: str) -> str:
        """By which name a program is known, wherever it is installed; one of a project by its path is its own."""
        if self._knows(said):
            return said
        base = said.rpartition("/")[2] if "/" in said and _INSTALLED.fits(said) else said
        known = known_as(base, self._table.entries, self._table.parents, RUNNERS, DANGEROUS)
        return known if base == said or self._knows(known) or known in RUNNERS | DANGEROUS else said

    def _hold_words(self, texts: list[str]) -> None:
        rule = strict_rule(texts)
        if rule is not None:
            raise Refused(rule, texts[0])


_INSTALLED = Pattern(r"[/~].*/(?:s?bin|games)/[^/]+", DOTALL)
_LOADER = Pattern(r"ld(?:-[\w.-]+)?\.so(?:\.\d+)*")
"""What loads the program that is named behind it."""
_VERSIONING = frozenset({"git", "hg", "svn"})
"""What keeps a history of what is removed."""
_DESTROYING = Pattern(
    r"(?:.*:)?(?:delete|destroy|drop|purge|rb|remove|rm|terminate|wipe)(?:[-_]?all|-[\w-]+)?"
)


def _destroys(words: Sequence[Word]) -> bool:
    """Whether the words before the first option hold a verb by which a service gives up what it keeps."""
    before = takewhile(lambda one: one.text[:1] != "-", words[1:])
    return any(_DESTROYING.fits(one.text) for one in before)


_ASKING = frozenset({"--version", "--help"})
_UNKNOWN = frozenset({"option", "operand", "subcommand"})


@cache
def _closed() -> frozenset[str]:
    """Programs of which no unknown word passes: some run others by one of their words, and some do nothing but show."""
    entries, parents = table()
    found = {name.partition(" ")[0] for name, one in entries.items() if one.closed or _may_run(one)}
    found |= {name for name, one in entries.items() if name not in parents and (_only_reads(one) or _only_shows(one))}  # fmt: skip
    return frozenset(found.union(alias for alias, name in ALIASES.items() if name in found))


def _may_run(entry: Entry) -> bool:
    runs = any(one.kind == "runs" or one.does & {"runs", "code"} for one in entry.options())
    return runs or entry.operands.tail == "command" or entry.stdin == "runs"


def _only_reads(entry: Entry) -> bool:
    return entry.effects <= {"recursive"} and any(one.kind in {"reads", "lists"} for one in entry.operands.slots)  # fmt: skip


_SHOWING = frozenset({"recursive", "network", "endless", "environment"})


def _only_shows(entry: Entry) -> bool:
    """Whether nothing that is known of a program changes anything."""
    changes = any(one.does - _SHOWING or one.kind in {"writes", "runs"} for one in entry.options())
    writes = any(one.kind in {"writes", "deletes", "script", "code", "module", "package"} for one in entry.operands.slots)  # fmt: skip
    return entry.effects <= _SHOWING and not changes and not writes and not entry.operands.tail


def _denied(effect: Effect, said: Said) -> str | None:
    """What speaks against an effect; of a program that is known for harm all but reading does."""
    if effect.kind == "starts":
        return None if effect.of in _WRAPPING or _is_module(effect) else "runs_programs"
    if effect.kind in _STARTED and _STARTING.fits(effect.of):
        return "runs_programs"
    harmful = harm_of(effect.of.partition(" ")[0])
    reads = _passes if effect.kind == "environment" else _READING.get(effect.kind, _passes)
    if harmful is not None and reads(effect, said._replace(writes=False)) is not None:
        return harmful
    return _DENIED.get(effect.kind, _passes)(effect, said)


def _is_module(effect: Effect) -> bool:
    """Whether it is a program of the table that Python runs by its name."""
    entries, parents = table()
    return _MODULES.fits(effect.of) and (effect.text in entries or effect.text in parents)


_MODULES = Pattern(r"(?:python|pypy)[\d.]* -m|coverage run -m")
_STARTED = frozenset({"project", "acts", "run"})
_STARTING = Pattern(r"(?:go (?:run|generate|install)|cargo (?:run|r|install)|(?:docker|podman|nerdctl)(?:-compose)?)(?: .*)?")  # fmt: skip
"""What runs a program that it makes or gets, besides builds, tests and scripts of a project."""


def _read(effect: Effect, said: Said) -> str | None:
    found = JUDGES["lists" if effect.kind == "lists_below" else effect.kind](effect, said._replace(granted=_ENDLESS, writes=False))  # fmt: skip
    # By an option it would be settings, or code.
    takes = effect.by.startswith("-") and (said.project or said.builds)
    return None if found == "outside" and not takes else found


_ENDLESS = frozenset({"endless"})


def _named(effect: Effect, said: Said) -> str | None:
    """A pattern of names that is there to find secrets."""
    return "host_file" if chooses_secrets(effect.text) or is_secret(resolve(HERE, effect.text)) else None  # fmt: skip


def _written(effect: Effect, said: Said) -> str | None:
    """A program that only reads by nature writes by none of its options; no program writes where secrets or what starts later are."""
    path = effect.path
    if effect.text.startswith("|"):
        return "program_option"
    if path is None or path.base in {"?", "#"}:
        return "unknown_arguments"
    if is_secret(path):
        return "host_file"
    if is_kept(path) or _is_of_system(path, effect.text):
        return "outside"
    below = (
        effect.kind == "deletes_below" and effect.of != "git rm"
    )  # which keeps it in its history
    if effect.by == "-delete" or below or JUDGES[effect.kind](effect, said) == "recursive_delete":
        return "recursive_delete"
    if effect.kind.startswith("deletes") and effect.of not in DELETERS and place(path) not in {"inside", "temporary"}:  # fmt: skip
        return "outside"
    return "option" if effect.by.startswith("-") and said.reads and effect.of not in KEEPING else None  # fmt: skip


def _is_of_system(path: Path, text: str) -> bool:
    """Whether a path is one of the system, also where it climbs up to the root."""
    own = path.parts[:1] in SYSTEM
    return own and (path.base == "/" or (path.base == "^" and path.parts != () and "../.." in text))


def _run(effect: Effect, said: Said) -> str | None:
    """A file by its name; no stream, nothing from another machine, and no statements that nobody has read."""
    path = effect.path
    if effect.of in _OF_STATEMENTS:
        return "script"
    stream = path is None or (path.base == "/" and path.parts[:1] in {("dev",), ("proc",)})
    return "inline_code" if stream or "://" in effect.text or effect.text.startswith(("http:", "https:", "npm:", "jsr:")) else None  # fmt: skip


def _host(effect: Effect, said: Said) -> str | None:
    """An address, in whatever form: not of a cloud's metadata, and no file that stands for one."""
    if effect.text.casefold().startswith("file:"):
        return JUDGES["argument"](effect, said)
    return "metadata" if JUDGES["host"](effect, said) == "metadata" else None


def _valued(effect: Effect, said: Said) -> str | None:
    """A path in an option: not from elsewhere, but for the libraries of the system."""
    return JUDGES["value"](effect._replace(text=_LIBRARIES.sub("x", effect.text)), said)


_OF_STATEMENTS = frozenset({"psql", "mysql", "mariadb", "mongosh", "mongo"})
_LIBRARIES = Pattern(r"/(?:usr|opt|lib|lib64)(?:/\w[\w.+-]*)*")


_DENIED: Mapping[str, Judge] = {
    **JUDGES,
    **dict.fromkeys(("reads", "reads_below", "lists", "lists_below"), _read),
    **dict.fromkeys(("writes", "deletes", "deletes_below"), _written),
    "run": _run,
    "runs": lambda effect, said: (
        JUDGES["runs"](effect, said) if effect.of in TESTING else "program_option"
    ),
    "value": _valued,
    "host": _host,
    "names": _named,
    **dict.fromkeys(
        ("sends", "network", "endless", "environment", "acts", "writes_here", "unpacks", "fetches"),
        _passes,
    ),
}
_DENYING: Mapping[str, Judge] = dict.fromkeys(JUDGES, _denied)


def denying_line(reader: Reader, folder: Path = HERE, seen: Seen | None = None) -> Line:
    """A line that may do what is not known for harm. `seen` gets what is judged."""
    judges = _DENYING if seen is None else Watched(seen, _DENYING)
    granted = frozenset({"network", "environment", "endless"})
    return Line(reader, granted, writes=True, judges=judges, folder=folder)
