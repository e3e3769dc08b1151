"""Database engine interfaces for state: `Driver` opens one in a folder; `Engine`: statements, transactions, migrations, change detection.

SQL that stores write is what engines have in common: `?` for values, `INSERT … ON CONFLICT`, `RETURNING`, no types of one engine. Tables
are described (`storage.schema`) and spelled by the engine. `tests/storage/test_engine.py` holds every engine against this page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from gatewright.storage.schema import Step

__all__ = ["Driver", "Engine", "Result"]


class Result(Protocol):
    """Rows as tuples, and how many were changed."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""

    def fetchone(self) -> Any:
        """The next row; None where there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Engine(Protocol):
    """One connection, for one thread at a time."""

    failure: type[Exception]
    """What a statement raises when it fails."""
    path: Path
    """Where it is, for messages."""

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Result:
        """Run one statement. Raises `failure`."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, alone among writers, and on disk when it is over."""

    def generation(self) -> int:
        """A number that changes whenever another connection has changed anything. One cheap statement."""

    def wait_at_most(self, seconds: float) -> None:
        """For another writer, from now on."""

    def form(self) -> int:
        """How many migrations the database has had; 0 where it is new."""

    def set_form(self, number: int) -> None:
        """Within a transaction: so many it has had now."""

    def apply(self, step: Step) -> None:
        """Within a transaction: make a table, a column or an index."""

    def octets(self, column: str) -> str:
        """The expression for how many bytes of UTF-8 a text has."""

    def close(self) -> None:
        """An open transaction is rolled back."""


class Driver(Protocol):
    """How to get at the state database of a folder. What opens it raises the engine's `failure` or `OSError`."""

    file: str
    """What it is called in messages."""

    def place(self, folder: Path) -> tuple[int, int] | None:
        """What tells this database from another in its place; None where there is none. Raises `OSError`."""

    def open(self, folder: Path) -> Engine:
        """For reading and writing; made where there is none, for its owner alone."""

    def look(self, folder: Path) -> Engine:
        """For reading, of a database that is there."""

    def note(self, folder: Path) -> Engine:
        """For a small change that waits for nobody, neither for another writer nor for the disk."""

    def memory(self) -> Engine:
        """An empty one that ends with the connection."""
