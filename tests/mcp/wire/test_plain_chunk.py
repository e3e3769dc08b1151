"""Frames of plain chunks: which are read in one decode, and how they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.plain_chunk import frames, plain_chunk
from gatewright.secret_scanning.chunks import CHUNK


def frame(text: str = "a word", /, **more: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    params = {"request_id": 17, "index": 3, "content": content, "done": False, **more}
    return {"jsonrpc": "2.0", "method": CHUNK, "params": params}


def spelled(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


@given(
    st.text(max_size=60).filter(lambda text: all(not 0xD800 <= ord(one) < 0xE000 for one in text))
)
def test_what_is_written_is_read_again_with_the_same_words(text: str) -> None:
    written = frames(b"17")(3, text)
    message = jsonrpc.parse(written)
    assert isinstance(message, jsonrpc.Notification)
    assert jsonrpc.decode(message.params) == frame(text)["params"]
    found = plain_chunk(written)
    if found is not None:  # a control character is spelled as a number, as a quote may be
        assert (found.request_id, found.content.text) == (17, text)


def test_a_chunk_is_read_with_blanks_between_its_members_and_in_any_order() -> None:
    message = frame('says "this"')
    turned = {key: message[key] for key in ("method", "jsonrpc", "params")}
    for data in (spelled(message), json.dumps(message).encode(), json.dumps(turned).encode()):
        found = plain_chunk(data)
        assert found is not None
        assert (found.request_id, found.content.text) == (17, 'says "this"')


OTHERS: list[Any] = [
    frame(done=True),
    frame(index=-1),
    frame(index=4_111_111_111_111_111),
    frame(index="3"),
    frame(request_id="17"),
    frame(request_id=None),
    frame(done="no"),
    frame(_meta={}),
    frame(content={"type": "text"}),
    frame(content={"type": "text", "text": "a", "annotations": {}}),
    frame(content={"type": "image", "data": "", "mimeType": "image/png"}),
    {**frame(), "id": 4},
    {**frame(), "jsonrpc": "1.0"},
    {**frame(), "method": "notifications/mgp.stream.gap"},
    {**frame(), "trace_id": "x"},
    frame("x" * 1024),
    [frame()],
]


@pytest.mark.parametrize("message", OTHERS, ids=repr)
def test_what_is_anything_else_is_left_to_the_parser(message: Any) -> None:
    assert plain_chunk(spelled(message)) is None


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (b'"index":3', b'"index":3,"index":4'),
        (b'"done":false', b'"done":false,"done":false'),
        (b'"request_id":17', b'"request_id":18,"request_id":17'),
        (b'"jsonrpc":"2.0"', b'"jsonrpc":"2.0","jsonrpc":"2.0"'),
        (b"a word", b'a word","text":"another'),
        (b"a word", b"a \\u0022word"),
        (b"a word", b"a \xffword"),
        (b"a word", b"a \\ud800word"),
        (b'"index"', b'"Index"'),
        (b"}}", b"}}}"),
        (b"}}", b"}"),
    ],
)
def test_what_can_be_read_in_two_ways_or_in_none_is_left_to_the_parser(
    here: bytes, there: bytes
) -> None:
    data = spelled(frame())
    assert plain_chunk(data) is not None
    assert plain_chunk(data.replace(here, there, 1)) is None
