"""What is cleaned while everybody waits has a bounded number of places to look at; all else is done beside the loop, or in pieces."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.redaction.filter import AT_ONCE, Redact, Rules
from gatewright.secret_scanning import Clean, Redactor, Stream, json_text
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.scanner import Scanner
from tests.gate_parts import a_call
from tests.redaction.test_filter import FILTER, SECRETS, TOKEN, result

DENSE = {
    "assignments": "password=abcd1234; ",
    "keys": "api_key=a1b2c3d4e5f6 ",
    "cookies": "Cookie: a=b; ",
    "tokens": f"{TOKEN} ",
    "quoted": '{"password":"a1b2c3d4"},',
    "other letters": "\u00e4 password=a1b2c3 ",
}
MOST_AT_ONCE = 200


class Looked:
    """Counts the places that are judged while everybody waits, and does the rest beside the loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_once = 0
        self.beside = 0
        self._quiet = False
        real = json_text._Text._judge

        def judge(text: Any, at: int) -> None:
            self.at_once += not self._quiet
            real(text, at)

        monkeypatch.setattr(json_text._Text, "_judge", judge)
        found = Scanner.replaced

        def replaced(scanner: Any, *given: Any, **more: Any) -> Any:
            text, rules = found(scanner, *given, **more)
            self.at_once += 0 if self._quiet else len(rules)
            return text, rules

        monkeypatch.setattr(Scanner, "replaced", replaced)

    async def find(self, call: Call, redactor: Redactor, text: bytes) -> list[Finding]:
        self.beside += 1
        return redactor.find(text)

    async def clean(self, call: Call, redactor: Redactor, raw: bytes, *, report: bool) -> Clean:
        self.beside += 1
        self._quiet = True
        try:
            return redactor.json(raw)
        finally:
            self._quiet = False


def _outcomes(text: str) -> dict[str, Outcome]:
    return {
        "answer": Answer(result(text)),
        "many strings": Answer(json.dumps(text.split(" ")).encode()),
        "list": Answer(json.dumps({"tools": [{"name": text}]}).encode()),
        "failure": Failure("tool_error", text),
        "details": Refusal("invalid_args", "no", {"said": text}),
        "error": Failure("tool_error", "no", error=json.dumps({"message": text}).encode()),
    }


@pytest.mark.parametrize("dense", DENSE)
@pytest.mark.parametrize("size", [3_000, 20_000, AT_ONCE - 2_000])
@pytest.mark.parametrize("kind", sorted(_outcomes("")))
async def test_what_has_many_places_to_look_at_is_cleaned_beside_the_loop(
    kind: str, size: int, dense: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Looked(monkeypatch)
    by = Redact(Rules(SECRETS), looked)
    outcome = _outcomes(DENSE[dense] * (size // len(DENSE[dense])))[kind]
    call = replace(a_call(), kind="list", method="tools/list") if kind == "list" else a_call()
    found = by.outcome(call, outcome)
    clean = await found if isinstance(found, Awaitable) else found
    most = MOST_AT_ONCE if isinstance(outcome, Answer) else 8 * 1024 // 10
    assert looked.at_once <= most
    assert "abcd1234" not in str(clean)
    assert TOKEN not in str(clean)


@pytest.mark.parametrize("dense", DENSE)
@pytest.mark.parametrize("method", ["notifications/message", CHUNK])
@pytest.mark.parametrize("size", [3_000, 60_000, 100_000])
async def test_events_with_many_places_to_look_at_are_cleaned_beside_the_loop(
    method: str, dense: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Looked(monkeypatch)
    by = Redact(Rules(SECRETS), looked)
    text = DENSE[dense] * (size // len(DENSE[dense]))
    params = {"data": text, "content": {"text": "a", "more": text}, "done": True}
    found = by.event(a_call(), Event(method, params))
    clean = await found if isinstance(found, Awaitable) else found
    assert clean is not None
    assert looked.at_once <= MOST_AT_ONCE
    assert "abcd1234" not in str(clean.params)
    assert TOKEN not in str(clean.params)


async def test_a_long_chunk_goes_on_in_small_pieces_and_says_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces: list[int] = []
    real = Stream.begin

    def begin(stream: Stream, piece: str, *, last: bool = False) -> str | bytes:
        pieces.append(len(piece))
        return real(stream, piece, last=last)

    monkeypatch.setattr(Stream, "begin", begin)
    text = DENSE["assignments"] * 1000 + "end"
    event = Event(CHUNK, {"index": 0, "content": {"text": text}, "done": True})
    found = FILTER.event(a_call(), event)
    assert isinstance(found, Awaitable)
    clean = await found
    assert clean is not None
    said = clean.params["content"]["text"]
    assert max(pieces) <= 4096 < sum(pieces) == len(text)
    assert said.count("[REDACTED:") == 1000
    assert said.endswith("end")
    assert (clean.params["index"], clean.params["done"]) == (0, True)


def test_a_short_chunk_is_looked_at_once_and_passes_as_it_came_where_nothing_is_held() -> None:
    """Fifty thousand of them a second are most of what redaction does."""
    looks = 0
    redactor = Redactor(b"k" * 32)
    seen, found = redactor._scanner.worth_a_look, redactor.worth_a_look

    def look(raw: bytes) -> bool:
        nonlocal looks
        looks += 1
        return seen(raw)

    redactor._scanner.worth_a_look = redactor._scanner.plain_worth_a_look = look
    redactor.worth_a_look = look
    assert found is not look
    by, call = Redact(Rules(redactor)), a_call()
    content = {"type": "text", "text": "some words "}
    for index in range(50):
        params = {"request_id": call.id, "index": index, "content": content, "done": False}
        event = Event(CHUNK, params)
        assert by.event(call, event) is event
    assert looks == 50


def test_the_last_chunk_of_a_call_that_ends_early_says_nothing_that_no_chunk_said() -> None:
    call = a_call()
    params = {
        "index": 0,
        "content": {"text": "it is hunter", "x": TOKEN},
        "y": {"password": "secret1"},
    }
    by = Redact(Rules(SECRETS))
    by.event(call, Event(CHUNK, params))
    rest = by.rest(call)
    assert rest is not None
    assert rest.params["content"]["text"] == "hunter"
    assert TOKEN not in str(rest.params)
    assert "secret1" not in str(rest.params)


@pytest.mark.parametrize("dense", DENSE)
@pytest.mark.parametrize("size", [1_000, 60_000])
def test_what_a_server_says_outside_a_call_has_a_bounded_number_of_places_to_look_at(
    dense: str, size: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looked = Looked(monkeypatch)
    text = DENSE[dense] * (size // len(DENSE[dense]))
    found = Redact(Rules(SECRETS)).said("one", "notifications/message", {"data": text})
    assert looked.at_once <= 520
    assert (found is None) == ("at most 512 places that look like secrets" in caplog.text)
    assert size < 2_000 or found is None
    assert "abcd1234" not in str(found)


async def test_a_large_event_is_spelled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time is a piece of one turn, and of the text of each chunk with much beside its text."""
    spelled, real = list[int](), jsonrpc.encode

    def encode(value: object) -> bytes:
        spelled.append(1)
        return real(value)

    looked = Looked(monkeypatch)
    redact = Redact(Rules(SECRETS), looked)
    monkeypatch.setattr(jsonrpc, "encode", encode)
    said = {"content": {"type": "data", "value": [[["password: of nobody"]]] * AT_ONCE}}
    found = redact.event(a_call(), Event(CHUNK, said))
    assert isinstance(found, Awaitable)
    passed = await found
    assert passed is not None
    assert passed.params == said
    assert len(spelled) == looked.beside == 1
