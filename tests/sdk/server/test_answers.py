"""From what functions return to what MCP wants."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.sdk.content import Image
from gatewright.sdk.errors import SerializationError
from gatewright.sdk.server.answers import completion_of, contents_of, messages_of
from gatewright.sdk.server.resources_and_prompts import Offers

TEXT = {"type": "text", "text": "hi"}


def nothing() -> None:
    """Read nothing."""


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("hi", {"mimeType": "text/plain", "text": "hi"}),
        (b"\x00", {"mimeType": "application/octet-stream", "blob": "AA=="}),
        ({"a": [1]}, {"mimeType": "application/json", "text": '{"a":[1]}'}),
    ],
)
def test_contents_are_text_bytes_or_json(given: Any, content: dict[str, Any]) -> None:
    offers = Offers(lambda *_: None, lambda: 0.0)
    offers.add_resource(nothing, "a://b")
    found = contents_of(offers.resources["a://b"], "a://b", given)
    assert found == [{"uri": "a://b", **content}]
    with pytest.raises(SerializationError):
        contents_of(offers.resources["a://b"], "a://b", object())


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        ("hi", [("user", TEXT)]),
        (["hi", ("assistant", "hi")], [("user", TEXT), ("assistant", TEXT)]),
        (("assistant", "hi"), [("assistant", TEXT)]),
        ([{"role": "user", "content": TEXT}], [("user", TEXT)]),
        (TEXT, [("user", TEXT)]),
        (Image(b""), [("user", {"type": "image", "data": "", "mimeType": "image/png"})]),
    ],
)
def test_messages_are_made_of_what_an_author_writes(given: Any, messages: Any) -> None:
    found = [(one["role"], one["content"]) for one in messages_of("p", given)]
    assert found == messages


def test_what_is_no_message_and_no_proposal_is_named() -> None:
    with pytest.raises(SerializationError, match="prompt p returned int"):
        messages_of("p", 7)
    for odd in ("text", 7, [1]):
        with pytest.raises(SerializationError, match="texts"):
            completion_of(odd)


def test_no_more_proposals_are_sent_than_mcp_allows() -> None:
    found = completion_of([str(number) for number in range(150)])["completion"]
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 150, True)
