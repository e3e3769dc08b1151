from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport.content_coding import GIVEN, MEMBERS, PIECE, BadCoding, unpacker
from tests.costs import DOUBLED, grows


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


WAYS: list[tuple[bytes, Callable[[bytes], bytes]]] = [
    (b"gzip", gzip.compress),
    (b" X-GZip ", gzip.compress),
    (b"deflate", zlib.compress),
    (b"deflate", bare),
]


def unpacked(coding: bytes, *pieces: bytes) -> bytes:
    unpack = unpacker(coding)
    assert unpack is not None
    body = b"".join(out for piece in pieces for out in unpack.feed(piece))
    unpack.end()
    return body


@given(st.sampled_from(WAYS), st.binary(max_size=500), st.lists(st.integers(0, 600), max_size=9))
def test_a_packed_body_is_the_same_however_it_is_cut(
    way: tuple[bytes, Callable[[bytes], bytes]], body: bytes, places: list[int]
) -> None:
    coding, pack = way
    packed = pack(body)
    edges = [0, *sorted({place % (len(packed) + 1) for place in places}), len(packed)]
    assert unpacked(coding, *(packed[start:end] for start, end in pairwise(edges))) == body


@pytest.mark.parametrize(("coding", "pack"), WAYS)
@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 40 * PIECE])
def test_no_piece_is_larger_than_promised_and_none_is_lost(
    coding: bytes, pack: Callable[[bytes], bytes], size: int
) -> None:
    unpack = unpacker(coding)
    assert unpack is not None
    pieces = list(unpack.feed(pack(b"x" * size)))
    unpack.end()
    assert max(map(len, pieces)) <= PIECE
    assert b"".join(pieces) == b"x" * size


def test_several_gzip_files_in_a_row_are_one_body() -> None:
    assert unpacked(b"gzip", gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_nothing_at_all_is_an_empty_body() -> None:
    assert unpacked(b"gzip") == b""


@pytest.mark.parametrize(
    "body",
    [b"not packed", gzip.compress(b"x" * 99)[:-3], gzip.compress(b"x") + b"!"],
    ids=["plain", "short", "longer"],
)
def test_what_is_not_packed_as_it_says_is_refused(body: bytes) -> None:
    with pytest.raises(BadCoding):
        unpacked(b"gzip", body)


@pytest.mark.parametrize("coding", [b"br", b"gzip, gzip", b"compress"])
def test_a_coding_that_was_not_asked_for_and_is_not_known_is_refused(coding: bytes) -> None:
    with pytest.raises(BadCoding):
        unpacker(coding)


@pytest.mark.parametrize("coding", [b"", b"identity", b"Identity"])
def test_a_body_that_is_not_packed_needs_no_unpacking(coding: bytes) -> None:
    assert unpacker(coding) is None


def test_more_files_in_a_row_than_anybody_makes_are_refused() -> None:
    empty = gzip.compress(b"", mtime=0)
    assert unpacked(b"gzip", empty * MEMBERS) == b""
    with pytest.raises(BadCoding, match="in a row"):
        unpacked(b"gzip", empty * (MEMBERS + 1))


def test_what_comes_to_nothing_is_told_of_every_few_kilobytes() -> None:
    packer = zlib.compressobj(wbits=31)
    nothing = packer.flush(zlib.Z_FULL_FLUSH) + b"\0\0\0\xff\xff" * 40_000
    unpack = unpacker(b"gzip")
    assert unpack is not None
    pieces = list(unpack.feed(nothing))
    assert set(pieces) == {b""}
    assert len(pieces) == -(-len(nothing) // GIVEN)


NOISE = random.Random(0).randbytes(8_000_000)


@pytest.mark.parametrize("kind", ["members", "noise", "zeros"])
def test_to_unpack_a_body_costs_as_much_as_it_is_long(kind: str) -> None:
    """zlib copies all that it has not read yet with every step."""

    def work(part: int) -> None:
        if kind == "members":
            body = (gzip.compress(b"", mtime=0) + gzip.compress(b"a" * 600, mtime=0)) * (
                2000 // part
            )
        else:
            said = NOISE if kind == "noise" else bytes(32_000_000)
            body = gzip.compress(said[: len(said) // part], 1)
        packed[part] = body

    packed: dict[int, bytes] = {}
    work(4)
    work(1)
    ratio = grows(lambda: unpacked(b"gzip", packed[4]), lambda: unpacked(b"gzip", packed[1]))
    assert ratio <= DOUBLED**2
