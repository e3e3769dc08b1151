"""`Reader`: reads one shell command into effects: resolves program and subcommand to a table entry, splits its words, runs its special reader."""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.patterns import Pattern
from gatewright.validators.shell.call import Call, always, fed, read_operands, read_options
from gatewright.validators.shell.effects import At, Effect, marked
from gatewright.validators.shell.names import known_as, program_name
from gatewright.validators.shell.places import HERE, resolve
from gatewright.validators.shell.special import CHECKS, PREPARES, SPECIALS
from gatewright.validators.shell.table import Entry, Operands, Table, table
from gatewright.validators.shell.words import Given, Option, Refused, given
from gatewright.validators.shell_syntax import Word

__all__ = ["Reader", "arguments"]

_MOST_BEFORE = 12
"""Words before a subcommand."""
_DEEPEST = 8
"""Commands within commands."""
_SHORT = Pattern(r"(?:[1-9]\d{0,2}(?:\.\d+)?|0?\.\d+|[1-9](?:\.\d+)?)s?|(?:[1-9]|10)m")
"""How long somebody waits."""
_TIMERS = frozenset({"timeout", "gtimeout"})
_TOOLS = frozenset({"node_modules/.bin", ".venv/bin", "venv/bin", "env/bin", "vendor/bin", "bin", ".bin", ".tox/py/bin"})  # fmt: skip
"""Folders of a workspace with programs that others made."""


_OF_KINDS = frozenset({"kubectl get", "kubectl describe"})


class Reader:
    """Reads commands by the table; `extra` are programs that may have any options."""

    def __init__(self, extra: Sequence[str] = (), *, known: Table | None = None) -> None:
        self._table = known or table()
        self._extra = frozenset(extra)

    def read(self, words: Sequence[Word], at: At, found: list[Effect]) -> None:
        """Add the effects of a command. Raises `Refused` where it is not in the table."""
        if at.depth > _DEEPEST:
            raise Refused("too_long", words[0].text)
        name = program_name(words[0].text)
        if marked(name) or words[0].glob:
            raise Refused("program_name", name)
        if "/" in name:
            base = self._run_path(words, name, at, found)
            if base is None:
                return
            name = base
        if name in self._extra and not self._knows(name):
            found += arguments(name, words)
            return
        if not self._knows(name):
            plain, _, version = name.partition("@")
            # `npx eslint@8`; an alias behind it (`eslint@npm:other`) is another package.
            named = plain if at.depth and _VERSION.fits(version) else name
            name = known_as(named, self._table.entries)
        if not self._knows(name):
            raise Refused("unknown_program", name)
        self._descend(name, words[1:], at, found)

    def _knows(self, name: str) -> bool:
        return name in self._table.entries or name in self._table.parents

    def _run_path(self, words: Sequence[Word], name: str, at: At, found: list[Effect]) -> str | None:  # fmt: skip
        """A program by its path: it is run, and where others have made it, it is read by its name."""
        folder, _, base = name.rpartition("/")
        found.append(Effect("run", resolve(at.folder, name), name, "", name))
        folder = folder.removeprefix("./")
        if self._knows(base) and (folder in _TOOLS or base in {"gradlew", "mvnw", "gradle", "mvn"}):
            return base
        found += arguments(name, words)
        return None

    def _descend(self, name: str, words: Sequence[Word], at: At, found: list[Effect]) -> None:
        """To the subcommand that the words name, or to the last program on the way that runs without one."""
        entries, parents = self._table
        entry, more, depth = entries.get(name), None, at
        alone: Call | None = None
        while name in parents:
            own = entry or _NOTHING
            if entry is not None and (entry.bare or entry.operands.tail):
                alone = Call(self.read, entry, name, words, depth, found)
            step = self._next(name, own, more, words)
            if step is None:
                _hold_subcommand(name, words, depth)
                if entry is None or (alone is None and _has_operand(own, words, more)):
                    break
                return self._entry(Call(self.read, entry, name, words, depth, found), more)
            following, options, words = step
            depth = self._options(own, name, options, depth, found)
            # Options of the program itself may stand behind a subcommand as well, but for git, where they mean something else.
            more = own if not following.startswith("git ") else None
            name, entry = following, entries.get(following)
        else:
            if entry is not None:
                return self._entry(Call(self.read, entry, name, words, depth, found), more)
        if alone is None:
            raise Refused("subcommand", f"{name} {words[0].text if words else ''}")
        return self._entry(alone, None)

    def _next(self, name: str, own: Entry, more: Entry | None, words: Sequence[Word]) -> tuple[str, Sequence[Option], Sequence[Word]] | None:  # fmt: skip
        """The subcommand that follows, the options before it, and the words behind it; None where no such follows."""
        entries, parents = self._table
        # A program by another of its names has the same subcommands.
        names = {name: 0, own.names[0]: 0} if " " not in name and own.names[0] else {name: 0}
        for at, word in enumerate(words[:_MOST_BEFORE]):
            text = self._kind(name, word.text) if name in _OF_KINDS else word.text
            for known in names:
                following = f"{known} {text}"
                if following in entries or following in parents:
                    before, read = given(own, words[:at], more=more)
                    if not before.operands and read == at:
                        return following, before.options, words[at + 1 :]
            if word.text[:1] != "-" and at and words[at - 1].text[:1] != "-":
                break
        if name == "cargo" and words and words[0].text.startswith("+"):
            return self._next(name, own, more, words[1:])
        return None

    def _kind(self, name: str, text: str) -> str:
        """One kind of what is asked for, where all that are named are judged alike: `pods,svc`, `deploy/web`."""
        kinds = [one.partition("/")[0] for one in text.split(",")]
        entries = {id(self._table.entries.get(f"{name} {one}")) for one in kinds}
        return kinds[0] if len(entries) == 1 else text

    def _options(self, entry: Entry, name: str, options: Sequence[Option], at: At, found: list[Effect]) -> At:  # fmt: skip
        """The effects of options that stand before a subcommand, and where it runs."""
        call = Call(self.read, entry, name, (), at, found)
        call.does.clear()
        read_options(call, options)
        always(call)
        return call.at

    def _entry(self, call: Call, more: Entry | None) -> None:
        special = SPECIALS.get(call.entry.special)
        _hold_unseen(call)
        if _asks_version(call) or (special is not None and special(call)):
            return
        operands, rest = _given(call, more)
        read_options(call, call.given.options)
        checked = CHECKS.get(call.entry.special) or CHECKS.get(call.entry.names[0])
        slots, left = operands.slots, call.given.operands
        if checked is not None:
            slots, left = tuple(one for one in slots if one.kind != "code"), checked(call)
        read_operands(call, slots, left)
        always(call)
        fed(call, bool(call.given.operands))
        if operands.tail == "command":
            ends = call.has("-k", "--kill-after") or not call.has("-s", "--signal")
            if call.name in _TIMERS and ends and all(_SHORT.fits(one.text) for one in left):
                call.at = call.at._replace(bounded=True)
            call.command(rest)
        elif operands.tail == "again":
            call.command([Word(call.name.partition(" ")[0]), *rest])
        else:
            for word in rest:
                call.add("argument", None, word.text, "operand")


