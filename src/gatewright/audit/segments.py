"""Journal segment files and the head file: names, listing, reading while they grow, setting torn content aside.

`audit-000001.jsonl` and its successors hold the lines. `audit.head` holds the place, number and
hash of the last record that was known to be on disk, in one block of fixed length: whatever the
files say, the record that the head names must be among them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from io import BytesIO, FileIO
from pathlib import Path

import msgspec

from gatewright.audit.chain import GENESIS
from gatewright.patterns import Pattern
from gatewright.storage.errors import StoreDamagedError

__all__ = [
    "HEAD",
    "Head",
    "complete_lines",
    "encode_head",
    "lines_from",
    "read_head",
    "segment_numbers",
    "segment_path",
    "set_aside",
]

HEAD = "audit.head"

_NAME = Pattern(r"audit-(\d{6,})\.jsonl")
_HEAD = Pattern(
    rb'\{"seq":(\d{1,19}),"hash":"([0-9a-f]{64})","segment":(\d{1,19}),"offset":(\d{1,18})\} *\n'
)
_HEAD_BYTES = 192
_CHUNK = 1 << 20


class Head(msgspec.Struct, frozen=True, gc=False):
    """A place in the journal: the end of record `seq`, at `offset` bytes of file `segment`."""

    seq: int = 0
    hash: bytes = GENESIS
    segment: int = 1
    offset: int = 0


def segment_path(folder: Path, number: int) -> Path:
    """The file of segment `number`."""
    return folder / f"audit-{number:06d}.jsonl"


def segment_numbers(folder: Path) -> list[int]:
    """The segments that exist, oldest first."""
    found = (_NAME.fullmatch(name) for name in os.listdir(folder))  # noqa: PTH208 - names only
    return sorted(int(match[1]) for match in found if match)


def encode_head(head: Head) -> bytes:
    """The whole content of the head file: one write of one block, so that it never tears."""
    text = b'{"seq":%d,"hash":"%b","segment":%d,"offset":%d}' % (
        head.seq,
        head.hash,
        head.segment,
        head.offset,
    )
    return text.ljust(_HEAD_BYTES - 1) + b"\n"


def read_head(folder: Path) -> Head | None:
    """The head, or None where there is no such file. Raises `StoreDamagedError` for nonsense."""
    path = folder / HEAD
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    found = _HEAD.fullmatch(content)
    if found is None or len(content) != _HEAD_BYTES:
        raise StoreDamagedError(f"{path} is not what Gatewright wrote")
    return Head(int(found[1]), found[2], int(found[3]), int(found[4]))


def complete_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """The lines of `data` that have a newline, without it, and what stands behind the last one."""
    lines = BytesIO(
        data
    ).readlines()  # a seventh of the work of `split`, which looks at each byte by itself
    rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
    return [line[:-1] for line in lines], rest


def lines_from(folder: Path, segment: int, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Every complete line from there to the end: its segment, its offset, its bytes.

    Segments that do not exist are passed over; an incomplete line ends its segment. The newline
    is not part of the bytes. A segment that is deleted meanwhile is read to its end all the same.
    """
    with ExitStack() as stack:
        # All are opened before the first is read: a segment that the feeder deletes meanwhile stays readable.
        sources = []
        for number in segment_numbers(folder):
            path = segment_path(folder, number)
            with suppress(FileNotFoundError):  # deleted since: the database has all of it
                if number >= segment:
                    source = stack.enter_context(path.open("rb", buffering=0))
                    sources.append((number, source))
        for number, source in sources:
            yield from _lines_of(number, source, offset if number == segment else 0)


def _lines_of(number: int, source: FileIO, offset: int) -> Iterator[tuple[int, int, bytes]]:
    source.seek(offset)
    rest = b""
    while chunk := source.read(_CHUNK):
        lines, rest = complete_lines(rest + chunk)
        for line in lines:
            yield number, offset, line
            offset += len(line) + 1


def set_aside(path: Path, content: bytes) -> Path:
    """Keep `content`, which is about to leave `path`, in a new file beside it."""
    for attempt in range(1, 10_000):
        aside = path.with_name(f"{path.name}.torn-{attempt}")
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(file, "wb") as target:
            target.write(content)
            target.flush()
            os.fsync(file)
        return aside
    raise StoreDamagedError(f"{path.parent} is full of torn pieces: move *.torn-* elsewhere")
