"""`CallTrail`: audit record of one call: intent (on disk first for dangerous tools), end or refusal. `CallRecording`: what all trails share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from gatewright.audit.call_records import (
    Told,
    context_of,
    end_of,
    end_text,
    intent_text,
    rejections_of,
    told_of,
)
from gatewright.audit.flusher import Flusher
from gatewright.audit.intents import Intents
from gatewright.audit.journal import Journal
from gatewright.audit.records import Stamps, encode
from gatewright.audit.turn_writes import TurnWrites
from gatewright.call import Call, Outcome, Refusal, Unrecorded

__all__ = ["CallRecording", "CallTrail"]

log = logging.getLogger("gatewright.audit")

_HANDED = -1
_VALIDATING_GATES = frozenset({"schema", "validators"})


class CallRecording:
    """What the trails of all calls have together."""

    def __init__(
        self,
        journal: Journal,
        turn: TurnWrites,
        intents: Intents,
        flusher: Flusher,
        stamps: Stamps,
        monotonic: Callable[[], float],
        *,
        always: bool,
    ) -> None:
        """`monotonic` gives seconds; `always`: a record is on disk before its answer leaves."""
        self.journal = journal
        self.turn = turn
        self.intents = intents
        self.flusher = flusher
        self.stamps = stamps
        self.monotonic = monotonic
        self.always = always
        self.barred: str | None = None
        """Why no call may begin although it could be recorded, as a sentence."""
        self.running = 0
        """How many trails are open."""
        self.refused = 0
        """How many calls were refused because they could not be recorded, since the trail was mended last."""

    def record_given_up(self) -> None:
        """Put the intents into the trail of which nobody knows how their calls ended. In any thread."""
        for slot, text in self.intents.given_up():
            try:
                self.journal.append(text)
            except Unrecorded:
                self.intents.give_up(slot)
            else:
                self.intents.leave(slot)


class CallTrail:
    """The record of one call (`kernel.Trail`)."""

    # No struct: those are made quicker, and each of the nine members that change costs more than that saves.
    __slots__ = (
        *("_all", "_call", "_problem", "_ran", "_seq", "_slot", "_started", "_told", "_waits"),
        "spent_s",
    )

    def __init__(self, shared: CallRecording, started: float) -> None:
        """`started` in seconds of `shared.monotonic`."""
        self._all = shared
        self._started = started
        self._call: Call | None = None
        """As it was forwarded."""
        self._ran = False
        """Whether nothing kept it from being forwarded any more."""
        self._told: Told | None = None
        self._seq = 0
        """The number of its last record; `_HANDED` while its end is handed over, and not yet known to be written."""
        self._slot: int | None = None
        self._problem: Unrecorded | None = None
        self._waits: asyncio.Future[None] | None = None
        self.spent_s: float | None = None

    def resumed(self, call: Call, told: Told, slot: int) -> CallTrail:
        """Go on where a prepared call stands, whose intent is noted: it is this trail."""
        self._call, self._ran, self._told, self._slot = call, True, told, slot
        return self

    def intent(self, call: Call) -> bool:
        """Note that the call is about to be forwarded; whether `on_disk` has to be awaited first. Raises `Unrecorded`."""
        if self._ran:  # it was, and the call is with its owner
            return False
        self._call = call
        if call.kind != "tool":
            self._ran = True
            return False
        shared = self._all
        self._told = told = told_of(call)
        text = intent_text(call, shared.stamps.take(), told)
        tool = call.tool
        if tool is not None and tool.security.risk_level == "dangerous":
            self._seq = shared.turn.append(text)
            return True  # the kernel waits for `on_disk` before it forwards the call
        # The slot would take it, but its end could not be recorded: refused before anything runs.
        if shared.journal.fault is not None:
            raise Unrecorded(shared.journal.fault)
        self._slot = slot = shared.intents.enter(text)
        if slot is None:
            self._seq = shared.turn.append(text)
        self._ran = True
        return False

    async def on_disk(self) -> None:
        """Return once the intent is on disk. Raises `Unrecorded`."""
        await self._all.flusher.wait_for(self._seq)
        self._ran = True

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        """Record the end, with those of others that end in this turn of the loop: what the caller sees once it is `settled`."""
        shared = self._all
        shared.running -= 1
        try:
            micros = int((shared.monotonic() - self._started) * 1_000_000)
            call = self._call or call
            texts = self._rejections(call, outcome, micros) if type(outcome) is Refusal else []
            stamp = shared.stamps.take()
            texts.append(end_text(call, outcome, stamp, self._told, self._ran, micros / 1000))
        except Exception:
            log.exception("call %s could not be put into a record", call.id)
            self._problem = self._of_this(Unrecorded("the call could not be recorded"))
            if self._give_up():
                shared.record_given_up()
            return Refusal("audit_unavailable", str(self._problem))
        self.spent_s = micros / 1_000_000
        turn = shared.turn
        if shared.running or turn.texts:
            self._seq = _HANDED
            turn.add(texts, self)
        else:  # nobody else could end in this turn
            turn.write_now(texts, self)
        if self._problem is None:
            return outcome
        self.spent_s = None
        return Refusal("audit_unavailable", str(self._problem))

    def settled(self) -> Awaitable[None] | None:
        """What to wait for before the caller sees anything; None where there is nothing. Awaiting it raises `Unrecorded`."""
        shared = self._all
        if shared.always:
            return self._on_disk_too()
        if self._seq == _HANDED:
            # One for each call: whoever cancels its call would cancel what others wait for.
            loop = shared.turn.loop or asyncio.get_running_loop()
            self._waits = waits = loop.create_future()
            return waits
        return None if self._problem is None else self._in_journal()

    async def _on_disk_too(self) -> None:
        if self._seq == _HANDED or self._problem is not None:
            await self._in_journal()
        try:
            await self._all.flusher.wait_for(self._seq)
        except Unrecorded as problem:
            raise self._of_this(problem) from None

    def _of_this(self, problem: Unrecorded) -> Unrecorded:
        problem.ran = self._ran
        return problem

    def _in_journal(self) -> asyncio.Future[None]:
        self._waits = waits = asyncio.get_running_loop().create_future()
        if self._problem is not None:
            waits.set_exception(self._problem)
        return waits

    def written(self, number: int) -> None:
        """Its records are in the trail (`turn_writes.Waiter`)."""
        self._seq = number
        slot, waits = self._slot, self._waits
        if slot is not None:
            self._all.intents.leave(slot)
        if waits is not None and not waits.done():
            waits.set_result(None)

    def failed(self, problem: Unrecorded) -> None:
        """They could not be written."""
        shared = self._all
        self._problem, self._seq = self._of_this(problem), 0
        shared.refused += 1
        # It ran: its intent goes into the trail as soon as that can be written, which may be so already.
        if self._give_up() and shared.journal.fault is None:
            shared.record_given_up()
        if self._waits is not None and not self._waits.done():
            self._waits.set_exception(problem)

    def _give_up(self) -> bool:
        if self._slot is not None:
            self._all.intents.give_up(self._slot)
        return self._slot is not None

    def _rejections(self, call: Call, refusal: Refusal, micros: int) -> list[bytes]:
        texts: list[bytes] = []
        if refusal.gate in _VALIDATING_GATES and call.kind == "tool":
            for named, more in rejections_of(refusal):
                stamp = self._all.stamps.take()
                record = end_of(call, refusal, stamp, context_of(call), self._ran, micros / 1000)
                details = {**record.details, **more}
                texts.append(encode(replace(record, event_type=named, details=details)))
        return texts
