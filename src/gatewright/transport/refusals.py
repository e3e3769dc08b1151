"""`Refusals`: since when a server that has connections open takes nothing more, to tell one that shuts down from a moment's trouble."""

from __future__ import annotations

import asyncio

__all__ = ["ONE_TROUBLE_S", "REFUSED_S", "UNAVAILABLE_S", "Refusals"]

REFUSED_S = 10.0
"""After so long without anything that got through, refused connections are no trouble of a moment. A server that shuts down takes no new ones and waits
for those that are open, ours among them."""

UNAVAILABLE_S = 30.0
"""The same where who stands before the server says so: one that is put in place of another may take that long."""

ONE_TROUBLE_S = 300.0
"""Refusals further apart are not of one trouble. Not less, because where a call comes every few minutes, a server that takes none is to be found out."""


class Refusals:
    """Of one server, and of one kind. Belongs to one event loop."""

    __slots__ = ("_last", "_loop", "_since")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._last = 0.0

    def again(self) -> None:
        """One more request did not get through."""
        now = self._loop.time()
        if self._since is None or now - self._last > ONE_TROUBLE_S:
            self._since = now
        self._last = now

    def over(self) -> None:
        """Something got through."""
        self._since = None

    @property
    def for_s(self) -> float:
        """How long ago the first was; 0 where there is none."""
        return 0.0 if self._since is None else self._loop.time() - self._since

    def last(self, most_s: float) -> bool:
        """Whether nothing got through from one refusal to another so much later, which is not long ago."""
        if self._since is None or self._loop.time() - self._last > ONE_TROUBLE_S:
            return False
        return self._last - self._since >= most_s
