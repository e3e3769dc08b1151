"""Opens state and audit trail together, and refuses service at start or while running when the state is behind or the trail lost.

What an older or missing store would allow is refused: a gateway does not start on it, and one that runs takes no call. An
operator puts the right file back, or says that the present state is meant (`gatewright audit accept`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from gatewright.audit.anchors import (
    ACCEPTED,
    Anchor,
    Found,
    Heads,
    anchors_of,
    behind,
    bereft,
    forgotten,
    found_in,
    place_in,
    spelled,
)
from gatewright.audit.recorded import note, outrun
from gatewright.audit.records import Actor
from gatewright.audit.retention import Keep
from gatewright.audit.rows import DATABASE
from gatewright.audit.segments import Head
from gatewright.audit.trail import AuditLog
from gatewright.call import Unrecorded
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.lock import FolderLock
from gatewright.storage.opening import Check, Glimpse, open_state
from gatewright.storage.sqlite import SQLITE
from gatewright.storage.state import StateDatabase

__all__ = [
    "POLLED_S",
    "Anchoring",
    "accept",
    "anchoring_of",
    "check_of",
    "record_of",
    "state_of",
    "wrong_in",
]

POLLED_S = 0.25
"""How soon a store that goes back bars all calls."""

log = logging.getLogger("gatewright")


def _do() -> str:
    return (
        "put the right file back from a backup, or, if things are meant to be as they are, look at grants, keys and "
        f"pins, and then run `{to_type('audit accept')}`"
    )


def state_of(folder: Path) -> StateDatabase:
    """The state of a folder, opened for reading and writing. Where it has to be made, or brought to the form of this version, it is
    first held against the record. Raises `StoreError`."""
    return open_state(folder, check_of(folder))


def check_of(folder: Path) -> Check:
    """Refuses a state that is behind the record of its folder, or whose record is gone."""

    def check(found: Glimpse) -> None:
        lost = bereft(folder, found)
        if lost:
            raise _is_lost(folder, lost)
        wrong = (
            _wrong(folder, anchors_of(folder), found_in(found), place_in(found))
            if _has_record(folder)
            else []
        )
        if wrong:
            raise _is_behind(folder, wrong)

    return check


def record_of(
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
        return _record_of(settings, random, taken)


def _record_of(
    settings: Settings,
    random: Callable[[int], bytes],
    taken: Callable[[], int],
) -> AuditLog:
    state, said = settings.storage.path, settings.audit
    why = bereft(state)
    if why:
        FolderLock(state).release()  # another gateway that just starts there is the nearer reason
        raise _is_lost(state, why)
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
            return Anchoring(state, audit)
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
    """Between the record and the stores of one gateway. For the event loop's thread."""

    def __init__(self, state: Path, audit: AuditLog) -> None:
        """Before any store is opened. Raises `StoreDamagedError` where one is behind the record, `StoreError`."""
        self._audit = audit
        self._state = state
        self._heads = Heads(state)
        self._known = audit.anchors
        self._unnoted = False
        self._from = 0
        wrong = _wrong(state, self._known, self._heads.found(), self._heads.place())
        if wrong:
            self._heads.close()
            raise _is_behind(state, wrong)

    async def follow(self) -> None:
        """Look for ever. By itself, so that no store that cannot be followed keeps anybody from looking."""
        while True:
            self._try()
            await asyncio.sleep(POLLED_S)

    def _try(self) -> None:
        try:
            self.look()
        except Unrecorded:  # calls are refused anyway
            return
        except Exception:  # nobody knows how the stores are
            log.exception("the stores could not be looked at")
            self._bar("they could not be looked at")

    def look(self) -> None:
        """Bar all calls while a store is behind the record; let the record know of steps. Raises `Unrecorded`."""
        found = self._heads.found()
        wrong = [*behind(self._known, found), *([_replaced()] if self._heads.moved() else [])]
        if wrong:
            self._bar("; ".join(wrong))
            return
        if self._audit.barred is not None:
            log.warning("the stores are again what the record says, and calls are taken")
            self._audit.unbar()
        steps = {name: one for name, one in found.heads.items() if one.steps or name in self._known}
        if steps != self._known:
            self._from = self._audit.anchor(steps)
            self._unnoted = True
            self._known = steps
        if self._unnoted and self._audit.synced.seq >= self._from:
            self._unnoted = not note(self._state, self._audit.synced)

    def close(self) -> None:
        """Let the record know of the last steps, and let go of the files. How far it came the stores hear when it is closed."""
        self._try()
        self._heads.close()
        if self._audit.barred is None:
            self._audit.ended.listen(partial(note, self._state))

    def _bar(self, wrong: str) -> None:
        if self._audit.barred is None:
            log.error("calls are refused: the state is behind its record: %s; %s", wrong, _do())
            with contextlib.suppress(Unrecorded):
                self._audit.event(
                    "dev.gatewright.stores.behind", outcome="failure", details={"wrong": wrong}
                )
        self._audit.bar(
            "the state of the gateway is behind its record: an operator has to look at its log"
        )


def wrong_in(state: Path) -> list[str]:
    """What of a state folder is behind its record, each in a few words. Raises `StoreError`."""
    lost = bereft(state)
    if lost:
        return [f"the record is gone, though {lost}"]
    if not _has_record(state):
        return []
    heads = Heads(state)
    try:
        return _wrong(state, anchors_of(state), heads.found(), heads.place())
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
    audit.ended.listen(partial(note, state))


def _has_record(state: Path) -> bool:
    return (state / DATABASE).exists()


def _wrong(state: Path, known: Mapping[str, Anchor], found: Found, place: Head | None) -> list[str]:
    wrong = [*forgotten(state, known), *behind(known, found)]
    try:
        return [*wrong, *outrun(state, SQLITE.file, place)]
    except OSError as problem:
        raise StoreError(f"the record in {state} cannot be read: {problem}") from problem


def _is_lost(state: Path, why: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"the record in {state} is gone, though {why}: what was forbidden may be gone with it; {_do()}"
    )


def _is_behind(state: Path, wrong: Sequence[str]) -> StoreDamagedError:
    return StoreDamagedError(
        f"the state in {state} is behind its record: {'; '.join(wrong)}. What was forbidden may be allowed "
        f"again: {_do()}"
    )


def _replaced() -> str:
    return f"another file stands in the place of {SQLITE.file}, which the gateway has open: start it again"
