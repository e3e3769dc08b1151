"""`Verifying`: starts the audit trail's verification (passed in) on request, one at a time, 60 s apart; its state and the last result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError

__all__ = ["REST_S", "Verified", "Verifying"]

log = logging.getLogger("gatewright.console")

REST_S = 60.0
"""Behind the end of one, before another may begin: each reads all of it, and anybody who may look may ask for it."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """How a verification stands. Times are Unix seconds."""

    state: str
    """`never`, `running`, `whole` or `damaged`; `unreadable` where it could not be made."""
    by: str = ""
    at: float = 0.0
    """When it began, of one that runs; else when it ended."""
    record: int = 0
    """The last record that is proven."""
    records: int = 0
    hash: str = ""
    """Of that last record: with its number, all that is needed to prove all of them later."""
    pruned: int = 0
    problem: str = ""


class Verifying:
    """Of one gateway, for all screens. Called on the event loop."""

    def __init__(
        self,
        prove: Callable[[], Awaitable[Verification]],
        clock: Callable[[], float],
        told: Callable[[], object],
    ) -> None:
        """`prove` raises `StoreError`; `told` is called when one has ended."""
        self._prove = prove
        self._clock = clock
        self._told = told
        self.now = Verified(state="never")
        """How it stands."""
        self.last: Verified | None = None
        """What was found last, also while another one runs."""
        self._task: asyncio.Task[None] | None = None

    def begin(self, by: str) -> Verified:
        """Begin one, unless one runs, or ended just now: then that is how it stands."""
        rests = self.last is not None and self._clock() - self.last.at < REST_S
        if self.now.state != "running" and not rests:
            self.now = Verified(state="running", by=by, at=self._clock())
            self._task = asyncio.get_running_loop().create_task(self._run(by))
        return self.now

    async def _run(self, by: str) -> None:
        try:
            ended = _ended(await self._prove())
        except StoreError as problem:
            ended = Verified(state="unreadable", problem=str(problem))
        except Exception:
            log.exception("the verification of the record broke")
            said = "it broke; the details are in the gateway's log"
            ended = Verified(state="unreadable", problem=said)
        self.now = self.last = msgspec.structs.replace(ended, by=by, at=self._clock())
        self._told()


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
