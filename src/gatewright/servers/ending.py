"""`quieted`: an operator stops or drains a server: refuses new calls, waits for running ones, cancels connection attempts and restarts.

What other servers' calls do is no matter here, unlike where a reload replaces a server (`retiring`): nobody could want the former one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from gatewright.servers.draining import LOOK_S
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.server_life import ServerLife

__all__ = ["STOPPED", "quieted"]

STOPPED = "an operator stopped it"
"""Why its connections end."""


async def quieted(
    life: ServerLife, keepers: Callable[[], Sequence[Reconnector]], timeout_s: float
) -> None:
    """Return once no call runs on any of a server's connections (`keepers`, the common one first), or `timeout_s` are over. From the
    first moment on it takes no call, and no connection of it is made anew; a shutdown that is under way keeps the nearer end."""
    loop = asyncio.get_running_loop()
    due, main = loop.time() + timeout_s, keepers()[0]
    if main.drain is not None:
        main.shut_down("operator_request", "stays", timeout_s)
    elif await life.shut_down("operator_request", timeout_s) is None:
        # It is not connected. What is just tried, or due to be, is not any more; sessions' own connections may be there.
        life.quiet = True
        for one in keepers()[1:]:
            if not one.shut_down("operator_request", "stays", timeout_s):
                one.cut(STOPPED)
        await main.close(STOPPED)
    await life.shut()
    # No one event says so of all its connections.
    while life.pending and (left_s := due - loop.time()) > 0:  # noqa: ASYNC110
        await asyncio.sleep(min(LOOK_S, left_s))
