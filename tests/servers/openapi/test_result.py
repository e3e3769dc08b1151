"""What an API answered, as a tool's result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.servers.openapi import result as api_result
from gatewright.servers.openapi.result import TooLarge, result_of
from gatewright.transport.slices import whole


def result(status: int = 200, media: str = "", body: bytes = b"", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(whole(result_of(status, media, body, **more)))
    return found


def test_json_stays_the_text_it_was() -> None:
    body = b'{"a": 1.10, "big": 12345678901234567890123}'
    raw = whole(result_of(200, "application/json", body))
    assert raw.count(body) == 1
    assert json.loads(json.loads(raw)["content"][0]["text"]) == json.loads(body)


@pytest.mark.parametrize("body", [b"[1]", b"7", b'"x"', b"null"])
def test_what_is_no_object_is_put_into_one(body: bytes) -> None:
    found = result(200, "application/problem+json", body)
    assert found["structuredContent"] == {"result": json.loads(body)}


def test_a_mark_of_the_byte_order_is_no_part_of_the_json() -> None:
    found = result(200, "application/json", b'\xef\xbb\xbf{"a": 1}')
    assert found["structuredContent"] == {"a": 1}
    assert found["content"] == [{"type": "text", "text": '{"a": 1}'}]


def test_json_that_is_none_is_an_error() -> None:
    found = result(200, "application/json", b"{")
    assert found["isError"] is True


@pytest.mark.parametrize(
    ("media", "body", "block"),
    [
        ("text/plain", b"hi", {"type": "text", "text": "hi"}),
        ("", b"hi", {"type": "text", "text": "hi"}),
        ("image/png", b"\x89", {"type": "image", "data": "iQ==", "mimeType": "image/png"}),
        ("audio/mpeg", b"\x89", {"type": "audio", "data": "iQ==", "mimeType": "audio/mpeg"}),
        (
            "application/zip",
            b"\x89",
            {
                "type": "resource",
                "resource": {"uri": "u:x", "mimeType": "application/zip", "blob": "iQ=="},
            },
        ),
    ],
)
def test_each_kind_of_content_has_its_block(media: str, body: bytes, block: Any) -> None:
    assert result(200, media, body, uri="u:x") == {"content": [block]}


def test_an_empty_answer_says_so() -> None:
    assert result(204)["content"][0]["text"] == "HTTP 204, without a body"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "HTTP 404 Not Found\nno such pet"),
        (599, "HTTP 599\nno such pet"),
        (302, "HTTP 302 Found: a redirect to http://elsewhere is not followed\nno such pet"),
    ],
)
def test_what_went_wrong_is_told_to_the_model(status: int, said: str) -> None:
    found = result(status, "text/plain", b"no such pet", location="http://elsewhere")
    assert found == {"content": [{"type": "text", "text": said}], "isError": True}


def test_a_long_error_is_cut() -> None:
    assert len(result(500, "text/html", b"x" * 1_000_000)["content"][0]["text"]) < 9000


@pytest.mark.parametrize("media", ["application/json", "text/plain"])
@pytest.mark.parametrize("unit", ['"",', "\n", "\U0001f9ea\\u0041", "\x7f\u2028é"])
def test_a_large_body_is_written_in_steps_and_into_the_same_text(
    media: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_result, "_PIECE", 7)
    text = json.dumps([unit] * 100, ensure_ascii=False) if "json" in media else unit * 100
    steps, written = 0, result_of(200, media, text.encode())
    while True:
        try:
            next(written)
        except StopIteration as done:
            found = json.loads(done.value)
            break
        steps += 1
    assert found["content"] == [{"type": "text", "text": text}]
    assert found.get("structuredContent", {"result": [unit] * 100}) == {"result": [unit] * 100}
    assert steps > len(text) / 7


def test_of_a_large_error_no_more_is_read_than_is_shown() -> None:
    body = b" " * 10_000 + "é\U0001f9ea".encode() * 1_000_000
    (block,) = result(500, "text/plain", body)["content"]
    assert block["text"] == "HTTP 500 Internal Server Error\n" + "é\U0001f9ea" * 4000


@pytest.mark.parametrize(
    ("media", "body", "size"),
    [
        ("application/json", b'["abc"]', 16),
        ("text/plain", b"\n" * 8, 16),
        ("image/png", b"\0" * 12, 16),
        ("application/octet-stream", b"\xff" * 12, 16),
    ],
)
def test_what_a_body_comes_to_is_bounded_and_one_that_is_too_long_is_not_written(
    media: str, body: bytes, size: int
) -> None:
    assert whole(result_of(200, media, body, most=size))
    with pytest.raises(TooLarge):
        whole(result_of(200, media, body, most=size - 1))
