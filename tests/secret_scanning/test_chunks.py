"""The chunks of a call: one text, whatever its borders."""

from __future__ import annotations

from typing import Any

import pytest

import gatewright.secret_scanning.chunks
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import Chunks

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
REDACTOR = Redactor(b"key")


def chunk(index: int, text: str, *, done: bool = False) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"request_id": "r", "index": index, "content": content, "done": done}


def sent(pieces: list[str], *, ends: bool, redactor: Redactor = REDACTOR) -> list[dict[str, Any]]:
    """What goes out for these pieces; `ends` says that the last one says so itself."""
    chunks, found = Chunks(), []
    for index, piece in enumerate(pieces):
        done = ends and index == len(pieces) - 1
        found.append(chunks.clean("c", chunk(index, piece, done=done), redactor.stream)[0])
    rest, _ = chunks.rest("c")
    assert chunks.rest("c") == (None, ())
    return found if rest is None else [*found, rest]


def text_of(found: list[dict[str, Any]]) -> str:
    return "".join(one["content"]["text"] for one in found)


@pytest.mark.parametrize("at", [1, 3, 4, 20, len(TOKEN) - 1])
@pytest.mark.parametrize("ends", [True, False])
def test_a_secret_over_a_border_is_found_as_in_one(at: int, ends: bool) -> None:
    """GRH-out-1, for MGP-12.4-1"""
    pieces = ["found ", TOKEN[:at], TOKEN[at:], " here"]
    found = sent(pieces, ends=ends)
    assert text_of(found) == REDACTOR.text(f"found {TOKEN} here").text.decode()
    assert [one["index"] for one in found] == [*range(len(found))]
    assert len(found) == (4 if ends else 5)
    assert [one["done"] for one in found] == [False] * 3 + ([True] if ends else [False] * 2)


def test_a_server_that_says_done_of_each_chunk_gets_no_secret_through() -> None:
    chunks = Chunks()
    pieces = ["found ", *(TOKEN[at : at + 5] for at in range(0, len(TOKEN), 5)), " here"]
    found = [
        chunks.clean("c", chunk(index, piece, done=True), REDACTOR.stream)[0]
        for index, piece in enumerate(pieces)
    ]
    rest, _ = chunks.rest("c")
    assert not chunks
    said = text_of([*found, *([] if rest is None else [rest])])
    assert said == REDACTOR.text(f"found {TOKEN} here").text.decode()


def test_a_text_without_secrets_is_the_same_text() -> None:
    """MGP-12.5-1"""
    pieces = ["one two", " three", " four\n"]
    for ends in (True, False):
        assert text_of(sent(pieces, ends=ends)) == "".join(pieces)
    assert sent(["one two "], ends=True) == [chunk(0, "one two ", done=True)]


def test_what_nobody_sees_does_not_hide_a_secret() -> None:
    redactor = Redactor(b"key", hidden=True)
    pieces = ["found ", TOKEN[:9] + "\u200b", "\u200b" + TOKEN[9:], " here"]
    said = text_of(sent(pieces, ends=True, redactor=redactor))
    assert said == redactor.text(f"found {TOKEN} here").text.decode()


@pytest.mark.parametrize("content", [None, "text", {}, {"text": 7}])
def test_what_is_no_text_is_handed_on(content: Any) -> None:
    params = {"request_id": "r", "index": 0, "content": content}
    chunks = Chunks()
    assert chunks.clean("c", params, REDACTOR.stream) == (params, ())
    assert chunks.rest("c") == (None, ())


def test_each_call_has_its_own_text_and_their_number_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.secret_scanning.chunks, "KEPT", 3)
    chunks = Chunks()
    for name in "abcd":
        made, _ = chunks.clean(name, chunk(0, TOKEN[:9]), REDACTOR.stream)
        assert made["content"]["text"] == ""
    for name in "abc":
        rest, _ = chunks.rest(name)
        assert rest is not None
        assert rest["content"]["text"] == TOKEN[:9]
    assert chunks, "which knows of the fourth still"
    assert [chunks.admits(name) for name in "de"] == [False, True]
    later, _ = chunks.clean("d", chunk(1, f"{TOKEN[9:]} and on "), REDACTOR.stream)
    assert later == chunk(1, ""), "it may be the rest of a secret"
    assert chunks.rest("d") == (None, ())
    assert not chunks
    again, _ = chunks.clean("d", chunk(0, "words "), REDACTOR.stream)
    assert again == chunk(0, "words ")
