"""`PreparedRecords`: audit records of prepared calls (the fast path) from templates, byte for byte as `CallTrail` writes them."""

from __future__ import annotations

from functools import partial
from hashlib import sha256

from gatewright.audit.call_records import Told, sorted_json, templates_of
from gatewright.audit.call_trail import CallRecording, CallTrail
from gatewright.call import Call
from gatewright.secret_scanning import HELD
from gatewright.standing import Going, Rest, attribute

__all__ = ["PreparedRecords", "ResumedTrail"]


class ResumedTrail(CallTrail):
    """The record of such a call that goes on as any other: its intent is noted already."""

    __slots__ = ()

    def __init__(self, shared: CallRecording, going: Going, told: Told) -> None:
        super().__init__(shared, going.started)
        self._call, self._ran, self._told, self._slot = going.call, True, told, going.slot

    def intent(self, call: Call) -> bool:
        """Nothing is to be awaited."""
        return False


class PreparedRecords:
    """Of the calls of one caller and client in one session to one tool (`prepared.Recorder`)."""

    def __init__(self, shared: CallRecording, call: Call) -> None:
        """`call` is one of them. Raises an exception where it takes a `Record` to say what they have in common."""
        self._all = shared
        # A text that was looked through when fewer secrets were known may hold one.
        self.rests: tuple[Rest, ...] = (
            attribute(HELD, "version"),
            # Nothing else will do: a fault may have come in another thread since this call began.
            (partial(getattr, shared, "barred"), None),
            (partial(getattr, shared.journal, "fault"), None),
        )
        self._intended, self._ended, self._shared, self._details = templates_of(call)
        self._facts = dict(call.facts)
        intents = shared.intents
        self._take, self._enter, self.leave = shared.stamps.take, intents.enter, intents.leave
        self._now = shared.monotonic
        self._turn = shared.turn

    def begin(self, going: Going, call: Call) -> bool:
        """Note the intent of one call; False where that cannot be done at once."""
        going.started = self._now()
        asked = call.params.get("arguments")
        try:
            text = b"{}" if asked is None else sorted_json(asked)
        except Exception:  # noqa: BLE001 - a number that has no JSON form of ours: the walk records it otherwise
            return False
        digest, size = going.asked = sha256(text).hexdigest(), len(text)
        moment, ident = self._take()
        intent = self._intended % (ident, moment, call.trace_id, call.id, digest, size)
        slot = self._enter(intent.encode())
        if slot is None:
            return False
        going.slot = slot
        self._all.running += 1
        return True

    def undo(self, going: Going) -> None:
        """The call was not sent after all, and goes another way: nothing of it was recorded."""
        self._all.running -= 1
        self.leave(going.slot)

    def answered(self, going: Going, call: Call, size: int) -> None:
        """Hand over the end of a call whose answer has so many bytes: it is told of that, perhaps at once. As `CallTrail.close` does it."""
        shared, turn = self._all, self._turn
        shared.running -= 1
        micros = int((self._now() - going.started) * 1_000_000)
        going.spent_s = micros / 1_000_000
        digest, asked = going.asked
        moment, ident = self._take()
        said = ident, moment, call.trace_id, call.id, digest, asked, size, micros / 1000
        text = (self._ended % said).encode()
        if shared.running or turn.waiters:
            turn.add_one(text, going)
        else:  # nobody else could end in this turn
            turn.write_now((text,), going)

    def lost(self, going: Going) -> None:
        """It could not be written: it ran, so its intent goes into the trail as soon as that can be written."""
        shared = self._all
        shared.refused += 1
        shared.intents.give_up(going.slot)
        if shared.journal.fault is None:
            shared.record_given_up()

    def trail(self, going: Going) -> ResumedTrail:
        """From now on its record is written like others."""
        said = going.call.trace_id, going.call.id, *going.asked
        return ResumedTrail(self._all, going, (self._shared % said, self._facts, self._details))
