"""Opens state database and audit trail; records state changes as anchors; bars start and calls if one was rolled back; `accept` overrides.

What an older or missing store would allow is refused: a gateway does not start on it, and one that runs takes no call. An
operator puts the right file back, or says that the present state is meant (`gatewright audit accept`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from gatewright.audit.anchors import (
    ACCEPTED,
    Heads,
    anchors_of,
    behind,
    has_record,
    lost_trail,
    spelled,
)
from gatewright.audit.records import Actor
from gatewright.audit.retention import Keep
from gatewright.audit.segments import Head
from gatewright.audit.state_check import check_of, inconsistencies, is_behind, is_lost, what_to_do
from gatewright.audit.trail import AuditLog
from gatewright.audit.trail_position import note, statements_of
from gatewright.call import Unrecorded
from gatewright.config import Settings
from gatewright.storage.changes import dropping
from gatewright.storage.errors import StoreError
from gatewright.storage.lock import FolderLock
from gatewright.storage.opening import open_state, view_of
from gatewright.storage.sqlite import SQLITE
from gatewright.storage.state import StateDatabase
from gatewright.storage.try_write import changed_last

__all__ = [
    "POLLED_S",
    "Anchoring",
    "accept",
    "anchoring_of",
    "open_checked_state",
    "open_trail",
    "wrong_in",
]

POLLED_S = 0.25
"""Seconds between two looks at the state: so long calls may still pass on one that was put back or replaced."""

log = logging.getLogger("gatewright")


def open_checked_state(folder: Path) -> StateDatabase:
    """The state of a folder, opened for reading and writing. Where it has to be made, or brought to the form of this version, it is
    first held against the record. Raises `StoreError`."""
    return open_state(folder, check_of(folder))


def open_trail(
    settings: Settings,
    database: StateDatabase,
    random: Callable[[int], bytes],
    *,
    taken: Callable[[], int],
) -> AuditLog:
    """The record of the configured state folder. `taken` is the last record that every sink has.

    Raises `StoreDamagedError` where there was another one that is gone, and what `AuditLog` raises; the `database` is closed then.
    """
    with _closed_where_it_fails(database):
        return _record_of(settings, database, random, taken)


def _record_of(
    settings: Settings,
    database: StateDatabase,
    random: Callable[[int], bytes],
    taken: Callable[[], int],
) -> AuditLog:
    state, said = settings.storage.path, settings.audit
    why = lost_trail(state, view_of(database))
    if why:
        FolderLock(state).release()  # another gateway that just starts there is the nearer reason
        raise is_lost(state, why)
    return AuditLog(
        state,
        clock=time.time,
        monotonic=time.monotonic,
        random=random,
        sync=said.sync,
        keep=Keep(said.retention_days, taken),
    )


async def anchoring_of(state: Path, audit: AuditLog, database: StateDatabase) -> Anchoring:
    """The state of a folder held against the record that was just opened; both are closed where it is behind.
    Raises `StoreError`."""
    with _closed_where_it_fails(database):
        try:
            return Anchoring(state, audit, database)
        except StoreError:
            await audit.close()
            raise


@contextlib.contextmanager
def _closed_where_it_fails(database: StateDatabase) -> Iterator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise


class Anchoring:
    """Compares the state of one running gateway with its audit trail, in both directions. For the event loop's thread."""

    def __init__(self, state: Path, audit: AuditLog, database: StateDatabase) -> None:
        """Before any store is opened. `database` is the one that they will be in. Raises `StoreDamagedError` where one is behind the
        record, `StoreError`."""
        self._audit = audit
        self._state = state
        self._database = database
        self._heads = Heads(state)
        self._known = audit.anchors
        self._unnoted = False
        self._from = 0
        wrong = inconsistencies(state, self._known, self._heads.found(), self._heads.place())
        self._noted = self._knows()
        """The highest record number that the state was seen to have noted (`trail_position`); an older copy has a lower one."""
        if wrong:
            self._heads.close()
            raise is_behind(state, wrong)

    async def follow(self) -> None:
        """Look for ever, in a task of its own: no store that fails elsewhere may keep calls from being barred."""
        while True:
            self._try()
            await asyncio.sleep(POLLED_S)

    def _try(self) -> None:
        try:
            self.look()
        except Unrecorded:  # calls are refused anyway
            return
        except Exception:  # nobody knows how the stores are
            if self._audit.barred is None:  # once, and not four times a second
                log.exception("the stores could not be looked at")
            self._bar("they could not be looked at")

    def look(self) -> None:
        """Bar all calls while a store is behind the record; let the record know of steps. Raises `Unrecorded`."""
        found = self._heads.found()
        # A section without steps holds nothing that could be lost.
        steps = {name: one for name, one in found.heads.items() if one.steps or name in self._known}
        wrong = [*behind(self._known, found), *([_replaced()] if self._heads.moved() else [])]
        if not wrong and (steps != self._known or self._audit.barred is not None):
            wrong = self._outdated()  # steps alone could be taken anew, upon an older copy
        if wrong:
            self._bar("; ".join(wrong))
            return
        if self._audit.barred is not None:
            log.warning("the stores are again what the record says, and calls are taken")
            self._audit.unbar()
        if steps != self._known:
            self._from = self._audit.anchor(steps)
            self._unnoted = True
            self._known = steps
        # Only what is on the disk may be noted: else a power cut leaves a state ahead of its trail, which is refused.
        if self._unnoted and self._audit.synced.seq >= self._from:
            self._unnoted = not note(self._state, self._audit.synced)
            self._noted = max(self._noted, self._knows())

    def _knows(self) -> int:
        place = self._heads.place()
        return 0 if place is None else place.seq

    def _outdated(self) -> list[str]:
        now = self._knows()
        if now >= self._noted:
            return []
        return [
            f"{SQLITE.file} is an older copy: it knows of {now} records, and knew of {self._noted}"
        ]

    def close(self) -> None:
        """Let the record know of the last steps, and let go of the files. How far it came the stores hear when it is closed,
        and their database is closed then, before anybody else may take the folder."""
        try:
            self._try()
            self._heads.close()
        finally:
            self._audit.ended.listen(self._ending())

    def _ending(self) -> Callable[[Head], object]:
        may_write, told = self._audit.barred is None, self._database.told()
        upto = self._audit.written

        # Who closes the database last brings its log into its file, so all is said before.
        def end(place: Head) -> None:
            try:
                # Where the last flush has failed, what is told is not known to be on the disk, and its outbox rows stay.
                said = [*statements_of(place), *(dropping(told) if place.seq >= upto else ())]
                # What another file has in its place by now is not this one's to write in.
                if said and may_write and self._heads.in_place():
                    changed_last(self._database.engine, said)
            finally:
                self._database.close()

        return end

    def _bar(self, wrong: str) -> None:
        if self._audit.barred is None:
            log.error(
                "calls are refused: the state is behind its record: %s; %s", wrong, what_to_do()
            )
            with contextlib.suppress(Unrecorded):  # calls are barred all the same
                self._audit.event(
                    "dev.gatewright.stores.behind", outcome="failure", details={"wrong": wrong}
                )
        self._audit.bar(
            "the state of the gateway is behind its record: an operator has to look at its log"
        )


def wrong_in(state: Path) -> list[str]:
    """What of a state folder is behind its record, each in a few words. Raises `StoreError`."""
    lost = lost_trail(state)
    if lost:
        return [f"the record is gone, though {lost}"]
    if not has_record(state):
        return []
    heads = Heads(state)
    try:
        return inconsistencies(state, anchors_of(state), heads.found(), heads.place())
    finally:
        heads.close()


def accept(state: Path, audit: AuditLog, by: str, wrong: Sequence[str]) -> None:
    """Let the record say that the stores are right as they are, though this is wrong of them. Raises `Unrecorded`."""
    heads = Heads(state)
    try:
        found = heads.found()
    finally:
        heads.close()
    said = {"stores": spelled(found.heads), "were": spelled(audit.anchors), "wrong": wrong}
    audit.event(ACCEPTED, actor=Actor("operator", by), details=said)
    # When the trail is closed this record is on the disk. Noted before, a power cut would leave a state ahead of the trail.
    audit.ended.listen(partial(note, state))


def _replaced() -> str:
    return f"another file stands in the place of {SQLITE.file}, which the gateway has open: start it again"
