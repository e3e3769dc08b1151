"""Polls the state for other processes' changes: audits keys, ends refused calls, announces changed lists; saves key use; prunes outbox.

Commands write into the stores from processes of their own. What they change holds for the next call at once, ends the calls
that it forbids, is told to those whose lists it changes, and is in the record.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count

from gatewright.audit.events import Events
from gatewright.identity.keys import KeyStore, saved_beside
from gatewright.storage.changes import drop
from gatewright.storage.run_each import run_each
from gatewright.storage.state import StateDatabase

__all__ = ["POLLED_S", "StateWatcher"]

POLLED_S = 0.25
"""How soon a change by another process holds."""

OTHERS_S = 0.5
"""How long a change of the gateway's own waits for another process that writes: it waits on the event loop, with everybody. The
writes of others take some milliseconds, and a disk."""

LAST_USED_TURNS = 40
"""After how many looks it is written down when keys were last used."""

log = logging.getLogger("gatewright")


class StateWatcher:
    """The one look at a state. `end_refused` ends calls that may not go on."""

    def __init__(
        self,
        state: StateDatabase,
        callers: KeyStore,
        events: Events,
        end_refused: Callable[[], object],
    ) -> None:
        self._state = state
        self._folder = state.engine.path.parent
        self._callers = callers
        self._events = events
        self._end_refused = end_refused
        self._applied: int | None = None

    async def follow(
        self, others: Sequence[Callable[[], object]], tell: Callable[[], Awaitable[object]]
    ) -> None:
        """For ever: a store that fails must not keep alive what was revoked. `others` is
        what else has to be looked at, `tell` says which lists have changed."""
        told = ""
        self._state.engine.wait_at_most(OTHERS_S)
        for turn in count():
            # At first nobody listens yet: what changes from here on is told.
            steps: Sequence[Callable[[], object]] = [self.look, *others] if turn else []
            try:
                try:
                    run_each(*steps)
                finally:
                    await tell()
                if turn % LAST_USED_TURNS == LAST_USED_TURNS - 1:
                    await self._save_used()
                await self._settle()
            except Exception as problem:
                if repr(problem) != told:  # once, and not four times a second
                    log.exception("what operators change could not be followed; trying again")
                told = repr(problem)
            else:
                told = ""
            await asyncio.sleep(POLLED_S)

    async def _save_used(self) -> None:
        used = self._callers.take_used()
        if used and not await asyncio.to_thread(saved_beside, self._folder, used):
            self._callers.keep_used(used)

    async def _settle(self) -> None:
        """Changes that the record has go from the state once it is on the disk: a power cut takes neither. Beside the loop."""
        told = self._state.told()
        if told:
            await self._events.on_disk()
            if await asyncio.to_thread(drop, self._folder, told):
                self._state.dropped(told)

    def look(self) -> None:
        """Apply and record what has changed of keys; others see in the state what has changed of theirs."""
        run_each(self._state.look, self._apply, partial(self._events.keys, self._callers))

    def _apply(self) -> None:
        loads = self._callers.loads
        if loads != self._applied:
            self._end_refused()
            self._applied = loads
