"""Opens the state database: creates it, migrates it and takes over former files for writers; reads it unchanged for readers.

Theory. All migrations, and everything that former files say, are one transaction of `state.db`: before its end the folder is what it
was, after it the former files are never read again. They get another name behind it, and a crash in between leaves files whose
digest is in the database: the next one that opens it renames them. A former file with another content was changed since,
by an older version or by hand, and nobody goes on before an operator has said which of the two counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gatewright.storage.engine import Driver, Engine
from gatewright.storage.errors import StoreDamagedError, StoreError, StoreTooNewError
from gatewright.storage.former_files import FILES, Held, former_files, held, put_aside
from gatewright.storage.lock import without_gateway
from gatewright.storage.migrations import MIGRATIONS, SECTIONS
from gatewright.storage.sqlite import SQLITE
from gatewright.storage.state import Head, StateDatabase

__all__ = ["Check", "StateView", "beside", "is_current", "open_state", "view_of", "view_state"]


class StateView:
    """The state of a folder, read and left unchanged: the database where it can be read, else why not, by section."""

    def __init__(
        self,
        database: StateDatabase | None,
        names: Mapping[str, str],
        problems: Mapping[str, str] | None = None,
    ) -> None:
        self.database = database
        """None where there is nothing that can be read."""
        self.names = names
        """What each section that is there is called in messages."""
        self.problems = dict(problems or {})
        """Why a section cannot be read; the key is empty where none can be."""

    def heads(self) -> dict[str, Head]:
        """The sections that are there. Raises the engine's failure."""
        found = {} if self.database is None else self.database.heads()
        return {name: one for name, one in found.items() if name in self.names}

    def readable(self) -> StateDatabase:
        """The database. Raises `StoreError` where anything cannot be read."""
        for problem in self.problems.values():
            raise StoreError(problem)
        assert self.database is not None  # noqa: S101 - else there is a problem
        return self.database

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What a question to it raises when it fails."""
        return (
            (StoreError,) if self.database is None else (StoreError, self.database.engine.failure)
        )

    def close(self) -> None:
        """Let go of it."""
        if self.database is not None:
            self.database.close()


Check = Callable[[StateView], None]
"""Raises `StoreError` where a state must not be taken over as it is found."""


def open_state(
    folder: Path, check: Check, driver: Driver = SQLITE, *, current: Check | None = None
) -> StateDatabase:
    """The state of a folder, which is made where there is none, for reading and writing.

    `check` is asked about what is found before anything of it is made or changed, `current` where nothing has to be. Raises `StoreError`: among them
    `StoreBusyError` where a gateway runs on a folder of another form, `StoreTooNewError`; `OSError` where there can be no folder.
    """
    if not is_current(folder, driver):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Against a gateway, and against a second command that migrates.
        with without_gateway(folder, _why(folder, driver)):
            return _state(_brought_up(folder, check, driver))
    state = _state(_opened(folder, driver.open, driver))
    try:
        if current is not None:
            current(view_of(state, driver))
    except BaseException:
        state.close()
        raise
    return state


def beside(state: StateDatabase, driver: Driver = SQLITE) -> StateDatabase:
    """Another connection to the same state, for another thread. Raises `StoreError`."""
    return _state(_opened(state.engine.path.parent, driver.open, driver))


def is_current(folder: Path, driver: Driver = SQLITE) -> bool:
    """Whether a folder has a state of the newest form, and nothing else. Raises `StoreError`."""
    return _form(folder, driver) == len(MIGRATIONS) and not former_files(folder)


def view_state(folder: Path, driver: Driver = SQLITE) -> StateView:
    """The state of a folder as it is, of which nothing is changed. What is of a former form is read into memory.

    Raises `StoreError` for a state of a form that cannot be read.
    """
    try:
        form, engine = _found(folder, driver)
    except StoreTooNewError:
        raise
    except StoreError as problem:
        return StateView(None, {}, {"": str(problem)})
    if engine is not None and form == len(MIGRATIONS):
        return view_of(_state(engine), driver)
    if engine is not None:
        engine.close()
    if form:
        raise StoreError(
            f"{folder / driver.file} is of an older form ({form}, now {len(MIGRATIONS)}): start the gateway once to update it"
        )
    return _in_memory(folder, driver)


def view_of(state: StateDatabase, driver: Driver = SQLITE) -> StateView:
    """The same of a state that is open already, and of the newest form."""
    return StateView(state, _names(driver))


def _why(folder: Path, driver: Driver) -> str:
    if _form(folder, driver) == len(MIGRATIONS):
        files = ", ".join(one.name for one in former_files(folder))
        return f"and files of a former version lie beside {driver.file} ({files}): move them away"
    return (
        "which is not of this version's form: it belongs to a former version, or "
        f"lost its {driver.file}: stop it"
    )


def _names(driver: Driver) -> dict[str, str]:
    return {name: f"{name} in {driver.file}" for name in SECTIONS}


def _state(engine: Engine) -> StateDatabase:
    try:
        return StateDatabase(engine)
    except BaseException:
        engine.close()
        raise


def _in_memory(folder: Path, driver: Driver) -> StateView:
    engine = driver.memory()
    _make(engine)
    names: dict[str, str] = {}
    problems: dict[str, str] = {}
    taking = _Taking(engine)
    for path in former_files(folder):
        try:
            with held(path, alone=False) as one:
                taking.take(one)
        except StoreError as problem:
            problems[FILES[path.name]] = str(problem)
        else:
            names[FILES[path.name]] = path.name
    taking.end()
    return StateView(_state(engine), names, problems)


def _form(folder: Path, driver: Driver) -> int:
    """How many migrations a folder's state has had; 0 where there is none, or a crash has left an empty one."""
    form, engine = _found(folder, driver)
    if engine is not None:
        engine.close()
    return form


