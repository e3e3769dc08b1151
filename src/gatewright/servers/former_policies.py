"""Tracks which replaced policies running calls still use, so that their resources can be released with the last call.

A call holds on to its policy while it runs, so the policy is gone with its last call. To know that costs
no call anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from typing import Any

__all__ = ["Running"]


class Running:
    """The policies that calls may still hold."""

    def __init__(self) -> None:
        self._over: set[asyncio.Future[None]] = set()

    def until(self, former: weakref.ref[Any]) -> list[asyncio.Future[None]]:
        """What will be done when no call runs any more under `former` or one before it."""
        policy = former()
        if policy is not None:
            loop = asyncio.get_running_loop()
            over: asyncio.Future[None] = loop.create_future()
            self._over.add(over)
            over.add_done_callback(self._over.discard)
            end = weakref.finalize(policy, _from_any_thread, loop, over)
            end.atexit = False
        return list(self._over)


def _from_any_thread(loop: asyncio.AbstractEventLoop, over: asyncio.Future[None]) -> None:
    """Whatever thread collects garbage may come here."""
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(_set, over)


def _set(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)
