"""`TurnWrites`: writes records of calls that ended in one event-loop turn with one write to the journal (group write), then tells each call.

A call that ends hands its records over, and its answer waits for `Waiter.written`. What was handed over in one turn of the loop is
written at the beginning of the next, at once where it gets large, and before anything else that the loop records: so the order of
the journal is that in which things happened, but for what other threads record (0082). No timer: a call that ends alone is written at once (`write_now`).

A write that fails fails for all of its records (`Journal.append_all`), and each call hears that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from gatewright.audit.journal import Journal
from gatewright.call import Unrecorded

__all__ = ["TURN_BYTES", "Leaving", "TurnWrites", "Waiter"]

log = logging.getLogger("gatewright.audit")

TURN_BYTES = 64 * 1024
"""So many bytes are written at once, without waiting for the end of the turn."""


class Waiter(Protocol):
    """Who handed records over. What it raises is logged, and costs the others nothing."""

    def written(self, number: int) -> None:
        """They are in the trail; `number` is that of the last of them."""

    def failed(self, problem: Unrecorded) -> None:
        """None of them is."""


class Leaving(Protocol):
    """A call whose answer leaves once all have heard of its record, of which nobody asks the number."""

    def leave(self) -> None:
        """They have."""

    def failed(self, problem: Unrecorded) -> None:
        """It is not written."""


class TurnWrites:
    """Of one journal. Used by the event loop's thread alone."""

    def __init__(self, journal: Journal, heard: Callable[[Sequence[bytes]], object]) -> None:
        """`heard` is told of what was written, after those who handed it over."""
        self._journal = journal
        self._heard = heard
        self.loop: asyncio.AbstractEventLoop | None = None
        """The loop in whose next turn is written what waits; asked for once a turn, since that costs a system call."""
        self.texts: list[bytes] = []
        """What is not yet written."""
        self._waiters: list[tuple[Waiter, int]] = []
        """Who handed it over, and at which place the last of its records stands."""
        self._leaving: list[Leaving] = []
        self._bytes = 0

    def add(self, texts: Sequence[bytes], waiter: Waiter) -> None:
        """Take the records of one call, to be written in the next turn of the loop, or by `write` before it."""
        self.texts += texts
        self._waiters.append((waiter, len(self.texts)))
        self._bytes += sum(map(len, texts))
        self._write_soon(len(texts))

    def add_one(self, text: bytes, leaving: Leaving) -> None:
        """The same of a call that has one record."""
        self.texts.append(text)
        self._leaving.append(leaving)
        self._bytes = size = self._bytes + len(text)
        if size >= TURN_BYTES or len(self.texts) == 1:
            self._write_soon(1)

    def append(self, text: bytes) -> int:
        """Write one record now, behind those of the calls that ended before, and return its number. Raises `Unrecorded`."""
        self.write()
        return self._journal.append(text)

    def _write_soon(self, added: int) -> None:
        """Write in the next turn, or now where that is much; `added` as many records were, before which perhaps none waited."""
        if self._bytes >= TURN_BYTES:
            self.write()
        elif len(self.texts) == added:
            try:
                self.loop = loop = asyncio.get_running_loop()
            except RuntimeError:  # without a loop there are no turns
                self.write()
            else:
                loop.call_soon(self.write)

    def write(self) -> None:
        """Write what was handed over so far, and say how that went. Nothing to do where there is none."""
        texts = self.texts
        if texts:
            waiters, leaving = self._waiters, self._leaving
            self.texts, self._waiters, self._leaving, self._bytes = [], [], [], 0
            self._write(texts, waiters, leaving)

    def write_now(self, texts: Sequence[bytes], waiter: Waiter) -> None:
        """Write the records of one call at once, where nothing waits, and say how that went."""
        self._write(texts, ((waiter, len(texts)),), ())

    def write_one(self, text: bytes, leaving: Leaving) -> None:
        """The same of a call that has one record."""
        self._write((text,), (), (leaving,))

    def _write(
        self,
        texts: Sequence[bytes],
        waiters: Sequence[tuple[Waiter, int]],
        leaving: Sequence[Leaving],
    ) -> None:
        try:
            before = self._journal.append_all(texts) - len(texts)
        except Unrecorded as problem:
            _fail((*(one for one, _ in waiters), *leaving), problem)
            return
        except BaseException as problem:
            said = Unrecorded(f"the audit trail cannot be written: {problem}")
            _fail((*(one for one, _ in waiters), *leaving), said)
            raise
        # From here on all of it is part of the trail: whatever breaks for one who is told takes nothing back.
        for waiter, place in waiters:
            try:
                waiter.written(before + place)
            except Exception:
                log.exception("a call could not be told that its record is written")
        self.tell(texts)
        for one in leaving:
            try:
                one.leave()
            except Exception:
                log.exception("a call whose record is written could not be answered")

    def tell(self, texts: Sequence[bytes]) -> None:
        """Have those told who listen to what was written."""
        try:
            self._heard(texts)
        except Exception:
            log.exception(
                "who listens to the audit trail could not be told of %d records", len(texts)
            )


def _fail(every: Sequence[Waiter | Leaving], problem: Unrecorded) -> None:
    for one in every:
        try:
            # One each: an exception raised twice joins tracebacks.
            one.failed(Unrecorded(*problem.args))
        except Exception:
            log.exception("a call could not be told that its record is not written")
