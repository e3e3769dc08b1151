"""`Once`: asynchronous work by key that is under way at most once; all who want the same meanwhile await one task, and cancel none of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["Once"]

K = TypeVar("K", bound=Hashable)


class Once(Generic[K]):
    """See the module's text."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[None]] = {}

    def once(self, key: K, begin: Callable[[K], Coroutine[Any, Any, None]]) -> Awaitable[None]:
        """What is under way for a key, else what begins now."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.get_running_loop().create_task(begin(key))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return asyncio.shield(task)
