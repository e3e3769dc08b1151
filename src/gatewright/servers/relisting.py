"""After a reconnect, holds calls until the server's tools were listed again, and refuses them if their tool changed.

A call is judged by what its tool says of itself when the call is made. Where the server is lost after that, the call waits for
it to be back, and then for its lists. If the tool is another one by then, the call does not go there: made again, it is judged
by what the tool says now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gatewright.call import Call, Failure, Tool
from gatewright.servers.definition_digest import definition_digest
from gatewright.servers.listing import Definition
from gatewright.servers.server_catalogue import Built

__all__ = ["Relisting"]


class Relisting:
    """Of one server. `built` gives what was made of what it said last."""

    def __init__(self, server: str, built: Callable[[], Built | None]) -> None:
        self._server = server
        self._built = built
        self._done = asyncio.Event()
        self.count = 0
        """How many connections were made so far."""
        self._listed = 0
        """So many of them were there when the last lists were asked for that are known."""

    @property
    def unlisted(self) -> bool:
        """Whether a connection was made whose lists are not known yet."""
        return self._listed < self.count

    def begins(self) -> None:
        """There is a new connection, whose lists are not known yet."""
        self.count += 1
        self._done.clear()

    @contextmanager
    def ends(self) -> Iterator[None]:
        """After the block the lists are known, or cannot be, of all connections that were made before it."""
        count = self.count
        try:
            yield
        finally:
            self._listed = max(self._listed, count)
            if not self.unlisted:
                self._done.set()

    async def objection(self, call: Call, count: int, patience_s: float) -> Failure | None:
        """Why a call that was judged when there were `count` connections is not to go to the one that is there now. While the
        lists of a connection are not known, nobody knows by what a call was judged."""
        tool = call.tool
        if tool is None or (count == self.count and not self.unlisted):
            return None
        try:
            async with asyncio.timeout(patience_s):
                await self._done.wait()
        except TimeoutError:
            return self._again(tool, "has not said yet what it offers")
        # By name: all calls that wait go on in one turn, and a server may list a hundred thousand tools.
        present = built.shelf.by_name.get(tool.target.name) if (built := self._built()) else None
        if present is not None and _same(present.definition, tool.definition):
            return None
        return self._again(tool, f"says something else of the tool {tool.target.name} now")

    def _again(self, tool: Tool, what: str) -> Failure:
        return Failure(
            "restarting",
            f"server {self._server} was connected anew and {what}; nothing was run. Call it again",
            {"server_id": self._server, "tool_name": tool.target.name},
        )


def _same(one: Definition, other: Definition) -> bool:
    try:
        # The bytes first: a digest has to decode both.
        return one == other or definition_digest(one) == definition_digest(other)
    except ValueError:
        # What cannot be compared counts as changed.
        return False
