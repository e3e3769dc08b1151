"""Done callback of asyncio tasks: drops a cancelled task's `CancelledError`, whose traceback keeps the task's frames until the collector.

A task that was cancelled keeps the exception until somebody asks for it, the exception where it was raised, and those frames
whatever they had: usually something that has the task. Nobody asks tasks that are cancelled because their client is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

__all__ = ["let_go"]


def let_go(task: asyncio.Future[Any]) -> None:
    """Ask a task that was cancelled, once. Of one that failed nothing is taken: whoever has it is to hear of that."""
    if task.cancelled():
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()
