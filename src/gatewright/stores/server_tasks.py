"""Tasks that servers made, and whose each is, kept so that a restart changes neither.

The gateway alone writes: a task before its caller hears of it, and never on the loop that serves calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import msgspec

from gatewright.call import Target
from gatewright.stores.database import Database

__all__ = ["DATABASE", "ServerTask", "ServerTaskStore"]

DATABASE = "server_tasks.db"
"""Its file in the state folder."""

_MIGRATIONS = (
    (
        """CREATE TABLE server_tasks (
            id TEXT PRIMARY KEY, server TEXT NOT NULL, connection TEXT NOT NULL, task TEXT NOT NULL,
            kind TEXT NOT NULL, caller TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, ends REAL NOT NULL
        ) STRICT""",
    ),
)
_COLUMNS = "id, server, connection, task, kind, caller, session, tool, ends"
_WHAT = "the tasks of servers"


class ServerTask(msgspec.Struct, frozen=True):
    """One task. `id` is what its caller knows, `task` what its server calls it on a `connection`."""

    id: str
    server: str
    connection: str
    task: str
    owner: tuple[str, str, str]
    """Kind and id of the caller, and the session where callers have no names."""
    tool: str
    """The tool whose call it is; empty where it is of nothing that is called a tool."""
    ends: float
    """Unix seconds: until when it is known."""

    @property
    def of(self) -> Target:
        """The server that has it, and the tool whose call it is."""
        return Target(self.server, self.tool)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all others of all servers."""
        return self.server, self.connection, self.task


class ServerTaskStore:
    """Those of one state folder. `clock` gives Unix seconds. Every method raises `StoreError`."""

    def __init__(self, path: Path, *, clock: Callable[[], float]) -> None:
        self._database = Database.open(path, _MIGRATIONS)
        self._clock = clock
        self._turn = asyncio.Lock()

    def all(self) -> list[ServerTask]:
        """What is known, oldest first; what has had its time is gone."""
        with self._database.changing(_WHAT):
            self._database.execute("DELETE FROM server_tasks WHERE ends <= ?", (self._clock(),))
            rows = self._database.execute(
                f"SELECT {_COLUMNS} FROM server_tasks ORDER BY rowid"  # noqa: S608 - our own words
            ).fetchall()
        return [_read(one) for one in rows]

    async def add(self, row: ServerTask) -> None:
        """Return once it is on disk."""
        async with self._turn:
            await asyncio.to_thread(self._add, row)

    async def drop(self, ids: Collection[str]) -> None:
        """Forget these."""
        if ids:
            async with self._turn:
                await asyncio.to_thread(self._drop, tuple(ids))

    def close(self) -> None:
        """Nothing more is kept."""
        self._database.close()

    def _add(self, row: ServerTask) -> None:
        with self._database.changing(_WHAT):
            self._database.execute(
                f"INSERT INTO server_tasks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (row.id, row.server, row.connection, row.task, *row.owner, row.tool, row.ends),
            )

    def _drop(self, ids: tuple[str, ...]) -> None:
        with self._database.changing(_WHAT):
            for one in ids:
                self._database.execute("DELETE FROM server_tasks WHERE id = ?", (one,))


def _read(row: tuple[Any, ...]) -> ServerTask:
    id, server, connection, task, kind, caller, session, tool, ends = row
    return ServerTask(id, server, connection, task, (kind, caller, session), tool, ends)
