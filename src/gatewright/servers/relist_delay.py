"""`Paced`: runs a server's relisting at a limited rate: debounced, 20 in a burst, then one a second; never two at once; retries failures.

Servers announce each of many changes; one look answers all that come within a moment. One that never stops announcing would
have the gateway fetch, judge and record its lists without end, so after a good number of looks they come once a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

__all__ = ["AT_ONCE", "DEBOUNCE_S", "EACH_S", "TRIES", "Pace", "Paced"]

log = logging.getLogger("gatewright.servers")

DEBOUNCE_S = 0.02
"""What a look waits for more to come."""
AT_ONCE = 20
"""So many looks are not slowed down."""
EACH_S = 1.0
"""How often a look comes after those; each second without one gives one of them back."""

TRIES = 7
"""So often what failed is done once more, a second later and then twice as long each time: about two minutes."""


class Pace:
    """The looks at one server (GCRA: one number says how far ahead of its rate they are)."""

    def __init__(self) -> None:
        self._due = float("-inf")

    def take(self, now: float) -> float:
        """In how many seconds the next look is, which is counted. `now` is seconds of any one origin."""
        # `_due` may be `AT_ONCE` looks ahead before any of them has to wait.
        wait = max(DEBOUNCE_S, self._due - now - (AT_ONCE - 1) * EACH_S)
        self._due = max(self._due, now) + EACH_S
        return wait


class Paced:
    """Work of which one run at a time is done, at the rate of a `Pace`. What is asked for during a run is one more run after it:
    where a run has the server cause the next, they neither pile up nor follow each other at once."""

    def __init__(
        self,
        work: Callable[[], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._work = work
        self._spawn = spawn
        self._pace = Pace()
        self._wanted = self._running = False
        self._failed = False
        self._tries = 0
        self._later: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """Have a run begin after this."""
        self._wanted = True
        if not self._running:
            self._running = True
            self._spawn(self._run())

    def again(self) -> None:
        """Have a run begin later, because one has failed; said during a run, of that one. Not without end: where the same fails
        `TRIES` times, whoever wants it has to ask."""
        self._failed = True
        if self._later is None and self._tries < TRIES:
            wait_s = EACH_S * 2**self._tries
            self._tries += 1
            self._later = asyncio.get_running_loop().call_later(wait_s, self._ask_again)

    def _ask_again(self) -> None:
        self._later = None
        self.ask()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._wanted:
                await asyncio.sleep(self._pace.take(loop.time()))
                self._wanted = self._failed = False
                await self._once()
                if not self._failed:
                    self._tries = 0
        finally:
            self._running = False

    async def _once(self) -> None:
        try:
            await self._work()
        except Exception:
            # What was asked for meanwhile is done all the same.
            log.exception("work that a server asked for has failed")
