"""`StateDatabase` and its `Section`s: transactions, numbered changes, versions; listeners called when another process changes a section.

Theory. A section belongs to one store. Its row in `sections` says which one it is (`mark`, a random number), how many steps it has
taken (`steps`, which only grows and numbers the changes that wait for the audit trail), and its `version`, which every change
moves. A look asks the engine whether anybody else has written at all: one statement, however many stores there are. Only then are
the versions read, and those stores are told whose version is another than they know. What a store of this connection writes
moves the version that is known along with it, so nobody is woken by their own change. A store that reads again what it has written
(`rereads`) says when it has (`Section.read`): until then it is told at each look, or a reading that failed once would leave it with
what it held before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from gatewright.storage.engine import Engine, Result
from gatewright.storage.errors import StoreError
from gatewright.storage.migrations import SECTIONS

__all__ = ["Head", "Section", "StateDatabase"]

_WHOLE = "the state"


class Head(NamedTuple):
    """Which section it is, and how many steps it has taken."""

    mark: int
    steps: int


class StateDatabase:
    """One connection to the state of one folder, of the newest form. Use it from one thread at a time."""

    def __init__(self, engine: Engine) -> None:
        """Raises `StoreError`."""
        self.engine = engine
        self._generation = -1
        self._looked = False
        """Whether the last look could ask the engine."""
        self._known: dict[str, int] = {}
        self._due: dict[str, None] = {}
        self._own: dict[str, None] = {}
        """Sections that this connection has changed, and that their store has still to read again."""
        self._listeners: dict[str, list[Callable[[], object]]] = {}
        self._rereads: set[str] = set()
        self._told: dict[str, set[int]] = {}
        self.look()

    def section(self, name: str, what: str) -> Section:
        """The part of one store; `what` (`the keys`) is what messages call it. Raises `ValueError` for a name that is none."""
        if name not in SECTIONS:
            raise ValueError(
                f"{name!r} is no section of the state database: add it to SECTIONS in storage/migrations.py"
            )
        return Section(self, name, what)

    def look(self) -> None:
        """Call the listeners of each section that another process has changed since the last look. One statement if none has.

        A listener that raises is called again at the next look, and what it raised is raised. Raises `StoreError`.
        """
        self._looked = False
        with self.reported(_WHOLE):
            now = self.engine.generation()  # first: what changes while we read is read again
            if now != self._generation:
                for name, version in self.engine.execute("SELECT name, version FROM sections"):
                    if self._known.get(name) != version:
                        self._known[name] = version
                        self._due[name] = None
                self._generation = now
        self._looked = True
        self._tell()

    def is_current(self, name: str) -> bool:
        """Whether the last look could be made, and all listeners of a section have taken what it found there."""
        return self._looked and name not in self._due and name not in self._own

    def heads(self) -> dict[str, Head]:
        """All sections. Raises the engine's failure."""
        rows = self.engine.execute("SELECT name, mark, steps FROM sections")
        return {name: Head(mark, steps) for name, mark, steps in rows}

    def told_of(self, table: str) -> set[int]:
        """The changes in a table that the audit trail has, and whose rows are still there."""
        return self._told.setdefault(table, set())

    def told(self) -> dict[str, tuple[int, ...]]:
        """The same of all tables that have any."""
        return {table: tuple(numbers) for table, numbers in self._told.items() if numbers}

    def dropped(self, told: Mapping[str, Sequence[int]]) -> None:
        """Forget these numbers, by table: their rows are deleted."""
        for table, numbers in told.items():
            self._told[table].difference_update(numbers)

    def close(self) -> None:
        """Drop all listeners, and close the connection."""
        self._listeners.clear()
        self.engine.close()

    @contextmanager
    def reported(self, what: str) -> Iterator[None]:
        """What fails inside is a `StoreError` that says what (`the keys`) cannot be used."""
        try:
            yield
        except (self.engine.failure, msgspec.MsgspecError) as problem:
            where = self.engine.path
            raise StoreError(f"{what} in {where} cannot be used: {problem}") from problem

    def listen(
        self, name: str, heard: Callable[[], object], *, rereads: bool = False
    ) -> Callable[[], None]:
        """Tell of what other processes change in a section; the result ends that. `rereads`: see the module's text."""
        if rereads:
            self._rereads.add(name)
        listeners = self._listeners.setdefault(name, [])
        listeners.append(heard)

        def end() -> None:
            if heard in listeners:
                listeners.remove(heard)

        return end

    def moved(self, name: str, version: int) -> None:
        """This connection has changed a section, to this version. One that does not follow upon what is known is another
        process's, too: the next look finds it."""
        if name in self._rereads:
            self._own[name] = None
        if self._known.get(name) == version - 1:
            self._known[name] = version

    def read(self, name: str) -> None:
        """Its store has read a section, all that this connection has written with it."""
        self._own.pop(name, None)

    def _tell(self) -> None:
        failed: Exception | None = None
        # A section stays due until all of its listeners have taken it.
        for name in list({**self._due, **self._own}):
            try:
                for heard in self._listeners.get(name, ()):
                    heard()
            except Exception as problem:  # noqa: BLE001 - the others are told first
                failed = problem
            else:
                self._due.pop(name, None)
                self._own.pop(name, None)
        if failed is not None:
            raise failed


class Section:
    """One store's part of the state database. Every method raises `StoreError` but `execute`, which is used within the others."""

    def __init__(self, state: StateDatabase, name: str, what: str) -> None:
        self.state = state
        self.name = name
        self._what = what
        self._ends: list[Callable[[], None]] = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Result:
        """Run one statement. Raises the engine's failure."""
        return self.state.engine.execute(sql, parameters)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """What a question finds."""
        with self.reading():
            return self.execute(sql, parameters).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What fails inside is a `StoreError` that names what cannot be used."""
        with self.state.reported(self._what):
            yield

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction, which other processes hear of."""
        with self.reading():
            with self.state.engine.transaction():
                (version,) = self.execute(
                    "UPDATE sections SET version = version + 1 WHERE name = ? RETURNING version",
                    (self.name,),
                ).fetchone()
                yield
            self.state.moved(self.name, version)

    def read(self) -> None:
        """What is held in memory is what stands here after the last change that was made here."""
        self.state.read(self.name)

    @contextmanager
    def tidying(self) -> Iterator[None]:
        """One transaction that changes nothing that anybody reads."""
        with self.reading(), self.state.engine.transaction():
            yield

    def step(self) -> int:
        """Within a transaction: count a step; its number."""
        sql = "UPDATE sections SET steps = steps + 1 WHERE name = ? RETURNING steps"
        return int(self.execute(sql, (self.name,)).fetchone()[0])

    def steps(self) -> int:
        """How many steps there ever were."""
        sql = "SELECT steps FROM sections WHERE name = ?"
        return int(self.rows(sql, (self.name,))[0][0])

    def listen(self, heard: Callable[[], object], *, rereads: bool = False) -> None:
        """Tell of what other processes change here, until this is closed. It may be told more than once, and must be able to fail.
        `rereads`: also of what is changed here, until that was read again (`read`)."""
        self._ends.append(self.state.listen(self.name, heard, rereads=rereads))

    def is_current(self) -> bool:
        """As `StateDatabase.is_current`."""
        return self.state.is_current(self.name)

    def look(self) -> None:
        """Have everybody told of what other processes have changed."""
        self.state.look()

    def close(self) -> None:
        """Be told no more. The database stays open: others use it."""
        while self._ends:
            self._ends.pop()()
