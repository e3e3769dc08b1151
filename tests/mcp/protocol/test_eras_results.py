"""What a legacy server's result becomes for a modern client, however it is spelled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Client
from gatewright.mcp.protocol import eras
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO

NEW = Client("2026-07-28")
INFO = {"name": "gatewright", "version": "1"}


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"{ }",
        b'{"content":[{"text":"\\"_meta\\" and \\u00e9"}]}',
        b'{"content":[],"resultType":"task"}',
        b'{"content":[],"result\\u0054ype":"task"}',
        b'{"content":[],"_meta":{"x":1}}',
        b'{"content":[],"\\u005fmeta":{"x":1}}',
        b'{"content":[{"_meta":{"x":1},"resultType":1}]}',
        b'{ "content" : [] , "ttlMs" : 5 }',
    ],
)
@pytest.mark.parametrize("method", ["tools/call", "resources/read"])
def test_what_a_modern_client_requires_stands_once_in_a_result(text: bytes, method: str) -> None:
    pairs: list[tuple[str, Any]] = []

    def last(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs[:] = found  # the outermost object ends last
        return dict(found)

    up = json.loads(eras.to_caller(Answer(text), method, NEW, INFO), object_pairs_hook=last)
    said = json.loads(text)
    assert len(pairs) == len(up)
    assert up["resultType"] == said.pop("resultType", "complete")
    assert up["_meta"] == {META_SERVER_INFO: INFO, **said.pop("_meta", {})}
    assert said.items() <= up.items()
