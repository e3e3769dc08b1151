"""`PreparedRecords`: writes the records of tool calls that are alike, with what they share spelled once; the same bytes as `CallTrail` writes."""

from __future__ import annotations

from hashlib import sha256
from typing import Protocol

from gatewright.audit.call_records import intent_text, pieces_of, sorted_json
from gatewright.audit.call_trail import CallRecording, CallTrail
from gatewright.call import Call, Unrecorded
from gatewright.secret_scanning import HELD
from gatewright.standing import Rest, attribute

__all__ = ["PreparedRecords", "PreparedTrail", "Told"]


class Told(Protocol):
    """Who is told of the end of a record."""

    def recorded(self) -> None:
        """It is in the trail."""

    def unrecorded(self, problem: Unrecorded) -> None:
        """It could not be written."""


class PreparedTrail(CallTrail):
    """The record of one such call, whose intent is noted already."""

    __slots__ = ("_whom",)
    _whom: Told | None

    def tell(self, whom: Told | None) -> None:
        """Who is told once the end is written; None: whoever awaits `settled`."""
        self._whom = whom

    def intent(self, call: Call) -> bool:
        """It is noted: nothing is to be awaited."""
        self._call = call
        return False

    def undo(self) -> None:
        """The call was not sent after all, and goes another way: nothing of it was recorded."""
        self._all.running -= 1
        if self._slot is not None:
            self._all.intents.leave(self._slot)

    def written(self, number: int) -> None:
        """Its record is in the trail (`turn_writes.Waiter`)."""
        super().written(number)
        if self._whom is not None:
            self._whom.recorded()

    def failed(self, problem: Unrecorded) -> None:
        """It could not be written."""
        super().failed(problem)
        if self._whom is not None:
            self._whom.unrecorded(problem)


class PreparedRecords:
    """Of the calls of one caller and client in one session to one tool (`prepared.Recorder`)."""

    def __init__(self, shared: CallRecording, call: Call) -> None:
        """`call` is one of them."""
        self._all = shared
        # A text that was looked through when fewer secrets were known may hold one.
        self.rests: tuple[Rest, ...] = (attribute(HELD, "version"), attribute(shared, "barred"))
        self._before, self._behind, self._details = pieces_of(call)
        self._facts = dict(call.facts)

    def begin(self, call: Call) -> PreparedTrail | None:
        """Note the intent of one call; None where that cannot be done at once."""
        shared = self._all
        if shared.journal.fault is not None:
            return None
        asked = call.params.get("arguments")
        text = b"{}" if asked is None else sorted_json(asked)
        digest, size = sha256(text).hexdigest(), str(len(text))
        said = "".join(
            (self._before, call.trace_id, '","call":"', call.id, self._behind, digest, '","bytes":', size)
        )
        told = said, self._facts, self._details
        intent = intent_text(call, shared.stamps.take(), told)
        slot = shared.intents.enter(intent)
        if slot is None:
            return None
        shared.running += 1
        trail = PreparedTrail(shared, shared.monotonic())
        trail._call, trail._ran, trail._told, trail._slot = call, True, told, slot
        return trail
