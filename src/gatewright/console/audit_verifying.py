"""`Verifying`: verifies the audit trail in a thread on request, one walk at a time; how far it has come, and what was found last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from gatewright.audit.reader import AuditReader
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError

__all__ = ["Verified", "Verifying"]

_PAUSE_S = 0.002
"""Now and then, so that the event loop has its turn while a thread hashes."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """How a verification stands. Times are Unix seconds."""

    state: str
    """`never`, `running`, `whole` or `damaged`; `unreadable` where it could not be made."""
    by: str = ""
    at: float = 0.0
    """When it began, of one that runs; else when it ended."""
    record: int = 0
    """How far it has come, of one that runs; else the last record that is proven."""
    of: int = 0
    """The number of the newest record when it began."""
    records: int = 0
    hash: str = ""
    """Of that last record: with its number, all that is needed to prove all of them later."""
    pruned: int = 0
    problem: str = ""


class Verifying:
    """Of one state folder. Called on the event loop."""

    def __init__(
        self, folder: Path, clock: Callable[[], float], told: Callable[[], object]
    ) -> None:
        """`told` is called on the event loop when one has ended."""
        self._reader = AuditReader(folder)
        self._clock = clock
        self._told = told
        self._now = Verified(state="never")
        self._reached = 0
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def now(self) -> Verified:
        """How it stands."""
        if self._now.state == "running":
            return msgspec.structs.replace(self._now, record=self._reached)
        return self._now

    def begin(self, by: str, newest: int) -> Verified:
        """Begin one, unless one runs. `newest` is the number of the newest record."""
        if self._now.state != "running":
            self._reached = 0
            self._now = Verified(state="running", by=by, at=self._clock(), of=newest)
            self._task = asyncio.create_task(self._run())
        return self.now

    async def _run(self) -> None:
        begun = self._now
        try:
            found = await asyncio.to_thread(self._reader.verify, None, self._hear)
        except asyncio.CancelledError:
            self._stopped = True
            raise
        except StoreError as problem:
            ended = Verified(state="unreadable", problem=str(problem))
        else:
            ended = _ended(found)
        self._now = msgspec.structs.replace(ended, by=begun.by, at=self._clock(), of=begun.of)
        self._told()

    def _hear(self, record: int) -> None:
        if self._stopped:  # a gateway that stops waits for its threads
            raise StoreError("the verification was stopped")
        self._reached = record
        time.sleep(_PAUSE_S)


def _ended(found: Verification) -> Verified:
    problem = found.problem
    said = "" if problem is None else f"{problem.place}: record {problem.seq} {problem.what}"
    return Verified(
        state="whole" if problem is None else "damaged",
        record=found.last,
        records=found.records,
        hash=found.hash,
        pruned=found.pruned,
        problem=said,
    )
