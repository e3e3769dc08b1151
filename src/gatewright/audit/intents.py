"""`Intents`: memory-mapped notes of forwarded calls without a recorded end; survive `kill -9`, become audit records at the next start.

Theory. An intent says that a call was forwarded, and matters as long as nobody knows how the call ended: the
record of its end says all of it and more. So it is no line of the journal from the start. It stands in a
slot of a small file that is mapped into memory: writing it is a copy, taking it away is four bytes, and
after the death of the process the system has what the slot held. What is found there at the next
start becomes records of the trail, and so do the intents of calls whose ends could not be written.

A slot is the length of its text, four bytes, then the text, the intent as a JSON object. The length is written last and
taken away first, so that a slot is never read half written. An intent that is longer than a slot, or
for which none is free, has no place here: it goes to the journal at once.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path

import msgspec

from gatewright.patterns import Pattern
from gatewright.storage.errors import StoreDamagedError

__all__ = ["INTENTS", "SLOTS", "SLOT_BYTES", "Intents", "is_record", "read_intents", "without_end"]

INTENTS = "audit.running"
SLOTS = 512
SLOT_BYTES = 1024

_BYTES = SLOTS * SLOT_BYTES
_LENGTH = struct.Struct("<I")
_put_length = _LENGTH.pack_into
_FREE = bytes(_LENGTH.size)
_AT_ONCE = 64 * SLOT_BYTES
_ROOM = SLOT_BYTES - _LENGTH.size
_CALL = Pattern(rb',"call":"((?:[^"\\]|\\.)*)"')
"""In a record. Within a text of JSON no quotation mark stands without a backslash."""


class Intents:
    """The file of one state folder. `enter` and `leave` are called by the loop's thread; any may `give_up`."""

    def __init__(self, folder: Path) -> None:
        """Raises `OSError`, also where the disk has no room for the file; `StoreDamagedError` for another file."""
        file = os.open(folder / INTENTS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(file).st_size
            if size not in (0, _BYTES):
                raise StoreDamagedError(f"{folder / INTENTS} is not what Gatewright wrote")
            if not size:  # real bytes: a hole that the disk cannot fill would end the process
                os.pwrite(file, bytes(_BYTES), 0)
                os.fsync(file)
            self._slots = mmap.mmap(file, _BYTES)
        finally:
            os.close(file)
        every = range(0, _BYTES, SLOT_BYTES) if size else ()
        taken = [at for at in every if self._slots[at : at + 4] != _FREE]
        self._free = [at for at in reversed(range(0, _BYTES, SLOT_BYTES)) if at not in taken]
        self._given_up = deque(taken)

    def enter(self, intent: bytes) -> int | None:
        """Note an intent, and return its slot; None where there is no place for it."""
        size, free = len(intent), self._free
        if size > _ROOM or not free:
            return None
        at, slots = free.pop(), self._slots
        begin = at + 4
        # The text first: with its length in place a death in between would leave half an intent that looks whole.
        slots[begin : begin + size] = intent
        _put_length(slots, at, size)
        return at

    def leave(self, slot: int) -> None:
        """The call has ended, and its end is recorded."""
        self._slots[slot : slot + 4] = _FREE
        # Last: the flusher's thread may do this while the loop enters another intent.
        self._free.append(slot)

    def give_up(self, slot: int) -> None:
        """The call has ended, and that could not be recorded: its intent has to be."""
        self._given_up.append(slot)

    def given_up(self) -> Iterable[tuple[int, bytes]]:
        """Slots that nobody works with any more, and their intents: those of calls that were given up and those that a
        dead process left. Each is named once; whoever has recorded one says `leave`, and else `give_up` again."""
        # Not what is given up again meanwhile: that would never end on a full disk.
        for _ in range(len(self._given_up)):
            try:
                slot = self._given_up.popleft()
            except IndexError:  # another thread was quicker
                return
            yield slot, _text(self._slots, slot)

    def running(self) -> int:
        """How many slots are taken."""
        return SLOTS - len(self._free)

    def close(self) -> None:
        """Let go of the file. What stands in it stays."""
        self._slots.close()


def _text(slots: bytearray | mmap.mmap, at: int) -> bytes:
    (length,) = _LENGTH.unpack_from(slots, at)
    # The length may be nonsense: another process may be writing it.
    return bytes(slots[at + 4 : at + 4 + min(length, _ROOM)])


def read_intents(folder: Path) -> list[bytes]:
    """The intents of the calls that run now, or ran when the gateway died. For any process. A slot that is being written
    meanwhile, or holds nonsense, is passed over."""
    try:
        with (folder / INTENTS).open("rb", buffering=0) as file:
            return [text for text in _texts(file) if is_record(text)]
    except FileNotFoundError:
        return []


def _texts(file: FileIO) -> Iterator[bytes]:
    """What the taken slots hold. Nearly all are free: those cost no more than a look at their length, and no memory of their own."""
    some = bytearray(_AT_ONCE)
    while (size := file.readinto(some) or 0) >= SLOT_BYTES:
        for at in range(0, size - SLOT_BYTES + 1, SLOT_BYTES):
            if some[at : at + 4] != _FREE:
                yield _text(some, at)


def is_record(text: bytes) -> bool:
    """Whether a slot holds what the record takes."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except msgspec.DecodeError:
        return False


def without_end(intents: Iterable[bytes], lines: Iterable[bytes]) -> list[bytes]:
    """Those intents of whose calls none of the records `lines` says anything."""
    left = {found[1]: intent for intent in intents if (found := _CALL.search(intent))}
    for line in lines:
        if not left:
            break
        found = _CALL.search(line)
        if found is not None:  # its end was written and the process died before it freed the slot
            left.pop(found[1], None)
    return list(left.values())
