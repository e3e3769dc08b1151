"""`PreparedRecords`: audit records of prepared calls (the fast path) from templates, byte for byte as `CallTrail` writes them."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Any

from gatewright.audit.call_records import sorted_json, templates_of
from gatewright.audit.call_trail import CallRecording, CallTrail
from gatewright.call import Call
from gatewright.secret_scanning import HELD
from gatewright.standing import Standing, attribute

__all__ = ["PreparedRecords"]


class PreparedRecords:
    """Of the calls of one caller and client in one session to one tool. What it is given as `going` is a `mcp.server.straight.StraightCall`."""

    def __init__(self, shared: CallRecording, call: Call) -> None:
        """`call` is one of them. Raises an exception where it takes a `Record` to say what they have in common."""
        self._all = shared
        self.word = Standing(
            (
                # A text that was looked through when fewer secrets were known may hold one.
                attribute(HELD, "version"),
                # Nothing else will do: a fault may have come in another thread since this call began.
                (partial(getattr, shared, "barred"), None),
                (partial(getattr, shared.journal, "fault"), None),
            )
        )
        self._intended, self._ended, self._shared, self._details = templates_of(call)
        self._facts = dict(call.facts)
        intents = shared.intents
        self._take, self._enter, self.leave = shared.stamps.take, intents.enter, intents.leave
        self._now, self._turn = shared.monotonic, shared.turn

    def begin(self, going: Any, call: Call) -> bool:
        """Note the intent of one call; False where that cannot be done at once, and nothing was done."""
        going.started = self._now()
        asked = call.params.get("arguments")
        try:
            text = b"{}" if asked is None else sorted_json(asked)
        except Exception:  # noqa: BLE001 - a number that has no JSON form of ours: the walk records it otherwise
            return False
        digest, size = going.asked = sha256(text).hexdigest(), len(text)
        moment, ident = self._take()
        intent = self._intended % (ident, moment, call.trace_id, call.id, digest, size)
        going.slot = slot = self._enter(intent.encode())
        if slot is None:
            return False
        self._all.running += 1
        return True

    def undo(self, going: Any) -> None:
        """The call was not sent after all, and goes another way: nothing of it was recorded."""
        self._all.running -= 1
        self.leave(going.slot)

    def answered(self, going: Any, call: Call, size: int) -> None:
        """Hand over the end of a call whose answer has so many bytes: it leaves once that is written, perhaps at once. As `CallTrail.close`."""
        shared, turn = self._all, self._turn
        shared.running -= 1
        micros = int((self._now() - going.started) * 1_000_000)
        going.spent_s = micros / 1_000_000
        digest, asked = going.asked
        moment, ident = self._take()
        said = ident, moment, call.trace_id, call.id, digest, asked, size, micros / 1000
        text = (self._ended % said).encode()
        if shared.running or turn.texts:
            turn.add_one(text, going)
        else:  # nobody else could end in this turn
            turn.write_one(text, going)

    def lost(self, going: Any) -> None:
        """It could not be written: it ran, so its intent goes into the trail as soon as that can be written."""
        shared = self._all
        shared.refused += 1
        shared.intents.give_up(going.slot)
        if shared.journal.fault is None:
            shared.record_given_up()

    def trail(self, going: Any) -> CallTrail:
        """From now on its record is written like others."""
        said = going.call.trace_id, going.call.id, *going.asked
        told = self._shared % said, self._facts, self._details
        return CallTrail(self._all, going.started).resumed(going.call, told, going.slot)
