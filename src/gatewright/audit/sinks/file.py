"""`FileSink`: audit sink to a file (mode 0600), rotated by size or age; optional limit on rotated files; cuts off a torn last line.

A file that is full is renamed to its name and the number of the first record in the next one, so names
sort and never meet. What a crash cut short at its end is cut off before anything is added: the batch
comes once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from gatewright.audit.sinks.follow import SinkFailed

__all__ = ["FileSink"]

_TAIL_BYTES = 64 << 10


class _Line(msgspec.Struct):
    seq: int
    time: datetime


class FileSink:
    """Appends to one file (0600)."""

    def __init__(
        self,
        path: Path,
        put: Callable[[bytes], bytes],
        *,
        rotate_bytes: int,
        rotate_s: float,
        keep: int = 0,
    ) -> None:
        """`put` changes a line into the form; 0 keeps all full files."""
        self._path = path
        self._put = put
        self._rotate_bytes = rotate_bytes
        self._rotate_s = rotate_s
        self._keep = keep
        self._file = -1
        self._size = 0
        self._began: datetime | None = None

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Write and flush. Raises `OSError`."""
        try:
            for line in lines:
                self._add(line)
            os.fsync(self._file)
        except BaseException:
            self._let_go()  # what is at its end is looked at again
            raise

    async def close(self) -> None:
        """Let go of what is open."""
        self._let_go()

    def _add(self, line: bytes) -> None:
        known = msgspec.json.decode(line, type=_Line)
        text = self._put(line)
        if self._file < 0:
            self._open()
        if self._size and (self._is_full(len(text)) or self._is_old(known.time)):
            self._turn(known.seq)
        if self._began is None:
            self._began = known.time
        written = os.write(self._file, text)
        if written != len(text):  # the half line is cut off when the file is opened again
            raise SinkFailed(f"{self._path} is on a disk that is full")
        self._size += written

    def _is_full(self, more: int) -> bool:
        return self._size + more > self._rotate_bytes

    def _is_old(self, moment: datetime) -> bool:
        began = self._began
        return began is not None and (moment - began).total_seconds() >= self._rotate_s

    def _open(self) -> None:
        # A link in its place would be somebody's word of where else the gateway makes a file, and cuts it off.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, flags, 0o600)
        size = os.fstat(self._file).st_size
        tail = os.pread(self._file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        # Records are at most 32 KiB, so the last newline is within the tail.
        self._size = size - (len(tail) - (tail.rfind(b"\n") + 1))
        os.ftruncate(self._file, self._size)
        # A file of a former run is as old as its last change, which is all that every form tells.
        changed = os.fstat(self._file).st_mtime
        self._began = datetime.fromtimestamp(changed).astimezone() if self._size else None

    def _turn(self, seq: int) -> None:
        os.fsync(self._file)
        self._let_go()
        self._path.rename(self._path.with_name(f"{self._path.name}.{seq:012d}"))
        if self._keep:
            old = sorted(self._path.parent.glob(f"{self._path.name}.{'[0-9]' * 12}"))
            for path in old[: -self._keep]:
                path.unlink(missing_ok=True)
        self._open()

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