def _found(folder: Path, driver: Driver) -> tuple[int, Engine | None]:
    """The same, and the state opened for reading; None where there is none."""
    try:
        if driver.place(folder) is None:
            return 0, None
        with ExitStack() as stack:
            engine = _opened(folder, driver.look, driver)
            stack.callback(engine.close)
            form = engine.form()
            if form <= len(MIGRATIONS):
                stack.pop_all()
                return form, engine
    except (StoreError, NotADirectoryError):  # below a file: a wrong path, and no damaged store
        raise
    except Exception as problem:
        raise _unusable(folder, driver, problem) from problem
    raise StoreTooNewError(
        f"{folder / driver.file} was written by a newer Gatewright (form {form}, this one knows {len(MIGRATIONS)}): "
        "update Gatewright, or give it another state folder"
    )


def _opened(folder: Path, opens: Callable[[Path], Engine], driver: Driver) -> Engine:
    try:
        return opens(folder)
    except Exception as problem:
        if isinstance(problem, StoreError):
            raise
        raise _unusable(folder, driver, problem) from problem


# -- bringing up


def _brought_up(folder: Path, check: Check, driver: Driver) -> Engine:
    """Of the newest form, and open. Nobody else does that, and no gateway runs."""
    with ExitStack() as kept:
        engine = _opened(folder, driver.open, driver)
        kept.callback(engine.close)
        with ExitStack() as stack:
            files = [stack.enter_context(held(path, alone=True)) for path in former_files(folder)]
            try:
                with engine.transaction():
                    form = engine.form()
                    if form < len(MIGRATIONS):
                        _upgrade(engine, files if form == 0 else (), check, driver)
                    if form:
                        _compare(engine, files, folder / driver.file)
            except engine.failure as problem:
                raise _unusable(folder, driver, problem) from problem
            # Behind the commit, with the files still held: a crash here is finished by whoever opens the folder next.
            for one in files:
                put_aside(one)
        kept.pop_all()
    return engine


def _upgrade(engine: Engine, files: Sequence[Held], check: Check, driver: Driver) -> None:
    new = not engine.form()
    _make(engine)
    taking = _Taking(engine)
    for one in files:
        taking.take(one)
    taking.end()
    if new:
        names = {one.section: one.path.name for one in files}
        # Inside the transaction: where it raises, the folder is what it was.
        check(StateView(StateDatabase(engine), names))
    engine.set_form(len(MIGRATIONS))


def _make(engine: Engine) -> None:
    for migration in MIGRATIONS[engine.form() :]:
        for step in migration.steps:
            engine.apply(step)
    for name in SECTIONS:
        engine.execute(
            "INSERT INTO sections (name, mark, steps, version) VALUES (?, ?, 0, 0) ON CONFLICT DO NOTHING",
            (name, int.from_bytes(os.urandom(4)) >> 1 or 1),
        )


class _Taking:
    """Former files into a new database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places: list[tuple[Any, ...]] = []

    def take(self, one: Held) -> None:
        """Everything that it says. Raises `StoreError`."""
        head, digest = one.take(self._put)
        self._engine.execute(
            "UPDATE sections SET mark = ?, steps = ? WHERE name = ?",
            (head.mark, head.steps, one.section),
        )
        self._engine.execute(
            "INSERT INTO former_files (name, digest) VALUES (?, ?)", (one.path.name, digest)
        )

    def end(self) -> None:
        """How far the record had come when any of them last heard of it."""
        if self._places:
            self._write("recorded", _PLACE, max(self._places, key=lambda row: row[_SEQ]))

    def _put(self, table: str, columns: tuple[str, ...], row: tuple[Any, ...]) -> None:
        if table == "recorded":
            self._places.append(row)
        else:
            self._write(table, columns, row)

    def _write(self, table: str, columns: tuple[str, ...], row: tuple[Any, ...]) -> None:
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - constants
        self._engine.execute(sql, row)


_PLACE = ("one", "seq", "hash", "segment", "ends")
_SEQ = _PLACE.index("seq")


def _compare(engine: Engine, files: list[Held], state: Path) -> None:
    """Raises `StoreDamagedError` where a former file is another than the one that was taken over."""
    known = dict(engine.execute("SELECT name, digest FROM former_files"))
    for one in files:
        _, digest = one.take(lambda *_: None)
        if known.get(one.path.name) != digest:
            raise StoreDamagedError(
                f"{one.path} has been written since {state} took the place of such files, by an older Gatewright or by hand. To go "
                f"on with {state.name} move {one.path.name} away; to go on with the former files move {state.name} away"
            )


def _unusable(folder: Path, driver: Driver, problem: Exception) -> StoreError:
    place = folder / driver.file
    return StoreError(
        f"the store {place} cannot be used: {problem}; check its owner, mode and disk"
    )
