"""Decompresses HTTP bodies (gzip, deflate) in pieces of bounded size.

The gateway asks for `identity`; some servers compress all the same. A few bytes can unpack to gigabytes, so nothing here
unpacks more at once than `PIECE`, and whoever takes the pieces decides when it was enough. zlib copies what it has not read yet with
every step, so it is given little at a time: otherwise a body of many gzip files would cost the square of its length.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

__all__ = ["GIVEN", "MEMBERS", "PIECE", "BadCoding", "Unpacker", "unpacker"]

PIECE = 64 * 1024
GIVEN = 8 * 1024
"""Packed bytes that are unpacked in one step."""
MEMBERS = 4096
"""A body may be so many gzip files in a row (RFC 1952 §2.2): programs that cut one in blocks make one of 64 KiB each."""

_GZIP = 31
_ZLIB = 15
_BARE = -15


class BadCoding(ValueError):  # noqa: N818 - what the server did
    """A coding that we do not know, or a body that is not coded as it says."""


class Unpacker:
    """Bytes in, unpacked bytes out. `bits` is zlib's window size, or None for `deflate`, of which there are two."""

    def __init__(self, bits: int | None) -> None:
        self._bits = bits
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next piece of the body, unpacked, in pieces of at most `PIECE`; an empty one where `GIVEN` bytes came to nothing, so
        that nobody waits for more than that. Raises `BadCoding`."""
        for at in range(0, len(data), GIVEN):
            empty = True
            for piece in self._some(data[at : at + GIVEN]):
                empty = False
                yield piece
            if empty:
                yield b""

    def _some(self, data: bytes) -> Iterator[bytes]:
        more = bool(data)
        while more:
            stream = self._stream
            if stream is None or stream.eof:  # one body may be several gzip files in a row
                self._stream = stream = self._begin(data)
            try:
                out = stream.decompress(data, PIECE)
            except zlib.error:
                raise BadCoding("the body cannot be unpacked") from None
            if out:
                yield out
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
            # What fills a piece to its brim may have left some inside.
            more = bool(data) or (len(out) == PIECE and not stream.eof)

    def end(self) -> None:
        """The body is whole. Raises `BadCoding` where something is missing; nothing at all is a body, too."""
        if self._stream is not None and not self._stream.eof:
            raise BadCoding("the packed body is not whole")

    def _begin(self, data: bytes) -> zlib._Decompress:
        self._members += 1
        if self._members > MEMBERS:
            raise BadCoding(f"the body is more than {MEMBERS} packed files in a row")
        if self._bits is None:
            # RFC 9110 §8.4.1.2: zlib's format is meant, and some send deflate's own.
            self._bits = _ZLIB if data[0] & 0x0F == 8 else _BARE
        return zlib.decompressobj(self._bits)


_KNOWN = {b"gzip": _GZIP, b"x-gzip": _GZIP, b"deflate": None}


def unpacker(coding: bytes) -> Unpacker | None:
    """Who unpacks a body of this `Content-Encoding`; None where it is not packed. Raises `BadCoding`."""
    name = coding.strip().lower()
    if name in (b"", b"identity"):
        return None
    if name not in _KNOWN:
        raise BadCoding("the body is packed in a way that was not asked for")
    return Unpacker(_KNOWN[name])
