"""`Taskless`: interface told when the client leaves, for requests served without an asyncio task; `Started`: coroutine that always starts.

A task that is cancelled before its first step runs nothing of its coroutine, no `finally` either. Where what that does has begun without
the task, somebody has to end it all the same.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Protocol

__all__ = ["Started", "Taskless"]


class Taskless(Protocol):
    """What goes on with a request without a task."""

    def left(self) -> None:
        """The client has gone away."""


class Started(Coroutine[Any, Any, None]):
    """Runs at least until it waits for the first time."""

    __slots__ = ("_begun", "_inner")

    def __init__(self, inner: Coroutine[Any, Any, None]) -> None:
        self._inner = inner
        self._begun = False

    def send(self, value: Any) -> Any:
        """Go on."""
        self._begun = True
        return self._inner.send(value)

    def throw(self, *problem: Any) -> Any:
        """Go on with an exception; what it waits for first is given up with that."""
        if not self._begun:
            self.send(None)
        return self._inner.throw(*problem)

    def close(self) -> None:
        """Never go on."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._inner.__await__()
