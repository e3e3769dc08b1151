"""`Journal`: appends chained JSON lines to segment files, rotates by size, fsyncs, updates the head file; stops at a failed write till repair.

`append_all` is one `write` to a file opened for appending. When it returns, the bytes are with the
operating system, and no death of this process can take them away; `sync` makes that true for a
power cut too. Both may run at once, `append_all` in the loop and `sync` in the flusher's thread.

A write that fails leaves the end of the file unknown: nothing may be there, a part, or all of it.
A flush that fails is worse, since the system may then hold pages for written that never were. In
both cases the journal stops (`fault`), every `append` raises `Unrecorded`, and nothing is assumed
until `repair` has made the file equal to what was acknowledged: it cuts the unknown tail off, and
writes what no flush has confirmed once more, after proving that it is still the chain's.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from gatewright.audit.chain import BrokenChainError, Chain, seal
from gatewright.audit.segments import HEAD, Head, encode_head, lines_from, segment_path
from gatewright.call import Unrecorded

__all__ = ["SEGMENT_BYTES", "Journal"]

SEGMENT_BYTES = 64 << 20
_SPARE_BYTES = 1 << 20  # free space that must be there before a full disk counts as mended
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_CLOSED = "the audit trail is closed: the gateway is stopping"


class Journal:
    """The writer. There is one for a folder, held by its `FolderLock`."""

    def __init__(self, folder: Path, end: Head, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Go on at `end`, as `recovery.recover` found it. Raises `OSError`."""
        self.fault: str | None = None
        """Why nothing can be written at present, as a sentence; None when all is well."""
        self.end = end
        """The last record that was acknowledged."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._retired: list[int] = []
        self._closed = False
        self._unflushed = False  # a flush failed: the pages since `synced` must be written again
        self._head = os.open(folder / HEAD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._file = os.open(segment_path(folder, end.segment), _APPEND, 0o600)
        self._new_file = True
        self.synced = end
        """The last record that is known to be on disk."""
        self._flush(end, (self._file,))
        _to_disk(self._head)  # once: from here on its block exists, and is written in place

    def append(self, body: bytes) -> int:
        """Write one record, a JSON object with members, and return its number.

        Raises `Unrecorded`; the record then is not part of the trail.
        """
        return self.append_all((body,))

    def append_all(self, bodies: Sequence[bytes]) -> int:
        """Write records, one after the other and at least one, and return the number of the last.

        Raises `Unrecorded`; then none of them is part of the trail.
        """
        if self.fault is not None:  # not to wait behind a repair
            raise Unrecorded(self.fault)
        self._lock.acquire()  # as `with` does, at half the cost
        try:
            if self.fault is not None:
                raise Unrecorded(self.fault)
            end = self.end
            seq = end.seq + len(bodies)
            data, digest = seal(end.seq + 1, bodies, end.hash)
            size = len(data)
            # What is written together is never split; it may be longer by itself.
            if end.offset + size > self._segment_bytes and end.offset:
                end = self._next_segment(end)
            written = os.write(self._file, data)
            if written != size:
                self._write_rest(data, written)
            self.end = Head(seq, digest, end.segment, end.offset + size)
        except Unrecorded:
            raise
        # Also a signal in between: nobody knows how much of it is there.
        except BaseException as problem:
            self.fault = f"the audit trail cannot be written: {problem}"
            if isinstance(problem, OSError):
                raise Unrecorded(self.fault) from problem
            raise
        finally:
            self._lock.release()
        return seq

    def begin_segment(self) -> None:
        """Put what comes next into a new file. Raises `Unrecorded`."""
        with self._lock:
            if self.fault is not None:
                raise Unrecorded(self.fault)
            if not self.end.offset:
                return
            try:
                self._next_segment(self.end)
            except OSError as problem:
                self.fault = f"the audit trail cannot be written: {problem}"
                raise Unrecorded(self.fault) from problem

    def sync(self) -> None:
        """Bring everything acknowledged so far to the disk, and move the head there.

        For one thread at a time. Raises `Unrecorded`.
        """
        with self._lock:
            if self._closed:
                raise Unrecorded(_CLOSED)
            if self._unflushed:
                raise Unrecorded(self.fault or "the audit trail waits for its repair")
            end, files = self.end, (*self._retired, self._file)
        # Without the lock: `append` must never wait for the disk.
        try:
            self._flush(end, files)
        except OSError as problem:
            self._unflushed = True
            self.fault = f"the audit trail cannot be flushed: {problem}"
            raise Unrecorded(self.fault) from problem

    def repair(self) -> None:
        """Make the file what was acknowledged, so that `append` works again.

        Call it from the thread that calls `sync`. Raises `OSError` as long as the cause is there.
        """
        with self._lock:
            self._still_open()
            if self.fault is None:
                return
            # A margin, or each record that is let in would fill the disk again and bar all calls.
            space = os.fstatvfs(self._file)
            if space.f_bavail * space.f_frsize < _SPARE_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._folder))
            os.ftruncate(self._file, self.end.offset)
            if self._unflushed:
                self._write_again()
                self._flush(self.end, (*self._retired, self._file))
                self._unflushed = False
            self.fault = None

    def head_to_disk(self) -> None:
        """Bring the head itself to the disk: from then on no power cut brings an earlier one back. Raises `OSError`."""
        with self._lock:
            self._still_open()
        _to_disk(self._head)

    def _still_open(self) -> None:
        # What has these numbers by now are other files.
        if self._closed:
            raise OSError(errno.EBADF, _CLOSED, str(self._folder))

    def close(self) -> None:
        """Flush and close. Raises `Unrecorded` when the flush fails; it is closed all the same."""
        if self._closed:
            return
        try:
            self.sync()
        finally:
            with self._lock:
                self.fault, self._closed = _CLOSED, True
                for descriptor in (*self._retired, self._file, self._head):
                    os.close(descriptor)

    def _write_rest(self, data: bytes, written: int) -> None:
        while written < len(data):
            more = os.write(self._file, data[written:])
            if not more:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._folder))
            written += more

    def _next_segment(self, end: Head) -> Head:
        file = _made(segment_path(self._folder, end.segment + 1))
        head = Head(end.seq, end.hash, end.segment + 1, 0)
        # Nothing is called from here on, so no signal comes in between: the file and the place in it are never of two segments.
        self._retired += (self._file,)
        self._file, self.end, self._new_file = file, head, True
        return head

    def _flush(self, end: Head, files: tuple[int, ...]) -> None:
        """Bring `files`, the last of which holds `end`, to the disk, then move the head to `end`."""
        new_file, self._new_file = self._new_file, False
        try:
            for file in files:
                _to_disk(file)
            if new_file:
                _folder_to_disk(self._folder)
            # After the records: a head that is ahead of them is taken for lost records at the next start.
            os.pwrite(self._head, encode_head(end), 0)
        except OSError:
            self._new_file = new_file or self._new_file
            raise
        # The flusher alone removes, so a concurrent rotation can only append.
        for file in files[:-1]:
            self._retired.remove(file)
            os.close(file)
        self.synced = end

    def _write_again(self) -> None:
        """Write every line since `synced` over itself, so that the system has to flush it again.

        After a failed fsync Linux marks the pages clean, and the next fsync succeeds without having written them.
        """
        chain = Chain(self.synced.seq, self.synced.hash)
        touched: dict[int, int] = {}
        try:
            for segment, offset, line in lines_from(
                self._folder, self.synced.segment, self.synced.offset
            ):
                try:
                    chain.follow(line)
                except BrokenChainError as problem:
                    raise OSError(errno.EIO, f"record {chain.seq + 1} {problem}") from problem
                if segment not in touched:
                    touched[segment] = os.open(segment_path(self._folder, segment), os.O_WRONLY)
                os.pwrite(touched[segment], line + b"\n", offset)
            if chain.seq != self.end.seq:
                raise OSError(errno.EIO, f"record {chain.seq + 1} is gone")
            for descriptor in touched.values():
                _to_disk(descriptor)
        finally:
            for descriptor in touched.values():
                os.close(descriptor)


def _made(path: Path) -> int:
    """A new segment; also one that was made, and left empty, by a step that was cut short. Raises `OSError`."""
    try:
        return os.open(path, _APPEND | os.O_EXCL, 0o600)
    except FileExistsError:
        if not path.is_file() or path.stat().st_size:
            raise
        return os.open(path, _APPEND, 0o600)


def _to_disk(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - `fsync` there stops at the drive's own cache

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def _folder_to_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
