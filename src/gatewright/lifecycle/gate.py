"""Gate `draining` (`GatewayDrain`): refuses new calls once shutdown began (2001), waits for calls in flight and tasks, ends the rest, stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from gatewright.call import Back, Call, Refusal
from gatewright.call_policy import Judge
from gatewright.command_text import to_type
from gatewright.servers.states import ShutdownReason
from gatewright.standing import Standing, attribute

__all__ = ["OF_TASKS", "STILL_ANSWERED", "Calls", "GatewayDrain"]

STILL_ANSWERED = frozenset({"mgp/health/ping", "mgp/health/status", "mgp/lifecycle/shutdown"})
"""What is answered to the end: how the shutdown goes, and that it is to go quicker."""

OF_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/cancel"})
"""What is answered as long as the drain lasts: tasks that end with their servers' processes are waited for, as calls are."""

_LOOK_S = 0.02
_RECORDED_LOOKS = 50
"""So many times it is looked whether calls that were ended are recorded."""
_LAST_WORDS_S = 0.1
"""How long the last answers have to leave before the connections are closed."""


class Calls(Protocol):
    """The calls of a gateway (`Kernel`)."""

    @property
    def in_flight(self) -> int:
        """How many have begun and not ended."""

    def end_refused(self, judges: Sequence[Judge] | None = None) -> int:
        """End the calls that these refuse."""


class _Late:
    """Refuses whatever still runs when the time is over."""

    name = "draining"

    def __init__(self, timeout_s: float) -> None:
        self._ms = round(timeout_s * 1000)

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on."""
        if call.method in STILL_ANSWERED:
            return None
        return Refusal(
            "timeout",
            f"the gateway shuts down, and calls had {self._ms} ms to end; `{to_type('serve')}` starts it again",
            {"timeout_ms": self._ms},
        )


class GatewayDrain:
    """Gate `draining`; the same one in every configuration."""

    name = "draining"

    def __init__(self) -> None:
        self._reason: ShutdownReason | None = None
        self._begun = self._deadline = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def draining(self) -> bool:
        """Whether the gateway was told to shut down."""
        return self._reason is not None

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        return call if self._reason is None else self._judged(call)

    def stands(self, call: Call) -> Standing | None:
        """All pass until a shutdown begins."""
        return Standing((attribute(self, "_reason"),)) if self._reason is None else None

    def since(self, call: Call) -> Refusal | None:
        """The same for a call that has waited: it was taken before."""
        return None

    def _judged(self, call: Call) -> Call | Refusal:
        if call.method in STILL_ANSWERED or call.method in OF_TASKS:
            return call
        return Refusal(
            "draining",
            f"the gateway shuts down ({self._reason}) and takes no more calls; `{to_type('serve')}` starts it again",
            gate=self.name,
            retry_after_ms=1000,
        )

    def begin(
        self,
        calls: Calls,
        stop: Callable[[], None],
        reason: ShutdownReason,
        timeout_s: float,
        tasks: Callable[[], int] = lambda: 0,
        idle: Callable[[], int] = lambda: 0,
    ) -> None:
        """Take no more calls, and `stop` when those in flight have ended, but for those that `idle` counts, and `tasks` counts none any
        more, at latest after `timeout_s`. Told once more, the nearer end counts."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        due = now + timeout_s
        self._deadline = due if self._reason is None else min(due, self._deadline)
        if self._reason is None:
            self._reason, self._begun = reason, now
            self._task = loop.create_task(self._ended(calls, stop, tasks, idle))

    async def _ended(
        self,
        calls: Calls,
        stop: Callable[[], None],
        tasks: Callable[[], int],
        idle: Callable[[], int],
    ) -> None:
        loop = asyncio.get_running_loop()
        rested = False
        # A look now and then costs nothing; to be told by each call would cost every one of them something, all the time.
        while loop.time() < self._deadline:
            if calls.in_flight > idle() or tasks():
                rested = False
            elif rested or not idle():
                break
            else:
                rested = True  # what one of them waited for may have ended in this very turn, and that is recorded before it is told
            await asyncio.sleep(_LOOK_S)
        # A second word may have brought the end nearer.
        calls.end_refused([_Late(min(loop.time(), self._deadline) - self._begun)])
        await self._recorded(calls)
        await asyncio.sleep(_LAST_WORDS_S)
        stop()

    @staticmethod
    async def _recorded(calls: Calls) -> None:
        """Wait for what has just been ended, each of which is answered once that is recorded. What ends by no word is not waited for."""
        for _ in range(_RECORDED_LOOKS):
            if not calls.in_flight:
                return
            await asyncio.sleep(_LOOK_S)

    def close(self) -> None:
        """The gateway ends for another reason."""
        if self._task is not None:
            self._task.cancel()
