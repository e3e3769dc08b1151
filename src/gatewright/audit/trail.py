"""`AuditLog`: recovers the trail; records calls (intent, end), events, anchors; tells listeners; refuses calls while unable or barred.

The promise: every decision that a caller has seen is in the trail, in order, also after `kill -9`,
a full disk or an outage of the store; when it cannot be recorded, the call is refused.

`close` hands the records over, and the answer leaves once they are with the operating system: those of calls that end in one
turn of the loop in one write (`audit/turn_writes.py`). Every
tool call has its intent noted before it is forwarded (`audit/intents.py`), so that nothing runs unrecorded
even if its end cannot be written: what died with its call becomes a record at the next start. The
intent of a `dangerous` call is a record from the start and on disk first, in every mode. With
`sync="always"` every record is on disk before its answer leaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from gatewright.audit.anchors import ANCHORED, Anchor, anchors_of, spelled
from gatewright.audit.call_trail import CallRecording, CallTrail
from gatewright.audit.feeder import Feeder, follow_on
from gatewright.audit.flusher import Flusher
from gatewright.audit.intents import Intents, is_record, without_end
from gatewright.audit.journal import SEGMENT_BYTES, Journal
from gatewright.audit.prepared_trail import PreparedRecords
from gatewright.audit.records import (
    GATEWAY,
    Actor,
    Record,
    Stamps,
    Subject,
    Verdict,
    encode,
    own_record,
)
from gatewright.audit.recovery import recover
from gatewright.audit.retention import KEEP_ALL, PRUNED, Keep, Retention
from gatewright.audit.rows import Rows, open_rows
from gatewright.audit.segments import Head, lines_from
from gatewright.audit.turn_writes import TurnWrites
from gatewright.call import Call, Unrecorded
from gatewright.listeners import Signal
from gatewright.secret_scanning import without_secrets
from gatewright.storage.errors import StoreError
from gatewright.storage.lock import FolderLock
from gatewright.storage.sqlite import DatabaseError

__all__ = ["AuditLog", "Sync"]

log = logging.getLogger("gatewright.audit")

Sync = Literal["process", "always"]
"""What every answered call survives: the death of the gateway, or that of the machine."""


class AuditLog:
    """The trail of one state folder. Its calls come from the event loop's thread."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        random: Callable[[int], bytes],
        sync: Sync = "process",
        segment_bytes: int = SEGMENT_BYTES,
        keep: Keep = KEEP_ALL,
    ) -> None:
        """Take the folder, mend what a crash left, and go on.

        `clock` gives Unix seconds, `monotonic` seconds of any origin, `random(n)` n bytes. What
        `keep` does not keep goes (see `audit/retention.py`).
        Raises `StoreBusyError` (another gateway), `StoreDamagedError` (records are gone),
        `StoreTooNewError`, or `StoreError`.
        """
        self._stamps = Stamps(clock, random)
        # Each counts its ids by itself, and each is for one thread; the random parts keep them apart.
        self._mending = Stamps(clock, random)  # for the flusher's thread
        self._pruning = Stamps(clock, random)  # for the feeder's thread
        self._retention = Retention(keep, clock=clock, record=self._prune)
        self._failing = False
        self.heard: Signal[bytes] = Signal()
        """Each record of `event` and of each call, as it is written."""
        self.turns: Signal[Sequence[bytes]] = Signal()
        """The same, those together that one write has: for whoever is not to cost each call something."""
        self.ended: Signal[Head] = Signal()
        """How far the record has come on the disk, when it is closed."""
        self._lock = FolderLock(folder)
        try:
            self._open(folder, segment_bytes, monotonic, always=sync == "always")
        except BaseException as problem:
            self._lock.release()
            if isinstance(problem, OSError | DatabaseError):
                raise StoreError(
                    f"the audit trail in {folder} cannot be used: {problem}"
                ) from problem
            raise

    def _open(
        self, folder: Path, segment_bytes: int, monotonic: Callable[[], float], *, always: bool
    ) -> None:
        found = recover(folder)
        with ExitStack() as opened:
            self._database = open_rows(folder)
            opened.callback(self._database.close)
            rows = Rows(self._database)
            lost = follow_on(folder, rows, found.end)
            self._intents = Intents(folder)
            opened.callback(self._intents.close)
            self._journal = Journal(folder, found.end, segment_bytes=segment_bytes)
            opened.callback(self._journal.close)
            self._anchors = anchors_of(folder)  # before anything can go that says so
            opened.pop_all()
        self._turn = TurnWrites(self._journal, self._heard)
        self._flusher = Flusher(self._journal, on_fault=self._mend)
        self._calls = CallRecording(
            *(self._journal, self._turn, self._intents, self._flusher, self._stamps, monotonic),
            always=always,
        )
        self._feeder = Feeder(folder, self._journal, rows, self._retention)
        for piece in found.torn:
            self._report("torn", {name: getattr(piece, name) for name in piece.__struct_fields__})
        if lost is not None:
            self._report("rows_lost", {"first": lost[0], "last": lost[1]})
        if found.end.seq:  # the trail of a version before there was this mark
            self._lock.keep()
        self._record_left(folder, max(1, found.end.segment - 1))

    def _record_left(self, folder: Path, segment: int) -> None:
        """Record the intents that a dead process left. Ends of their calls stand in the newest segments, if anywhere."""
        left = dict(self._intents.given_up())
        if not left:
            return
        texts = {text for text in left.values() if is_record(text)}
        unknown = without_end(texts, (line for _, _, line in lines_from(folder, segment, 0)))
        by_time = sorted(left.items(), key=lambda one: one[1])  # they begin with it
        for slot, text in by_time:
            if text not in texts:  # a power cut may leave half a slot
                self._report("torn", {"slot": slot, "bytes": len(text)})
            if text in unknown:
                self._intents.give_up(slot)
            else:
                self._intents.leave(slot)
        self._calls.record_given_up()

    def _report(self, what: str, details: dict[str, Any]) -> None:
        log.warning("audit: %s %s", what, details)
        try:
            self.event(f"dev.gatewright.audit.{what}", outcome="failure", details=details)
        except Unrecorded:  # a full disk, say: calls are refused until it is mended
            log.exception("audit: the piece is there, its record is not")

    @property
    def fault(self) -> str | None:
        """Why calls are refused at present, as a sentence for `/readyz`; None when all is well."""
        return self._journal.fault or self._calls.barred

    @property
    def barred(self) -> str | None:
        """Why no call may begin although it could be recorded, as a sentence."""
        return self._calls.barred

    def bar(self, why: str) -> None:
        """Let no call begin, until `unbar`."""
        self._calls.barred = why

    def unbar(self) -> None:
        """Let calls begin again."""
        self._calls.barred = None

    @property
    def anchors(self) -> Mapping[str, Anchor]:
        """What the record knows of the state (`audit/anchors.py`); kept in it when the records that say so go."""
        return self._anchors

    def anchor(self, known: dict[str, Anchor]) -> int:
        """Let the record know of steps of the state, and return the number of the record that says so. Raises `Unrecorded`."""
        number = self.event(ANCHORED, details={"stores": spelled(known)})
        self._anchors = known
        return number

    @property
    def feed_problem(self) -> str | None:
        """Why the database falls behind the journal; None while it does not."""
        return self._feeder.problem

    @property
    def written(self) -> int:
        """Records in the trail."""
        return self._journal.end.seq

    @property
    def synced(self) -> Head:
        """How far the record has come on the disk."""
        return self._journal.synced

    @property
    def lag(self) -> int:
        """Records that are in the journal and not yet in the database."""
        return self._journal.end.seq - self._feeder.fed.seq

    def open(self, call: Call) -> CallTrail:
        """Begin the record of one call. Raises `Unrecorded`."""
        calls = self._calls
        if self._journal.fault is not None or self._calls.barred is not None:
            calls.refused += 1
            raise Unrecorded(self.fault or "")
        started = calls.monotonic()
        calls.running += 1
        return CallTrail(calls, started)

    def recorder(self, call: Call) -> PreparedRecords | None:
        """Who records calls like this one; None where each of them waits for the disk."""
        if self._calls.always or call.tool is None or call.tool.security.risk_level == "dangerous":
            return None
        return PreparedRecords(self._calls, call)

    def event(
        self,
        event_type: str,
        *,
        actor: Actor = GATEWAY,
        target: Subject | None = None,
        outcome: Verdict = "success",
        details: Mapping[str, Any] | None = None,
        trace_id: str | None = None,
    ) -> int:
        """Record something that is not a call, and return its number. Raises `Unrecorded`.

        `event_type` is a name of MGP §6.4 or one in reverse-domain form. Without a trace id the
        record's own id stands for it.
        """
        moment, id = self._stamps.take()
        record = Record(
            id=id,
            time=moment,
            event_type=event_type,
            outcome=outcome,
            actor=actor,
            target=target or Subject(),
            trace_id=trace_id or id,
            details=details or {},
        )
        line = _cleaned(encode(record))
        number = self._turn.append(line)
        self._turn.tell((line,))
        return number

    def _heard(self, lines: Sequence[bytes]) -> None:
        self._lock.keep()
        if self.turns.listeners:
            self.turns.send(lines)
        if self.heard.listeners:
            for line in lines:
                self.heard.send(line)

    async def on_disk(self) -> None:
        """Return once everything written so far would survive a power cut. Raises `Unrecorded`."""
        self._turn.write()
        await self._flusher.wait_for(self._journal.end.seq)

    async def close(self) -> None:
        """Write everything down, let the database catch up, and give the folder back. Who is cancelled meanwhile hears of it when that
        is done: whatever comes next closes what is written in here."""
        self._turn.write()
        # No task: those a loop cancels when it ends.
        await _to_its_end(asyncio.get_running_loop().run_in_executor(None, self._finish))

    def finish(self) -> None:
        """`close` for whoever has no event loop."""
        self._turn.write()
        self._finish()

    def _finish(self) -> None:
        with ExitStack() as last:  # from the bottom up, each whatever the one before it did
            last.callback(self._lock.release)
            last.callback(self._say_end)
            last.callback(self._intents.close)
            last.callback(self._database.close)
            last.callback(self._journal.close)
            last.callback(self._feeder.close)
            last.callback(self._flusher.close)

    def _say_end(self) -> None:
        self.ended.send(self._journal.synced)

    def _prune(self, details: Mapping[str, Any]) -> int:
        """Announce that records go. In the feeder's thread. Raises `Unrecorded`."""
        if self._anchors:
            details = {**details, "stores": spelled(self._anchors)}
        return self._journal.append(encode(own_record(PRUNED, self._pruning.take(), details)))

    def _mend(self) -> None:
        """Try to write again. In the flusher's thread, again and again until it works."""
        if not self._failing:  # logged once, not four times a second
            self._failing = True
            log.error("calls are refused: %s", self._journal.fault)
        details = {"fault": self._journal.fault, "refused": self._calls.refused}
        resumed = own_record("dev.gatewright.audit.resumed", self._mending.take(), details)
        try:
            self._journal.repair()
            self._journal.append(encode(resumed))
        except (OSError, Unrecorded):
            return
        self._calls.record_given_up()
        self._failing = False
        self._calls.refused = 0
        log.warning("the audit trail is written again, and calls are taken")


async def _to_its_end(work: asyncio.Future[None]) -> None:
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait((work,))
        except asyncio.CancelledError as again:
            cancelled = again
    try:
        work.result()
    finally:
        if cancelled is not None:
            raise cancelled


_SAID = b'"actor":'
"""The first member of a record that may be another's word. What stands before it is the gateway's own, and looks like a time and a password."""


def _cleaned(record: bytes) -> bytes:
    """Without the secrets that are quoted in it, as in its details."""
    at = record.index(_SAID)
    return record[:at] + without_secrets(b"{" + record[at:])[1:]
