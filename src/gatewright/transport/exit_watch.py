"""`ExitWatch`: notices the exit of a child process on the event loop, by a descriptor to read (Linux) or by a look every 50 ms (elsewhere)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable

__all__ = ["LOOK_S", "ExitWatch"]

LOOK_S = 0.05
"""How often a child's exit is looked for where the operating system has no descriptor for it."""


class ExitWatch:
    """Calls `exited` once when the process has exited, before it is reaped where the system can tell. Begins with `start`."""

    def __init__(self, process: subprocess.Popen[bytes], exited: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._exited = exited
        self._descriptor: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch from now on."""
        try:
            self._descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # Not Linux, too old a kernel, or forbidden by a sandbox.
            self._look()
            return
        self._loop.add_reader(self._descriptor, self._seen)

    def cancel(self) -> None:
        """Watch no more; idempotent."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._process.poll() is None:
            self._timer = self._loop.call_later(LOOK_S, self._look)
        else:
            self._seen()

    def _seen(self) -> None:
        self.cancel()
        self._exited()
