"""Huge pages for what forks: a fork copies 512 times fewer entries, and who writes much of one has it copied at once instead of page by page."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["collapse", "own", "written_by"]

_HUGE = 1 << 21
_SMALL = 1 << 12
_MADV_POPULATE_WRITE = 23
"""Of Linux 5.14."""
_MADV_COLLAPSE = 25
"""Of Linux 6.1; others refuse both, and all stays as it was."""
_MUCH = 64
"""So many small pages that are copied one by one, when each is written first, cost as much as a huge one."""
_OWN = 1 << 63 | 1 << 56
"""In /proc/self/pagemap: it is there, and nobody else has it."""


def collapse() -> None:
    """Make huge pages of what this process has written so far, where the system can."""
    with suppress(OSError, AttributeError):  # no /proc, no such call
        advise = _advise()
        for begin, end in _whole():
            advise(begin, end - begin, _MADV_COLLAPSE)


def written_by(run: Callable[[], object]) -> list[int]:
    """The huge pages of which a process writes much that is forked here and runs this: another one is forked, to see."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            places = [at for begin, end in _whole() for at in range(begin, end, _HUGE)]
            run()
            found = [at for at in places if _written(at) >= _MUCH]
            os.write(writing, b"".join(at.to_bytes(8) for at in found))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        found = [int.from_bytes(at) for at in iter(lambda: said.read(8), b"")]
    os.waitpid(pid, 0)
    return found


def own(places: Iterable[int]) -> None:
    """Have huge pages of its own in these places, with what stands there, in a process that was just forked."""
    with suppress(OSError, AttributeError):
        advise = _advise()
        for at in places:
            # What is shared is a huge page already: it is no more once a small one of it is written.
            if advise(at, _SMALL, _MADV_POPULATE_WRITE) or advise(at, _HUGE, _MADV_COLLAPSE):
                return  # nor will the next ones be had


def _advise() -> Callable[[int, int, int], int]:
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    call: Callable[[int, int, int], int] = advise
    return call


def _whole() -> Iterator[tuple[int, int]]:
    """The huge pages of memory of no file that is nobody else's, each row of them as its two ends."""
    for line in Path("/proc/self/maps").read_text("ascii").splitlines():
        place, rights, _, _, file, *name = line.split(maxsplit=5)
        if rights == "rw-p" and file == "0" and name in ([], ["[heap]"]):
            begin, end = (int(one, 16) for one in place.split("-"))
            first, last = -(-begin // _HUGE) * _HUGE, end // _HUGE * _HUGE
            if first < last:
                yield first, last


def _written(at: int) -> int:
    """How many small pages of a huge one this process has for itself, having been forked without any."""
    with Path("/proc/self/pagemap").open("rb", buffering=0) as file:
        file.seek(at // _SMALL * 8)
        said = file.read(_HUGE // _SMALL * 8)
    return sum(one & _OWN == _OWN for one in struct.unpack(f"={len(said) // 8}Q", said))
