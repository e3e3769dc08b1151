"""Store of servers' tasks and their owners in the state database, so that they survive a restart.

The gateway alone writes: a task before its caller hears of it, and never on the loop that serves calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import msgspec

from gatewright.call import Caller, Target, UserContext
from gatewright.storage.state import StateDatabase
from gatewright.transport.thread_turns import ThreadTurns

__all__ = ["ServerTask", "ServerTaskStore"]

_COLUMNS = "id, server, connection, task, kind, caller, session, tool, ends, rights"


class _Rights(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of the caller for whom a task was made: its key, whether that is a token, and its limits. All of them at their defaults where nobody knows:
    of tasks of an earlier version, which whoever has no limits may have."""

    key: str | None = None
    token: bool = False
    user: tuple[UserContext, ...] = ()


_NOTHING_SAID = _Rights()


class ServerTask(msgspec.Struct, frozen=True):
    """One task. `id` is what its caller knows, `task` what its server calls it on a `connection`."""

    id: str
    server: str
    connection: str
    task: str
    owner: tuple[str, str, str]
    """Kind and id of the caller, and where its tasks are asked about (`task_owners.place_of`)."""
    tool: str
    """The tool whose call it is; empty where it is of nothing that is called a tool."""
    ends: float
    """Unix seconds: until when it is known."""
    rights: _Rights = _NOTHING_SAID

    @staticmethod
    def rights_of(caller: Caller) -> _Rights:
        """What is remembered of who a task is made for, besides the name."""
        return _Rights(caller.key_id, caller.token, caller.user)

    @property
    def maker(self) -> Caller:
        """The caller for whom it was made, as it was then."""
        kind, id, _ = self.owner
        said = self.rights
        return Caller(id, kind, said.key, said.token, said.user)  # type: ignore[arg-type]

    @property
    def of(self) -> Target:
        """The server that has it, and the tool whose call it is."""
        return Target(self.server, self.tool)

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all others of all servers."""
        return self.server, self.connection, self.task


class ServerTaskStore:
    """Those in one state database: a connection of its own, because it is written beside the loop. `clock` gives Unix seconds.
    Every method raises `StoreError`."""

    def __init__(self, state: StateDatabase, *, clock: Callable[[], float]) -> None:
        self._rows = state.section("tasks", "the tasks of servers")
        self._clock = clock
        self._turns = ThreadTurns()
        """Threads share the one connection."""

    def all(self) -> list[ServerTask]:
        """What is known, oldest first; what has had its time is gone."""
        with self._rows.changing():
            self._rows.execute("DELETE FROM server_tasks WHERE ends <= ?", (self._clock(),))
            rows = self._rows.execute(
                f"SELECT {_COLUMNS} FROM server_tasks ORDER BY number"  # noqa: S608 - our own words
            ).fetchall()
        return [_read(one) for one in rows]

    async def add(self, row: ServerTask) -> None:
        """Return once it is on disk."""
        await self._turns.run(partial(self._add, row))

    async def drop(self, ids: Collection[str]) -> None:
        """Forget these."""
        if ids:
            await self._turns.run(partial(self._drop, tuple(ids)))

    async def close(self) -> None:
        """Nothing more is kept, and the connection is closed, once the thread that writes on it has ended."""
        await self._turns.end()
        self._rows.close()
        self._rows.state.close()

    def _add(self, row: ServerTask) -> None:
        with self._rows.changing():
            self._rows.execute(
                f"INSERT INTO server_tasks ({_COLUMNS}, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (
                    *(row.id, row.server, row.connection, row.task),
                    *(*row.owner, row.tool, row.ends),
                    *(msgspec.json.encode(row.rights).decode(), self._rows.step()),
                ),
            )

    def _drop(self, ids: tuple[str, ...]) -> None:
        with self._rows.changing():
            for one in ids:
                self._rows.execute("DELETE FROM server_tasks WHERE id = ?", (one,))


def _read(row: tuple[Any, ...]) -> ServerTask:
    id, server, connection, task, kind, caller, session, tool, ends, said = row
    rights = _NOTHING_SAID if said is None else msgspec.json.decode(said, type=_Rights)
    owner = kind, caller, session
    return ServerTask(id, server, connection, task, owner, tool, ends, rights)
