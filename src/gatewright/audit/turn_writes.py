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

__all__ = ["TURN_BYTES", "TurnWrites", "Waiter"]

log = logging.getLogger("gatewright.audit")

TURN_BYTES = 64 * 1024
"""So many bytes are written at once, without waiting for the end of the turn."""


class Waiter(Protocol):
    """Who handed records over. What it raises is logged, and costs the others nothing."""

    def written(self, number: int) -> Callable[[], object] | None:
        """They are in the trail; `number` is that of the last of them. What is to be called once all have heard of it, if anything."""

    def failed(self, problem: Unrecorded) -> None:
        """None of them is."""


class TurnWrites:
    """Of one journal. Used by the event loop's thread alone."""

    def __init__(self, journal: Journal, heard: Callable[[Sequence[bytes]], object]) -> None:
        """`heard` is told of what was written, after those who handed it over."""
        self._journal = journal
        self._heard = heard
        self.loop: asyncio.AbstractEventLoop | None = None
        """The loop in whose next turn is written what waits; asked for once a turn, since that costs a system call."""
        self._texts: list[bytes] = []
        self.waiters: list[tuple[Waiter, int]] = []
        """Who handed over what is not yet written, and how many records."""
        self._bytes = 0

    def add(self, texts: Sequence[bytes], waiter: Waiter) -> None:
        """Take the records of one call, to be written in the next turn of the loop, or by `write` before it."""
        waiters = self.waiters
        waiters.append((waiter, len(texts)))
        self._texts += texts
        self._bytes = size = self._bytes + sum(map(len, texts))
        if size >= TURN_BYTES:
            self.write()
        elif len(waiters) == 1:
            self._write_soon()

    def add_one(self, text: bytes, waiter: Waiter) -> None:
        """The same of a call that has one record, as most have."""
        self._texts.append(text)
        waiters = self.waiters
        waiters.append((waiter, 1))
        self._bytes = size = self._bytes + len(text)
        if size >= TURN_BYTES:
            self.write()
        elif len(waiters) == 1:
            self._write_soon()

    def append(self, text: bytes) -> int:
        """Write one record now, behind those of the calls that ended before, and return its number. Raises `Unrecorded`."""
        self.write()
        return self._journal.append(text)

    def _write_soon(self) -> None:
        try:
            self.loop = loop = asyncio.get_running_loop()
        except RuntimeError:  # without a loop there are no turns
            self.write()
        else:
            loop.call_soon(self.write)

    def write(self) -> None:
        """Write what was handed over so far, and say how that went. Nothing to do where there is none."""
        waiters = self.waiters
        if waiters:
            texts, self._texts, self.waiters, self._bytes = self._texts, [], [], 0
            self._write(texts, waiters)

    def write_now(self, texts: Sequence[bytes], waiter: Waiter) -> None:
        """Write the records of one call at once, where nothing waits, and say how that went."""
        self._write(texts, ((waiter, len(texts)),))

    def _write(self, texts: Sequence[bytes], waiters: Sequence[tuple[Waiter, int]]) -> None:
        try:
            number = self._journal.append_all(texts) - len(texts)
        except Unrecorded as problem:
            _fail(waiters, problem)
            return
        except BaseException as problem:
            _fail(waiters, Unrecorded(f"the audit trail cannot be written: {problem}"))
            raise
        # From here on all of it is part of the trail: whatever breaks for one who is told takes nothing back.
        last = []
        for waiter, count in waiters:
            number += count
            try:
                if (leave := waiter.written(number)) is not None:
                    last.append(leave)
            except Exception:
                log.exception("a call could not be told that its record is written")
        self.tell(texts)
        for leave in last:
            try:
                leave()
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


def _fail(waiters: Sequence[tuple[Waiter, int]], problem: Unrecorded) -> None:
    for waiter, _ in waiters:
        try:
            # One each: an exception raised twice joins tracebacks.
            waiter.failed(Unrecorded(*problem.args))
        except Exception:
            log.exception("a call could not be told that its record is not written")
