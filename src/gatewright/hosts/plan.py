"""Plans an import (`Plan`): ids, secret names and limits of the servers to write; skips those already there, refuses ones without consent.

What is there already comes in (`Known`), what would be written comes out (`Plan`). Nothing that goes to people has a
literal secret in it; the secrets themselves are in `secrets`, which no repr shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import msgspec

from gatewright.command_text import to_type
from gatewright.config.limits import Limits
from gatewright.config.variable_risks import is_ours, loads_code
from gatewright.hosts.env_assignments import assigned
from gatewright.hosts.model import Note, Reading, Server, Source, Suggestion
from gatewright.hosts.packages import Unpinned, unpinned
from gatewright.hosts.placeholders import pieces, references
from gatewright.hosts.secret_references import secure
from gatewright.hosts.tables import connection, differing, table_of, unsaid
from gatewright.hosts.tool_rules import tightened
from gatewright.patterns import Pattern
from gatewright.secret_scanning.credentials import (
    is_placeholder,
    looks_secret,
    mask,
    mask_reference,
)
from gatewright.secret_scanning.message_text import shown

__all__ = ["Known", "Plan", "Planned", "make_plan"]

Action = Literal["add", "replace"]

_SAME_NAME = 50
"""How many servers of one name are told apart: each is compared with all of them."""

_OURS = Pattern(r"(?:^|[/\\])gatewright(?:\.exe)?\Z")


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is there already.

    `tables`: id → table of `[[servers]]`. `secret`: name → value or None. `own`: whether this file alone may use a secret.
    `urls`: the gateway's addresses. `folder`: of the file. `version`: the version of a package that ran here last, or "".
    `flaw`: why a table could not be loaded, or "". `permits`: whether the person agrees that a server sets variables that
    choose what a program loads, or is given these references (`secret:NAME`, `file:PATH`) to what is there already.
    """

    tables: Mapping[str, Mapping[str, Any]] = {}
    secret: Callable[[str], str | None] = lambda _: None
    own: Callable[[str], bool] = lambda _: True
    urls: Collection[str] = ()
    folder: str = ""
    version: Callable[[Unpinned], str] = lambda _: ""
    flaw: Callable[[Mapping[str, Any]], str] = lambda _: ""
    permits: Callable[[str, tuple[str, ...]], bool] = lambda _server, _names: False
    tool_rates: Mapping[str, int] = {}
    """How often any tool may be called, by the keys of a rate."""
    isolation: str = "none"
    """What a program that comes in is kept to."""
    result_bytes: int = Limits().server_frame_bytes
    """The largest result of any tool."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One server that would be written. `secrets` were literal, `reads` is all that has to be there."""

    id: str
    action: Action
    title: str
    transport: str
    table: Mapping[str, Any]
    source: Source
    secrets: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    unpinned: Unpinned | None = None

    def __repr__(self) -> str:
        """Values are left out."""
        return f"Planned(id={self.id!r}, action={self.action!r})"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that would be written, and what is to be known about it."""

    servers: tuple[Planned, ...] = ()
    secrets: Mapping[str, str] = {}
    notes: tuple[Note, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    held: tuple[Source, ...] = ()
    """Where the servers stand that need not be written, because they are there."""

    def __repr__(self) -> str:
        """Values are left out."""
        return f"Plan(servers={self.servers!r})"

    @property
    def refused(self) -> int:
        """How many servers were left out that should not have been."""
        return sum(note.level == "refused" for note in self.notes)


def make_plan(readings: Sequence[Reading], known: Known, *, replace: bool = False) -> Plan:
    """The plan for everything that was read. `replace` takes the place of servers of the same id."""
    making = _Making(known, replace)
    for reading in readings:
        renamed = {server.id: making.place(server) for server in reading.servers}
        making.tell(reading, renamed)
    return Plan(
        servers=tuple(making.servers.values()),
        secrets=making.secrets,
        notes=tuple(making.notes),
        suggestions=tuple(making.suggestions),
        held=tuple(making.held),
    )


class _Making:
    """The plan while it grows."""

    def __init__(self, known: Known, replace: bool) -> None:
        self.known = known
        self.replace = replace
        self.servers: dict[str, Planned] = {}
        self.secrets: dict[str, str] = {}
        self.notes: list[Note] = []
        self.suggestions: list[Suggestion] = []
        self.held: list[Source] = []

    def place(self, server: Server) -> str:
        """Give a server its place: the id that it got, empty where it is left out."""
        if _is_ours(server, self.known.urls):
            self._leave(server, "skipped", "this is the gateway itself", "nothing to do")
            return ""
        for candidate in islice(_candidates(server.id), _SAME_NAME):
            mine: dict[str, str] = {}
            # Not over a server of this very import: two sources may have one of the same name.
            over = self.replace and candidate in self.known.tables and candidate not in self.servers
            # Before its secrets are named: their names begin with the id.
            named = msgspec.structs.replace(server, id=candidate)
            clean = secure(named, lambda wish, value: self._keep(wish, value, mine, over))  # noqa: B023 - called at once
            table = self._limited(table_of(clean, self.known.folder))
            held = self._held(candidate)
            folder = self.known.folder
            if held is not None and connection(held, folder) == connection(table, folder):
                self._leave(server, "skipped", f"{candidate} is the same server", "nothing to do")
                if rules := differing(table, held):
                    what = f"not taken over, as {candidate} is there already: {', '.join(rules)}"
                    self._leave(server, "warning", what, "see whether it matters")
                self.held.append(server.source)
                return candidate
            if held is None or over:
                return self._take(clean, table, mine, over)
        self._leave(server, "refused", "there are too many servers of this name", "rename it")
        return ""

    def tell(self, reading: Reading, renamed: Mapping[str, str]) -> None:
        """Notes and suggestions of a reading, under the names that the servers have now."""
        for note in reading.notes:
            name = renamed.get(note.server, note.server) or note.server
            self.notes.append(msgspec.structs.replace(note, server=name))
        for one in reading.suggestions:
            if name := renamed.get(one.server, ""):
                self.suggestions.append(msgspec.structs.replace(one, server=name))

    def _limited(self, table: dict[str, Any]) -> dict[str, Any]:
        """A table whose limits for single tools, which replace ours, are none above ours, and whose program is isolated as all
        are that come in."""
        own = "isolation" in table or (table.get("mgp") or {}).get("trust_level") == "sandboxed"
        if "command" in table and self.known.isolation != "none" and not own:
            table = {**table, "isolation": self.known.isolation}
        if "tools" not in table:
            return table
        rates, size = self.known.tool_rates, self.known.result_bytes
        tools = {name: tightened(rule, rates, size) for name, rule in table["tools"].items()}
        return {**table, "tools": tools}

    def _held(self, server: str) -> Mapping[str, Any] | None:
        planned = self.servers.get(server)
        return planned.table if planned is not None else self.known.tables.get(server)

    def _keep(self, wish: str, value: str, mine: dict[str, str], over: bool) -> str:
        """The name for a secret: the wished one unless another value has it. A placeholder is not
        kept: its server stays down until somebody sets the secret."""
        if is_placeholder(value):
            return wish
        for name in _candidates(wish):
            held = mine.get(name) or self.secrets.get(name)
            # A secret that only the replaced server's file uses goes with that server; any other keeps its value.
            if held is None and not (over and self.known.own(name)):
                held = self.known.secret(name)
            if held is None or held == value:
                mine[name] = value
                return name
        raise AssertionError("the candidates have no end")

    def _take(self, server: Server, table: dict[str, Any], mine: dict[str, str], over: bool) -> str:
        if _has_secret(table):
            self._leave(server, "refused", "a name in it looks like a secret", "rename it there")
            return ""
        if flaw := self.known.flaw(table):
            self._leave(server, "refused", "our file could not hold it", flaw)
            return ""
        if objection := self._objection(server.id, table, mine):
            self._leave(server, "refused", *objection)
            return ""
        # Not before: the secrets of a server that was refused are not kept.
        self.secrets |= mine
        loose = unpinned(server.command, server.args) if server.transport == "stdio" else None
        self.servers[server.id] = Planned(
            id=server.id,
            action="replace" if over else "add",
            title=mask(" ".join(server.title.split()))[:200],
            transport=server.transport,
            table=table,
            source=server.source,
            secrets=tuple(mine),
            reads=tuple(dict.fromkeys(_reads(table))),
            unpinned=None if loose is None else self._pinned(loose),
        )
        self.notes += unsaid(server)
        return server.id

    def _objection(
        self, server: str, table: Mapping[str, Any], mine: Mapping[str, str]
    ) -> tuple[str, str] | None:
        """Why what a server is given of us, or is to load, keeps it out, and what to do."""
        ours = [name for name in _reads(table) if is_ours(name)]
        if ours:
            what = f"it would be given {', '.join(ours)}, which belongs to the gateway"
            return what, "take it out there, or write a value of its own"
        given = tuple(dict.fromkeys(self._given(server, table, mine)))
        if given and not self.known.permits(server, given):
            named = ", ".join(f"${{{mask_reference(one)}}}" for one in given)
            options = "import FILE" + " --allow-reference {}" * len(given)
            return (
                f"it would be given {named} of yours",
                f"if it is meant: `{to_type(options, *given)}`",
            )
        typed = assigned(table.get("command", ""), table.get("args", ()))
        variables = dict.fromkeys((*table.get("env", {}), *typed))
        chosen = tuple(name for name in variables if loads_code(name))
        if not chosen or self.known.permits(server, chosen):
            return None
        options = "import FILE" + " --allow-env {}" * len(chosen)
        what = f"it sets {', '.join(chosen)}, which chooses what a program loads"
        return what, f"if it is meant: `{to_type(options, *chosen)}`"

    def _given(
        self, server: str, table: Mapping[str, Any], mine: Mapping[str, str]
    ) -> Iterator[str]:
        """What it would read of us that did not come with it, and that our own server of this id does not read already."""
        before = set(_reads(self.known.tables.get(server, {})))
        for one in _reads(table):
            kind, _, name = one.partition(":")
            # A secret of another configuration is not given away by this: its use is refused until somebody allows it.
            held = kind == "secret" and name not in mine and self.known.own(name)
            if one not in before and (
                kind == "file" or (held and self.known.secret(name) is not None)
            ):
                yield one

    def _pinned(self, loose: Unpinned) -> Unpinned:
        pin = loose.pin.replace("VERSION", self.known.version(loose) or "VERSION")
        return Unpinned(shown(loose.package), shown(pin))

    def _leave(self, server: Server, level: Any, what: str, instead: str) -> None:
        self.notes.append(
            Note(level=level, server=server.id, key=server.source.key, what=what, instead=instead)
        )


def _candidates(name: str) -> Iterator[str]:
    """The name, then the name with a number."""
    yield name
    for number in range(2, 10_000):
        # With the number within the 64 characters of an id.
        yield f"{name[:58]}-{number}"


def _is_ours(server: Server, urls: Collection[str]) -> bool:
    """Whether an entry leads back to this gateway: what `connect` wrote, or somebody by hand."""
    if server.transport != "stdio":
        return server.url.rstrip("/") in {url.rstrip("/") for url in urls}
    words = [server.command, *server.args]
    # `python -P -m gatewright`, as `connect` writes it where no script is installed.
    module = [word for word in words[1:4] if word != "-P"][:2]
    # Behind a runner as well: `uvx gatewright bridge`.
    called = any(_OURS.search(word) for word in words[:4]) or module == ["-m", "gatewright"]
    return called and bool({"bridge", "serve"} & set(words))


_CLEANED = ("command", "args", "cwd", "url", "env", "headers")


def _has_secret(table: Mapping[str, Any]) -> bool:
    """Whether a secret would stand where no reference can stand for it: in a name, or a word of ours."""
    names = [*table.get("env", {}), *table.get("headers", {})]
    rest = {key: value for key, value in table.items() if key not in _CLEANED}
    read = [name for name in _reads(table) if not name.startswith("secret:")]
    return any(map(looks_secret, [*names, *_words(rest), *read]))


def _words(value: Any) -> Iterator[str]:
    """All names and texts inside a value, of what they refer to only the defaults."""
    if isinstance(value, str):
        yield from (piece.text or piece.default for piece in pieces(value))
    elif isinstance(value, Mapping):
        yield from map(str, value)
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _words(one)


def _reads(value: Any) -> Iterator[str]:
    """What all texts of a table refer to."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _reads(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _reads(one)
