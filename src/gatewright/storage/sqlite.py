"""SQLite engine: creates, opens and migrates database files (`Database`); `StateFile`: `state.db` as an `Engine`. Only this file uses sqlite3.

Theory: one writer per file, write-ahead log, readers beside it. A statement runs outside Python's
global lock, so work given to SQLite as one statement costs the event loop nothing but a core.

A store carries its version in `PRAGMA user_version`. `migrations[n]` are the statements that bring
version n to n + 1; they run in one transaction, so a crash leaves the old version whole.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

from gatewright.storage.errors import StoreError, StoreTooNewError
from gatewright.storage.schema import Column, Index, Step, Table

__all__ = ["SQLITE", "Database", "DatabaseError", "StateFile"]

DatabaseError = sqlite3.Error
"""What a statement raises when it fails."""

_OLDEST = (3, 38, 0)  # generated columns and JSON functions compiled in
_BUSY_MS = 5000
_AGAIN_SECONDS = 0.01
_PAGE_BYTES = 8192
_HEADER = 100
_FOREIGN = 2**31 - 1
_TYPES = {"text": "TEXT", "integer": "INTEGER", "real": "REAL", "bytes": "BLOB"}


class Database:
    """One connection. Use it from one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    def open(cls, path: Path, migrations: Sequence[Sequence[str]]) -> Database:
        """Open for reading and writing; create the file (mode 0600) or bring it up to date.

        Raises `StoreTooNewError` for a store of a later version, `StoreError` for anything unusable.
        """
        try:
            _create(path)
            database = cls(_connect(path, "rwc"), path)
        except (OSError, sqlite3.Error) as problem:
            raise _unusable(path, problem) from problem
        try:
            database._prepare(migrations)
        except sqlite3.Error as problem:
            database.close()
            raise _unusable(path, problem) from problem
        except StoreTooNewError:
            database.close()
            raise
        return database

    @classmethod
    def open_to_read(cls, path: Path, version: int) -> Database:
        """Open an existing store of exactly `version`. Temporary tables may still be written."""
        try:
            database = cls(_connect(path, "ro"), path)
        except sqlite3.Error as problem:
            raise _unusable(path, problem) from problem
        try:
            found = database.version()
        except sqlite3.Error as problem:
            database.close()
            raise _unusable(path, problem) from problem
        if found != version:
            database.close()
            raise _other_version(path, found, version)
        return database

    @classmethod
    def open_to_look(cls, path: Path) -> Database:
        """Open an existing store of any version, to read from it: its `mark`, its `steps`, its rows. Raises `DatabaseError`."""
        return cls(_connect(path, "ro"), path)

    @classmethod
    def open_to_note(cls, path: Path) -> Self:
        """Open an existing store of any version for a small change that waits for nobody, neither for another writer nor for the
        disk. Raises `DatabaseError`."""
        connection = _connect(path, "rw")
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as problem:
            connection.close()
            raise DatabaseError(str(problem)) from problem
        return cls(connection, path)

    @classmethod
    def open_to_hold(cls, path: Path) -> Database:
        """Open an existing store of any version, to keep all others from it (`hold`). Raises `DatabaseError`."""
        return cls(_connect(path, "rw"), path)

    @classmethod
    def make_foreign(cls, path: Path) -> None:
        """Make a file that every version takes for one of a newer version, and refuses. Raises `DatabaseError`, `OSError`."""
        _create(path)
        with contextlib.closing(cls(_connect(path, "rw"), path)) as made:
            made.execute("CREATE TABLE IF NOT EXISTS everything_is_in_state_db (x)")
            made.execute(f"PRAGMA user_version = {_FOREIGN}")

    @staticmethod
    def is_foreign(path: Path) -> bool:
        """Whether it is such a file. Not for one that this process has open: to close it gives up the locks. Raises `OSError`."""
        with path.open("rb") as file:
            head = file.read(_HEADER)
        # `user_version` of the file format.
        return len(head) == _HEADER and int.from_bytes(head[60:64]) == _FOREIGN

    def hold(self) -> bool:
        """Nobody else reads or writes the file until this is closed, also whoever opens it later and still has it open when it
        has got another name; whether nobody had it open. What its log has is in the file then."""
        try:
            # Leaving write-ahead mode takes an exclusive lock, so it fails while any other connection is open.
            (mode,) = self.execute("PRAGMA journal_mode = DELETE").fetchone()
            if mode != "delete":
                return False
            self.execute("PRAGMA locking_mode = EXCLUSIVE")
            self.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return False
        else:
            return True

    @property
    def mark(self) -> int:
        """What tells this file from every other: a random number that it was given when it was first opened."""
        return int(self.execute("PRAGMA application_id").fetchone()[0])

    def steps(self, table: str) -> int:
        """How many rows were ever put into a table with an AUTOINCREMENT key. Rows that are taken out stay counted."""
        found = self.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return 0 if found is None else int(found[0])

    def version(self) -> int:
        """The version of the store's form."""
        return int(self.execute("PRAGMA user_version").fetchone()[0])

    def data_version(self) -> int:
        """A number that changes whenever another connection has changed the file."""
        return int(self.execute("PRAGMA data_version").fetchone()[0])

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement. The result is an iterable of tuples. Raises `DatabaseError`."""
        return self._connection.execute(sql, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; waits up to five seconds for another writer."""
        # IMMEDIATE: else one that reads first and writes later fails where another has written in between.
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")

    @contextmanager
    def reported(self, what: str) -> Iterator[None]:
        """What fails inside is a `StoreError` that says what (`the keys`) cannot be used."""
        try:
            yield
        except DatabaseError as problem:
            raise StoreError(f"{what} in {self.path} cannot be used: {problem}") from problem

    @contextmanager
    def changing(self, what: str) -> Iterator[None]:
        """One transaction, and what fails in it is a `StoreError` that says what cannot be used."""
        with self.reported(what), self.transaction():
            yield

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._connection.close()

    def _prepare(self, migrations: Sequence[Sequence[str]]) -> None:
        self._settle()
        self._migrate(migrations)
        self._name()

    def _settle(self) -> None:
        self.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        self._use_wal()
        self.execute("PRAGMA synchronous = FULL")
        self.execute("PRAGMA foreign_keys = ON")

    def _name(self) -> None:
        if self.mark:
            return
        with self.transaction():
            if not self.mark:  # once more: another process may have been faster
                number = int.from_bytes(os.urandom(4)) >> 1 or 1
                self.execute(f"PRAGMA application_id = {number}")

    def _use_wal(self) -> None:
        # SQLite does not wait by itself here: two who turn the same new file would wait for each other.
        end = time.monotonic() + _BUSY_MS / 1000
        while True:
            try:
                self.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as problem:
                if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(_AGAIN_SECONDS)
            else:
                return

    def _migrate(self, migrations: Sequence[Sequence[str]]) -> None:
        if self.version() == len(migrations):
            return
        with self.transaction():
            found = self.version()  # once more: another process may have been faster
            if found > len(migrations):
                raise _other_version(self.path, found, len(migrations))
            for step in migrations[found:]:
                for statement in step:
                    self.execute(statement)
            self.execute(f"PRAGMA user_version = {len(migrations)}")


