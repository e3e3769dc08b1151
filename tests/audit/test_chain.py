"""The hash chain: a line proves itself and its place."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.audit.chain import GENESIS, BrokenChainError, Chain, read_link, seal
from tests.audit.parts import body


def _lines(count: int) -> list[bytes]:
    lines, previous = [], GENESIS
    for number in range(1, count + 1):
        line, previous = seal(number, [body(number)], previous)
        lines.append(line.rstrip(b"\n"))
    return lines


def test_a_sealed_record_is_one_line_of_json_with_its_place_first_and_its_hashes_last() -> None:
    line, digest = seal(1, [b'{"id":"a","n":2}'], GENESIS)
    assert line.endswith(b"}\n")
    assert list(json.loads(line)) == ["seq", "id", "n", "prev_hash", "hash"]
    assert json.loads(line)["hash"] == digest.decode()


def test_the_hash_is_that_of_the_line_before_its_hash_member() -> None:
    _, digest = seal(7, [b'{"id":"a"}'], b"5" * 64)
    before = b'{"seq":7,"id":"a","prev_hash":"' + b"5" * 64 + b'"'
    assert sha256(before).hexdigest().encode() == digest


def test_a_chain_follows_its_own_lines_to_the_last_hash() -> None:
    lines = _lines(5)
    chain = Chain()
    for line in lines:
        chain.follow(line)
    assert (chain.seq, chain.hash) == (5, read_link(lines[-1]).hash)


@given(st.data())
def test_no_byte_of_a_line_can_change_unseen(data: st.DataObject) -> None:
    line = bytearray(_lines(1)[0])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BrokenChainError):
        Chain().follow(bytes(line))


@given(st.binary(max_size=400))
def test_what_is_no_record_is_named_so_and_never_crashes(noise: bytes) -> None:
    with pytest.raises(BrokenChainError):
        read_link(noise)


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        ([0, 2], "is record 3, and record 2 must be here"),
        ([0, 0], "is record 1, and record 2 must be here"),
        ([1], "is record 2, and record 1 must be here"),
    ],
)
def test_a_line_at_a_wrong_place_is_told_where_it_belongs(order: list[int], complaint: str) -> None:
    lines = _lines(3)
    chain = Chain()
    for index in order[:-1]:
        chain.follow(lines[index])
    with pytest.raises(BrokenChainError, match=complaint):
        chain.follow(lines[order[-1]])


def test_a_line_of_another_chain_with_the_right_number_does_not_follow() -> None:
    stranger, _ = seal(2, [body(2)], b"a" * 64)
    chain = Chain()
    chain.follow(_lines(1)[0])
    with pytest.raises(BrokenChainError, match="does not follow the record before it"):
        chain.follow(stranger.rstrip(b"\n"))


def test_a_refused_line_leaves_the_chain_where_it_was() -> None:
    lines = _lines(2)
    chain = Chain()
    chain.follow(lines[0])
    with pytest.raises(BrokenChainError):
        chain.follow(lines[0])
    chain.follow(lines[1])
    assert chain.seq == 2


@pytest.mark.parametrize("number", [b"-1", b"1" * 20, b"1" * 5000])
def test_a_number_that_is_no_number_is_refused_even_with_a_fitting_hash(number: bytes) -> None:
    head = b'{"seq":' + number + b',"id":"a","prev_hash":"' + GENESIS + b'"'
    digest = sha256(head).hexdigest().encode()
    with pytest.raises(BrokenChainError, match="has no number"):
        read_link(head + b',"hash":"' + digest + b'"}')
