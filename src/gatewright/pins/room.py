"""`Rooms`: how many more tools and bytes of definitions are pinned of each MCP server; counts its rows once, in slices, then keeps the sums."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from gatewright.storage.state import Section

__all__ = ["Room", "Rooms"]

_MEASURED = 32
"""Of so many tools the definitions are measured in one step: each may have megabytes."""


class Room:
    """What can still be remembered of one server."""

    def __init__(self, tools: int, bytes_: int) -> None:
        self._tools = tools
        self._bytes = bytes_

    def take(self, says: str, before: str | None) -> bool:
        """Whether there is room for the definition of a tool, which then is taken; `before`: the one that it replaces, None of a new
        tool."""
        size = len(says.encode())
        # Of a new tool both texts may become this one; of a known one the second is replaced.
        more = 2 * size if before is None else size - len(before.encode())
        tools = 1 if before is None else 0
        if more > max(self._bytes, 0) or tools > max(self._tools, 0):
            return False
        self._tools -= tools
        self._bytes -= more
        return True


class Rooms:
    """Of all servers, from their rows: to count one is to read all its definitions."""

    def __init__(self, rows: Section, most_tools: int, most_bytes: int) -> None:
        self._rows = rows
        self._most_tools = most_tools
        self._most_bytes = most_bytes
        self._known: dict[str, Room] = {}
        self._measuring: dict[str, object] = {}

    def measured(self, server: str) -> Generator[None, None, None]:
        """Count step by step what is not known; what changes meanwhile is counted when it is asked for."""
        if server in self._known:
            return
        mine = self._measuring[server] = object()
        tools, taken, last = 0, 0, ""
        while rows := self._after(server, last):
            tools += len(rows)
            taken += sum(int(size) for _, size in rows)
            last = rows[-1][0]
            yield
            if self._measuring.get(server) is not mine:
                return
        self._known[server] = self._left(tools, taken)
        del self._measuring[server]

    def _after(self, server: str, last: str) -> list[Any]:
        return self._rows.rows(
            f"SELECT tool, {self._both} FROM pins WHERE server = ? AND tool > ? ORDER BY tool LIMIT ?",  # noqa: S608 - constants
            (server, last, _MEASURED),
        )

    def taken(self, server: str) -> Room:
        """What is left of a server, no longer known until it is `put` back."""
        room = self._known.get(server)
        self.forget(server)
        if room is not None:
            return room
        tools, taken = self._rows.execute(
            f"SELECT count(*), coalesce(sum({self._both}), 0) FROM pins WHERE server = ?",  # noqa: S608 - constants
            (server,),
        ).fetchone()
        return self._left(tools, int(taken))

    def put(self, server: str, room: Room) -> None:
        """So much is left from now on."""
        self._known[server] = room

    def forget(self, server: str) -> None:
        """It is another one by now."""
        self._known.pop(server, None)
        self._measuring.pop(server, None)

    def clear(self) -> None:
        """All are."""
        self._known.clear()
        self._measuring.clear()

    @property
    def _both(self) -> str:
        octets = self._rows.state.engine.octets
        return f"{octets('pinned')} + {octets('seen')}"

    def _left(self, tools: int, taken: int) -> Room:
        return Room(self._most_tools - tools, self._most_bytes - taken)
