"""Members that were read once are those of the very text beside them, and of no other."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import Answer
from gatewright.mcp.protocol.read_members import known, members_of, with_members
from gatewright.mcp.wire import jsonrpc

LONG = "x" * 100_000


def test_members_are_taken_from_beside_the_text_that_they_are_of() -> None:
    raw, read = with_members({"a": LONG, "b": msgspec.Raw(b"[1]"), "c": {"d": None}})
    assert json.loads(raw) == {"a": LONG, "b": [1], "c": {"d": None}}
    answer = Answer(raw, read=read)
    assert known(answer) == members_of(answer)
    found = members_of(answer)
    del found["a"]
    assert bytes(members_of(answer)["a"]) == jsonrpc.encode(LONG)


def test_another_text_has_members_of_its_own() -> None:
    raw, read = with_members({"a": LONG})
    other = replace(Answer(raw, read=read), raw=b'{"b":1}')
    assert known(other) is None
    assert {name: bytes(one) for name, one in members_of(other).items()} == {"b": b"1"}
    same = replace(Answer(raw, read=read), raw=raw[:-1] + b"}")
    assert known(same) is None
    assert [*members_of(same)] == ["a"]


def test_of_a_short_text_nothing_is_kept() -> None:
    assert with_members({"a": 1}) == (b'{"a":1}', None)


def test_what_is_no_object_has_no_members() -> None:
    with pytest.raises(ValueError, match="array"):
        members_of(Answer(b"[1]"))
