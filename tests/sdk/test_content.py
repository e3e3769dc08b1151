from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gatewright.sdk.content import Audio, Content, Image, Link, Resource, Text, is_content

BLOCKS: list[tuple[Content, dict[str, Any]]] = [
    (Text("hi"), {"type": "text", "text": "hi"}),
    (Image(b"\x89P"), {"type": "image", "data": "iVA=", "mimeType": "image/png"}),
    (Audio(b"hi", "audio/mp3"), {"type": "audio", "data": "aGk=", "mimeType": "audio/mp3"}),
    (
        Resource("file:///a", "hi", "text/plain"),
        {
            "type": "resource",
            "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "hi"},
        },
    ),
    (
        Resource("file:///a", b"hi"),
        {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk="}},
    ),
    (Link("file:///a", "a"), {"type": "resource_link", "uri": "file:///a", "name": "a"}),
]


@pytest.mark.parametrize(("block", "wire"), BLOCKS)
def test_a_block_is_what_mcp_says_it_is(block: Content, wire: dict[str, Any]) -> None:
    """C-42: text needs a text; pictures and resources have MCP's members."""
    assert block.to_json() == wire


@pytest.mark.parametrize(
    "what",
    [Text("a"), [Text("a"), Image(b"")], Text, Content, list[Content], Sequence[Image | Text]],
)
def test_blocks_and_their_types_are_recognised(what: Any) -> None:
    assert is_content(what)


@pytest.mark.parametrize("what", ["a", [], {}, str, list[str], None, [Text("a"), "b"]])
def test_plain_values_are_no_content(what: Any) -> None:
    assert not is_content(what)
