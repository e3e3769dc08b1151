"""`Deliveries`: sends what waits in rooms to their members, when it is due, in time slices that all rooms of a hub share.

What waits in a room leaves together, once in a turn of the event loop, so that sixteen messages for a thousand readers are a
thousand writes and not sixteen thousand. How long it takes to write to all of them is bounded by time: rooms with something on its
way take turns, a few members of each, and everybody else of this process has a turn in between. What is said meanwhile comes after.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from itertools import islice

from gatewright.mcpx.batches import Batch
from gatewright.mcpx.topic import PIECE_BYTES, Member, Room
from gatewright.transport.slices import begun

__all__ = ["Deliveries"]

log = logging.getLogger("gatewright.rooms")

PATIENCE_S = 0.05
"""How long presence waits at most, where nothing else is said."""
PATIENCE_EACH_S = 20e-6
"""How long for each member of a room: about as much as telling all of them costs, so a small room is told at once."""
SMALL = 100

_AT_FIRST = 4
"""Steps that are done at once: with these a small room has all that it waits for, and nothing more is to be arranged."""
_AT_ONCE = 8
"""How many members are written to in one step, of what weighs no more than"""
_SMALL_BYTES = 4096
"""as much as that: longer texts are copied, or fill what the system takes, for each of them."""


class Deliveries:
    """What of rooms waits to leave, and what is on its way."""

    def __init__(
        self,
        broke: Callable[[Member], None],
        *,
        soon: Callable[[Callable[[], object]], object] | None = None,
        later: Callable[[float, Callable[[], object]], object] | None = None,
        sliced: Callable[[Generator[None, None, None]], object] = begun,
    ) -> None:
        """`broke` is told whose seat raised; for the others see `Hub`."""
        self._broke = broke
        self._soon = soon
        self._later = later
        self._sliced = sliced
        self._patient: set[Room] = set()
        self._dirty: dict[Room, None] = {}
        self._scheduled = False
        self._leaving: dict[Room, Generator[None, None, None]] = {}
        """What is on its way."""
        self._under_way = False

    def touch(self, room: Room) -> None:
        """Something waits in a room, or may."""
        if room.waiting > PIECE_BYTES:
            self._leave(room)
            return
        if room.patient and len(room.members) > SMALL:
            if room not in self._patient:
                self._patient.add(room)
                wait = min(PATIENCE_S, PATIENCE_EACH_S * len(room.members))
                (self._later or asyncio.get_running_loop().call_later)(
                    wait, lambda: self._leave(room)
                )
            return
        self._dirty[room] = None
        if not self._scheduled:
            self._scheduled = True
            (self._soon or asyncio.get_running_loop().call_soon)(self._flush)

    def welcome(self, room: Room, member: Member) -> None:
        """A newcomer hears at once who it is; the others of a large room hear of it a little later."""
        if room in self._patient:
            (self._soon or asyncio.get_running_loop().call_soon)(
                lambda: self._welcome(room, member)
            )

    def _welcome(self, room: Room, member: Member) -> None:
        # What is on its way to it comes first.
        if member.is_here and room not in self._leaving:
            batch = room.flush_to(member)
            if batch.messages:
                self._deliver(batch, room, member)

    def forget(self, room: Room) -> None:
        """Nobody is in it any more."""
        self._dirty.pop(room, None)

    def _flush(self) -> None:
        """Send what waits."""
        self._scheduled = False
        dirty, self._dirty = self._dirty, {}
        for room in dirty:
            self._leaving.setdefault(room, self._of(room))
            self._patient.discard(room)
        self._go()

    def _leave(self, room: Room) -> None:
        self._patient.discard(room)
        self._leaving.setdefault(room, self._of(room))  # what is on its way already comes first
        self._go()

    def _go(self) -> None:
        if not self._under_way:
            self._under_way = True
            steps = self._all()
            for _ in islice(steps, _AT_FIRST):
                pass
            if self._leaving:
                self._sliced(steps)
            else:
                steps.close()

    def _all(self) -> Generator[None, None, None]:
        """A step of each room in turn: a small one does not wait for a large one."""
        try:
            while self._leaving:
                for room, steps in list(self._leaving.items()):
                    if self._is_over(room, steps):
                        self._over(room)
                    yield
        finally:
            self._under_way = False

    def _is_over(self, room: Room, steps: Generator[None, None, None]) -> bool:
        """After one more step. One that fails takes what this room had on its way along, and nothing of the others."""
        try:
            return bool(next(steps, True))
        except Exception:
            log.exception("what was on its way in %s is lost", room.name)
            return True

    def _over(self, room: Room) -> None:
        del self._leaving[room]
        if room.waiting and room.members:
            self.touch(room)

    def _of(self, room: Room) -> Generator[None, None, None]:
        found = yield from room.flush()
        found.reverse()
        while found:
            # What was written is kept no longer: a thousand members may each have a batch of a megabyte.
            batch, members = found.pop()
            few = _AT_ONCE if len(members) > 1 and batch.weight <= _SMALL_BYTES else 1
            for start in range(0, len(members), few):
                for member in members[start : start + few]:
                    self._deliver(batch, room, member)
                yield

    def _deliver(self, batch: Batch, room: Room, member: Member) -> None:
        """Who is not here any more gets nothing."""
        try:
            if member.is_here:
                member.seat.deliver(batch)
        except Exception:
            log.exception("the seat of %s in %s broke", member.id, room.name)
            self._broke(member)