class StateFile(Database):
    """SQLite as `storage.engine.Engine`."""

    failure: type[Exception] = DatabaseError

    def generation(self) -> int:
        """`PRAGMA data_version`."""
        return self.data_version()

    def wait_at_most(self, seconds: float) -> None:
        """`PRAGMA busy_timeout`."""
        self.execute(f"PRAGMA busy_timeout = {int(seconds * 1000):d}")

    def form(self) -> int:
        """`PRAGMA user_version`."""
        return self.version()

    def set_form(self, number: int) -> None:
        """`PRAGMA user_version`."""
        self.execute(f"PRAGMA user_version = {number:d}")

    def apply(self, step: Step) -> None:
        """Make a table, a column or an index."""
        if isinstance(step, Table):
            columns = ", ".join(f"{name} {_typed(said)}" for name, said in step.columns.items())
            key = ", ".join(step.key)
            self.execute(f"CREATE TABLE {step.name} ({columns}, PRIMARY KEY ({key})) STRICT")
        elif isinstance(step, Column):
            self.execute(f"ALTER TABLE {step.table} ADD COLUMN {step.name} {_typed(step.type)}")
        elif isinstance(step, Index):
            self.execute(f"CREATE INDEX {step.name} ON {step.table} ({', '.join(step.columns)})")

    def octets(self, column: str) -> str:
        """A text as BLOB is its bytes."""
        return f"length(CAST({column} AS BLOB))"


class _Driver:
    """SQLite as `storage.engine.Driver`: one file in the state folder."""

    file = "state.db"

    def place(self, folder: Path) -> tuple[int, int] | None:
        """Device and inode."""
        try:
            status = (folder / self.file).stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def open(self, folder: Path) -> StateFile:
        """Write-ahead log, every commit on disk."""
        path = folder / self.file
        _create(path)
        return _prepared(StateFile(_connect(path, "rw"), path))

    def look(self, folder: Path) -> StateFile:
        """A connection that cannot write."""
        path = folder / self.file
        return StateFile(_connect(path, "ro"), path)

    def note(self, folder: Path) -> StateFile:
        """A connection with no patience."""
        return StateFile.open_to_note(folder / self.file)

    def memory(self) -> StateFile:
        """Of this process alone."""
        return StateFile(_connected(":memory:", uri=False), Path(self.file))


SQLITE = _Driver()
"""The engine of the state database."""


def _prepared(made: StateFile) -> StateFile:
    try:
        made._settle()
    except BaseException:
        made.close()
        raise
    return made


@cache
def _typed(said: str) -> str:
    kind, given, default = said.partition(" = ")
    null = "" if kind.endswith("?") else " NOT NULL"
    return _TYPES[kind.removesuffix("?")] + null + (f" DEFAULT {default}" if given else "")


def _create(path: Path) -> None:
    """Make the file (mode 0600) where there is none. One that is there is not opened: to close it would take from this process every
    lock that SQLite holds on it for another connection (POSIX, fcntl(2)). Another process would then take itself for the last one,
    remove the log, and whatever it writes from then on would never be seen here."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(
            f"this Python was built with SQLite {sqlite3.sqlite_version}; "
            f"Gatewright needs {'.'.join(map(str, _OLDEST))} or newer: use another Python"
        )
    return _connected(f"{path.absolute().as_uri()}?mode={mode}", uri=True)


def _connected(where: str, *, uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        where,
        uri=uri,
        isolation_level=None,  # transactions are said, never guessed
        check_same_thread=False,  # made in one thread, used in another: never in two at once
        timeout=_BUSY_MS / 1000,
    )
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _unusable(path: Path, problem: Exception) -> StoreError:
    return StoreError(f"the store {path} cannot be used: {problem}; check its owner, mode and disk")


def _other_version(path: Path, found: int, known: int) -> StoreError:
    if found > known:
        return StoreTooNewError(
            f"{path} was written by a newer Gatewright (form {found}, this one knows {known}): "
            "update Gatewright, or give it another state folder"
        )
    return StoreError(
        f"{path} is of an older form ({found}, now {known}): start the gateway once to update it"
    )
