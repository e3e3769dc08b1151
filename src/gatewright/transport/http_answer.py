"""HTTP client response, from the connection to the waiting task: headers, bounded body, decompression, event stream with flow control.

The connection puts in; the task waits for the head, and then for the whole body or, of an event stream, for what
there is. A whole body is bounded by its limit. Of a stream no more is held than the task has not yet taken, and from
`HIGH_WATER` on the connection is asked not to read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec

from gatewright.transport.content_coding import PIECE, BadCoding, Unpacker, unpacker
from gatewright.transport.http_fault import Fault

__all__ = ["HIGH_WATER", "JOINED", "Answer", "Fields", "Raw"]

HIGH_WATER = 64 * 1024
"""How much of a stream is held for a task that does not read it."""

SMALL, JOINED = 4096, 64 * 1024
"""Pieces below the first are joined as they come, up to the second: a list of twelve million pieces of a byte takes fifty times their
bytes, and to join it takes half a second."""
TURN_BYTES = 128 * 1024
"""After so much that was unpacked everybody else has a turn."""

Raw = list[tuple[bytes, bytes]]
"""Headers as they came, their names in lower case."""

_EMPTY = (204, 304)


class Fields(Mapping[str, str]):
    """Headers by name in any case; decoded when somebody asks. Where one came several times, the first counts."""

    __slots__ = ("_known", "_raw")

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._known: dict[str, list[str]] | None = None

    def __getitem__(self, name: str) -> str:
        return self._all()[name.lower()][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"Fields({', '.join(self)})"  # a value may be a secret

    def getall(self, name: str, default: Any = ()) -> Any:
        """Every value of a header that may come several times, else `default`."""
        found = self._all().get(name.lower())
        return default if found is None else list(found)

    def _all(self) -> dict[str, list[str]]:
        known = self._known
        if known is None:
            self._known = known = {}
            for name, value in self._raw:
                text = value.decode("utf-8", "surrogateescape")
                known.setdefault(name.decode("latin-1"), []).append(text)
        return known


_NO_FIELDS = Fields([])


class Answer(msgspec.Struct, eq=False):
    """What came so far. `status` is 0 until the head is there; `streams` tells an event stream. `_flow` says whether what a
    stream brings is wanted now."""

    where: str
    _limit: int
    _flow: Callable[[bool], None]
    status: int = 0
    headers: Fields = _NO_FIELDS
    streams: bool = False
    began: bool = False
    """Whether a single byte has come."""
    complete: bool = False
    _pieces: list[bytes | bytearray] = []
    _held: int = 0
    _problem: Fault | None = None
    _unpacker: Unpacker | None = None
    _waiter: asyncio.Future[None] | None = None

    # -- the connection's

    def open(self, status: int, raw: Raw, known: Mapping[bytes, bytes]) -> None:
        """The head is there. Raises `Fault`."""
        kind = known.get(b"content-type", b"").partition(b";")[0].strip().lower()
        self.streams = status < 400 and kind == b"text/event-stream"
        length = known.get(b"content-length")
        # A 304 may name the length of a body that it does not have (RFC 9110 §8.6).
        if length is not None and not self.streams and status not in _EMPTY:
            self._check(int(length))
        if b"content-encoding" in known:
            self._unpacker = self._unpack(known[b"content-encoding"])
        self.headers = Fields(raw)
        self.status = status
        self._wake()

    def take_whole(self, status: int, headers: Fields, body: bytes) -> bool:
        """All of it is there, neither packed nor a stream; False where that is too much."""
        if len(body) > self._limit:
            return False
        self.began = self.complete = True
        self.headers = headers
        self.status = status
        self._pieces.append(body)
        self._wake()
        return True

    def plain_size(self) -> int | None:
        """The length that its head gives of a body that is there, whole; None where it is packed or a stream."""
        size = self.headers.get("content-length", "") if self.complete else ""
        return None if self.streams or self._unpacker or not size.isdecimal() else int(size)

    def feed(self, data: bytes) -> None:
        """A piece of the body. Raises `Fault`."""
        self._held += len(data)
        if not self.streams:
            self._check(self._held)
        self._keep(data)
        if self.streams:
            if self._held > HIGH_WATER:
                self._flow(False)
            self._wake()

    def _keep(self, data: bytes) -> None:
        pieces = self._pieces
        last = pieces[-1] if pieces else b""
        if type(last) is bytearray and len(last) < JOINED:
            last += data
        else:
            pieces.append(bytearray(data) if len(data) < SMALL else data)

    def finish(self) -> None:
        """It is whole."""
        self.complete = True
        self._wake()

    def fail(self, problem: Fault) -> None:
        """It will never be whole. The first reason counts."""
        if self._problem is None and not self.complete:
            self._problem = problem
            self._wake()

    # -- the task's

    async def head(self) -> None:
        """Wait for status and headers. Raises `Fault`."""
        while not self.status:
            await self._news()

    async def settled(self) -> None:
        """Wait until it is whole, or known to be a stream. Raises `Fault`."""
        while not (self.complete or self.streams):
            await self._news()

    def packed(self) -> bool:
        """Whether its body has to be unpacked: then `unpacked` has it, else `body`."""
        return self._unpacker is not None

    def body(self) -> bytes:
        """What came of it, once it is whole."""
        pieces = self._pieces
        return bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)

    async def unpacked(self) -> bytes:
        """The body as it was before it was packed, some of it in each turn of the loop. Raises `Fault`."""
        body = bytearray()
        async for piece in self._in_turns():
            self._check(len(body) + len(piece))
            body += piece
        return bytes(body)

    async def _in_turns(self) -> AsyncIterator[bytes]:
        done = 0
        if self._unpacker is not None:
            for piece in self._unpacked(self._unpacker, self.body()):
                yield piece
                # An empty piece is packed bytes that came to nothing, which is work all the same.
                done += len(piece) or PIECE
                if done >= TURN_BYTES:
                    done = 0
                    await asyncio.sleep(0)
        self._ended()

    async def some(self) -> Iterator[bytes] | None:
        """Wait for more of a stream: its pieces, or None at its end.

        Raises `Fault` after the last that came; the pieces may raise `Fault`.
        """
        while not self._pieces:
            if self.complete:
                self._ended()
                return None
            await self._news()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        self._flow(True)
        return iter((data,)) if self._unpacker is None else self._unpacked(self._unpacker, data)

    def _news(self) -> asyncio.Future[None]:
        """Whatever comes next. Raises `Fault`."""
        if self._problem is not None:
            raise self._problem
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        return waiter

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise Fault("too large", f"{self.where} answered with more than {self._limit} bytes")

    def _unpacked(self, unpack: Unpacker, data: bytes) -> Iterator[bytes]:
        try:
            yield from unpack.feed(data)
        except BadCoding:
            raise self._undecodable() from None

    def _ended(self) -> None:
        try:
            if self._unpacker is not None:
                self._unpacker.end()
        except BadCoding:
            raise self._undecodable() from None

    def _unpack(self, coding: bytes) -> Unpacker | None:
        try:
            return unpacker(coding)
        except BadCoding:
            raise self._undecodable() from None

    def _undecodable(self) -> Fault:
        return Fault("bad", f"{self.where} answered with a body that cannot be decoded")
