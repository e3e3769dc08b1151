"""Signal handlers of the gateway process: SIGTERM and SIGINT stop it, SIGHUP reloads the configuration, or stops if its terminal closed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Told", "before", "on_hangup", "stop_signal"]

Told = asyncio.Future[None]
"""Done once we are told to stop."""


async def before(stop: Told, work: Coroutine[Any, Any, object]) -> bool:
    """Do something that may take long, and give it up when we are told to stop; whether it was done, and we were not."""
    task: asyncio.Future[Any] = asyncio.ensure_future(work)
    try:
        await asyncio.wait([stop, task], return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()
    if task.done():
        task.result()
    return not stop.done()


def stop_signal() -> Told:
    """Done once we are told to stop."""
    loop = asyncio.get_running_loop()
    told: Told = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, tell)
    return told


def on_hangup(act: Callable[[], None]) -> None:
    """Call `act` on SIGHUP. A terminal that is closed says the same, and then we stop as it always was,
    unless whoever started us wanted it ignored (`nohup`)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    had_terminal = not ignored and _has_terminal()

    def told() -> None:
        if had_terminal and not _has_terminal():
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            act()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, told)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