def _hold_subcommand(name: str, words: Sequence[Word], at: At) -> None:
    """Refuse a word that nobody has seen where it may be a subcommand that is known for more."""
    mark = marked(words[0].text) if words else ""
    if mark and at.listed.get(mark) is None:
        raise Refused("unknown_arguments", name)


def _hold_unseen(call: Call) -> None:
    """Refuse what nobody has seen outside of quotes, where it may be several words, whatever reads them afterwards."""
    if call.is_plain:
        return
    if not call.entry.operands.tail and call.entry.special not in _STARTING:
        for word in call.words:
            if word.bare and not word.text.isascii():
                call.seen(word)


_STARTING = frozenset({"env", "xargs"})
"""What reads its words by itself up to the program that it starts."""


def arguments(name: str, words: Sequence[Word]) -> list[Effect]:
    """The words of a program that nobody knows, or that may have any."""
    jokers = [resolve(HERE, one.text, glob=True) if one.glob else None for one in words[1:]]
    return [
        Effect("argument", path, one.text, "operand", name)
        for path, one in zip(jokers, words[1:], strict=True)
    ]


def _given(call: Call, more: Entry | None) -> tuple[Operands, Sequence[Word]]:
    """What the operands of a command are, and the words that belong to another program. Its options and operands are kept."""
    operands = call.entry.operands
    prepared = PREPARES.get(call.entry.special) or PREPARES.get(call.entry.names[0])
    words: Sequence[Word] = call.words if prepared is None else prepared(call)
    if not operands.tail:
        call.given, _ = given(call.entry, words, more=more)
        return _instead(call.given) or operands, ()
    if operands.dashed:
        at = next((at for at, one in enumerate(words) if one.text == "--"), len(words))
        call.given, _ = given(call.entry, words[:at], more=more)
        return _instead(call.given) or operands, words[at + 1 :]
    if operands == _REST and not (call.entry.letters or call.entry.longs):
        return operands, words
    most = len(operands.slots)
    call.given, read = given(call.entry, words, most=max(most, 1), more=more)
    instead = _instead(call.given)
    if instead is not None and not instead.tail:
        call.given, _ = given(call.entry, words, more=more)
        return instead, ()
    if most == 0 and call.given.operands:
        call.given, read = call.given._replace(operands=[]), read - 1
    return instead or operands, words[read:]


_REST = Operands((), "rest")


def _has_operand(own: Entry, words: Sequence[Word], more: Entry | None) -> bool:
    return bool(given(own, words, most=1, more=more)[0].operands)


def _instead(found: Given) -> Operands | None:
    """The operands that options say, those that change something first."""
    if not found.options:
        return None
    said = [one.opt.instead for one in found.options if one.opt.instead is not None]
    if not said:
        return None
    changing = (one for one in said if any(slot.kind in _CHANGING for slot in one.slots))
    return next(changing, said[0])


_CHANGING = frozenset({"writes", "deletes", "script", "code"})


def _asks_version(call: Call) -> bool:
    """Whether a program is asked nothing but its version, or how it is used."""
    if len(call.words) != 1 or call.words[0].text not in _VERSIONS:
        return False
    name = call.words[0].text
    opt = call.entry.longs.get(name[2:]) if name[1] == "-" else call.entry.letters.get(name[1:])
    return opt is not None and (
        name[1] == "-" or (opt.instead is not None and not opt.instead.slots)
    )


_VERSION = Pattern(r"[\w.^~*+-]+")
_VERSIONS = frozenset({"--version", "--help", "-V", "-v", "-h"})


_NOTHING = Entry(
    ("",),
    "",
    {},
    {},
    {},
    frozenset(),
    Operands(()),
    "reads",
    "",
    bare=False,
    closed=False,
    examples={},
)
