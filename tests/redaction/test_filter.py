"""The filter `redact`: what is found is replaced, counted and reported; all else stays the same object."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import RECONNECT, Answer, Call, Event, Failure, Outcome, Refusal, Target
from gatewright.redaction.filter import AT_ONCE, Redact, Rules
from gatewright.redaction.report import REPORT
from gatewright.secret_scanning import PERSONAL, Clean, Held, Redactor
from gatewright.secret_scanning.context import Finding
from tests.gate_parts import a_call

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
SECRETS = Redactor(b"key")
FILTER = Redact(Rules(SECRETS))


def result(text: str, **more: Any) -> bytes:
    return json.dumps({"content": [{"type": "text", "text": text}], **more}).encode()


def cleaned(outcome: Outcome, by: Redact = FILTER, call: Call | None = None) -> Any:
    found = by.outcome(call or a_call(), outcome)
    assert isinstance(found, Answer)
    return json.loads(found.raw)


def test_an_answer_in_which_nothing_is_found_is_handed_on_as_it_is() -> None:
    """MGP-1.2-1"""
    for raw in (result("hello"), result("token: none"), b'{"n" : 1.0, "e":"\\u0041"}'):
        answer = Answer(raw)
        assert FILTER.outcome(a_call(), answer) is answer


def test_a_secret_in_any_part_of_a_result_is_replaced() -> None:
    """GRH-out-1"""
    raw = result(f"here {TOKEN}", structuredContent={"deep": [{"password": "letmein", "n": 1}]})
    found = cleaned(Answer(raw))
    assert found["content"][0]["text"].startswith("here [REDACTED:github-token:")
    deep = found["structuredContent"]["deep"][0]
    assert deep["password"].startswith("[REDACTED:named:")
    assert deep["n"] == 1


def test_a_changed_result_reports_what_was_done_to_it() -> None:
    """GRH-out-4"""
    raw = result(f"{TOKEN} and {TOKEN}", _meta={"vendor/x": 1})
    call = a_call()
    found = cleaned(Answer(raw), call=call)
    report = found["_meta"].pop(REPORT)
    assert found["_meta"] == {"vendor/x": 1}
    del found["_meta"]
    assert report == {
        "original_size": len(raw),
        "sanitized_size": report["sanitized_size"],
        "redactions_applied": {"github-token": 2},
    }
    assert report["sanitized_size"] < len(raw)
    assert call.facts["redaction"] == report
    assert call.facts["redacted"] == {"github-token": 2}


@pytest.mark.parametrize("raw", [b'["%s"]', b'{"t":"%s","_meta":7}', b'"%s"'])
def test_a_result_that_can_have_no_report_is_cleaned_all_the_same(raw: bytes) -> None:
    found = FILTER.outcome(a_call(), Answer(raw % TOKEN.encode()))
    assert isinstance(found, Answer)
    assert TOKEN.encode() not in found.raw
    assert REPORT.encode() not in found.raw


def test_errors_lose_the_secret_in_message_details_and_the_servers_own_words() -> None:
    error = json.dumps({"code": -1, "message": f"bad {TOKEN}", "data": {"password": "letmein"}})
    call = a_call()
    failure = Failure("upstream", f"got {TOKEN}", {"path": TOKEN}, error=error.encode())
    found = FILTER.outcome(call, failure)
    assert isinstance(found, Failure)
    said = json.dumps([found.message, dict(found.details), (found.error or b"").decode()])
    assert TOKEN not in said
    assert "letmein" not in said
    assert call.facts["redacted"] == {"github-token": 3, "named": 1}


def test_a_refusal_is_cleaned_like_a_failure() -> None:
    found = FILTER.outcome(a_call(), Refusal("denied", f"no {TOKEN}"))
    assert isinstance(found, Refusal)
    assert TOKEN not in found.message


@pytest.mark.parametrize("outcome", [Refusal("denied", "no"), Failure("timeout", "", {"ms": 1})])
def test_errors_without_a_secret_are_handed_on_as_they_are(outcome: Outcome) -> None:
    assert FILTER.outcome(a_call(), outcome) is outcome


def test_events_are_cleaned_but_for_their_handles() -> None:
    call = a_call()
    event = Event("notifications/progress", {"progressToken": TOKEN, "message": f"at {TOKEN}"})
    found = FILTER.event(call, event)
    assert isinstance(found, Event)
    assert found.params["progressToken"] == TOKEN
    assert TOKEN not in found.params["message"]
    assert call.facts["redacted"] == {"github-token": 1}
    for same in (
        Event("notifications/progress", {"progress": 1}),
        Event(RECONNECT, {"retry_ms": 1}),
    ):
        assert FILTER.event(call, same) is same


def test_places_of_events_and_of_the_result_are_counted_together() -> None:
    call = a_call()
    FILTER.event(call, Event("notifications/message", {"data": TOKEN}))
    FILTER.outcome(call, Answer(result(TOKEN)))
    assert call.facts["redacted"] == {"github-token": 2}


def test_the_policy_of_a_tool_goes_over_that_of_its_server_and_that_over_the_default() -> None:
    """GRH-out-1, GRH-out-2"""
    mail = "write to someone@example.org"
    personal = Redactor(b"key", personal=frozenset(PERSONAL))
    rules = Redact(Rules(SECRETS, {"srv": None}, {("srv", "read"): personal}))
    text = Answer(result(f"{mail} {TOKEN}"))
    for server, name, kept in (
        ("srv", "read", (False, False)),
        ("srv", "other", (True, True)),
        ("elsewhere", "read", (True, False)),
    ):
        call = msgspec.structs.replace(a_call(), kind="tool", target=Target(server, name))
        found = rules.outcome(call, text)
        assert isinstance(found, Answer)
        assert (b"someone@example.org" in found.raw, TOKEN.encode() in found.raw) == kept


def test_without_a_policy_everything_passes() -> None:
    answer = Answer(result(TOKEN))
    off = Redact(Rules(None))
    assert off.outcome(a_call(), answer) is answer
    event = Event("notifications/message", {"data": TOKEN})
    assert off.event(a_call(), event) is event


def test_lists_are_looked_through_once_and_get_no_report() -> None:
    raw = json.dumps({"tools": [{"name": "x", "description": f"use {TOKEN}"}]}).encode()
    call = msgspec.structs.replace(a_call(), kind="list")
    found = FILTER.outcome(call, Answer(raw, own=True))
    again = FILTER.outcome(call, Answer(raw, own=True))
    assert isinstance(found, Answer)
    assert isinstance(again, Answer)
    assert again.raw is found.raw
    assert found.own
    assert TOKEN.encode() not in found.raw
    assert REPORT.encode() not in found.raw


def test_no_server_speaks_for_the_record() -> None:
    """MGP-6.3-1"""
    claim = Event("notifications/mgp.audit", {"event_type": "PERMISSION_GRANTED"})
    assert FILTER.event(a_call(), claim) is None
    other = Event("notifications/message", {"data": "hello"})
    assert FILTER.event(a_call(), other) is other


@pytest.mark.parametrize(
    ("method", "params", "kept"),
    [
        ("notifications/message", {"data": f"found {TOKEN}"}, ()),
        ("notifications/resources/updated", {"uri": f"x:///{TOKEN}", "why": TOKEN}, ("uri",)),
        (
            "elicitation/create",
            {
                "mode": "url",
                "url": f"https://x/?t={TOKEN}",
                "elicitationId": TOKEN,
                "message": TOKEN,
            },
            ("url", "elicitationId"),
        ),
    ],
)
def test_what_is_said_outside_calls_is_cleaned_but_for_its_handles(
    method: str, params: dict[str, Any], kept: tuple[str, ...]
) -> None:
    """GRH-out-1"""
    found = FILTER.said("srv", method, params)
    assert found is not None
    assert set(found) == set(params)
    for name, value in found.items():
        assert (TOKEN in value) == (name in kept)
    event = FILTER.event(a_call(), Event(method, params))
    assert event == Event(method, found)


def test_what_is_said_outside_calls_is_cleaned_by_the_policy_of_its_server() -> None:
    by = Redact(Rules(SECRETS, servers={"off": None}))
    params = {"data": TOKEN}
    assert by.said("off", "notifications/message", params) is params
    assert by.said("srv", "notifications/message", params) != params
    plain = {"data": "hello"}
    assert by.said("srv", "notifications/message", plain) is plain


def test_a_secret_in_two_chunks_of_one_call_is_replaced_and_counted() -> None:
    """GRH-out-1, for MGP-12.4-1"""
    by, call, other = Redact(Rules(SECRETS)), a_call(), replace(a_call(facts={}), id="c2")

    def said(one: Call, text: str, **more: Any) -> str:
        params = {"request_id": "r", "content": {"type": "text", "text": text}, **more}
        event = by.event(one, Event("notifications/mgp.stream.chunk", params))
        assert isinstance(event, Event)
        assert event.params["request_id"] == "r"
        return str(event.params["content"]["text"])

    first = said(call, TOKEN[:9]) + said(other, "else ")
    assert first == "else "
    assert said(call, TOKEN[9:] + " ").startswith("[REDACTED:github-token:")
    assert call.facts == {"redacted": {"github-token": 1}}
    said(call, TOKEN)
    rest = by.rest(call)
    assert rest is not None
    assert rest.params["content"]["text"].startswith("[REDACTED:github-token:")
    assert call.facts == {"redacted": {"github-token": 2}}
    assert by.rest(call) is None
    assert by.rest(other) is None
    assert other.facts == {}


@pytest.mark.parametrize("data", ["x" * 70_000, ["x"] * 10_000, {"deep": [{"x" * 70_000: 1}]}])
def test_what_is_too_large_to_be_said_outside_a_call_is_not_passed_on_and_logged(
    caplog: pytest.LogCaptureFixture, data: object
) -> None:
    assert FILTER.said("srv", "notifications/message", {"data": data}) is None
    assert "server srv: 'notifications/message' was not passed on" in caplog.text
    assert "65536 bytes at most" in caplog.text
    off = Redact(Rules(SECRETS, servers={"srv": None}))
    assert off.said("srv", "notifications/message", {"data": data}) == {"data": data}


def test_what_is_held_since_is_taken_out_of_what_was_clean_before() -> None:
    """Also of a list that was looked through already, of an error, of an event, and outside of calls."""
    held = Held()
    by = Redact(Rules(Redactor(b"key", held=held)))
    token = "opaque-8271-Zk3Vq9Lx0Tb5Rw7N"
    listed = Answer(json.dumps({"tools": [{"name": "a", "description": f"says {token}"}]}).encode())
    listing = replace(a_call(), kind="list", method="tools/list")
    error = b'{"code":1,"message":"%s"}' % token.encode()
    said = Failure("upstream_error", f"no {token}", {"more": [token]}, error=error)
    noted = Event("notifications/message", {"level": "info", "data": {token: token}})
    assert by.outcome(listing, listed) is listed
    held.hold("login one", [token])
    every = [
        by.outcome(listing, listed),
        by.outcome(a_call(), Answer(result(token, structuredContent={token: [token]}))),
        by.outcome(a_call(), said),
        by.event(a_call(), noted),
        by.said("one", "notifications/message", noted.params),
        by.said("one", "notifications/resources/updated", {"uri": "a://b", "_meta": {"x": token}}),
    ]
    assert not [one for one in every if token in str(one)]
    assert "own-secret" in str(every)


async def test_a_large_list_is_cleaned_again_once_more_is_held() -> None:
    held = Held()
    token = "opaque-8271-Zk3Vq9Lx0Tb5Rw7N"
    more = f'{{"tools":[{{"name":"a","description":"says {token}{" x" * AT_ONCE}"}}]}}'
    large, small = Answer(more.encode()), Answer(b'{"tools":[]}')
    listing = replace(a_call(), kind="list", method="tools/list")
    waiting: list[asyncio.Event] = []

    class Beside:
        async def clean(self, call: Call, redactor: Redactor, raw: bytes, *, report: bool) -> Clean:
            clean = redactor.json(raw)
            for event in waiting:
                await event.wait()
            return clean

        async def find(self, call: Call, redactor: Redactor, text: bytes) -> list[Finding]:
            return redactor.find(text)

    by = Redact(Rules(Redactor(b"key", held=held)), Beside())

    async def listed() -> str:
        found = by.outcome(listing, large)
        assert isinstance(found, Awaitable)
        return str(await found)

    assert token in await listed()
    held.hold("login one", [token])
    assert token not in await listed()
    held.clear()
    assert token in await listed()
    held.hold("another", ["another-value-1"])
    waiting.append(asyncio.Event())
    late = asyncio.create_task(listed())
    await asyncio.sleep(0)
    held.hold("login one", [token])
    by.outcome(listing, small)  # the lists that are kept are clean of the token from here on
    waiting.pop().set()
    assert token in await late
    assert token not in await listed()


KNOWN = "opaque-5512-Zk3Vq9Lx0Tb5Rw7N"


@pytest.fixture
def knowing() -> Redact:
    held = Held()
    held.hold("a server", [KNOWN])
    return Redact(Rules(Redactor(b"key", held=held)))


@pytest.mark.parametrize(
    "method", ["notifications/message", "notifications/vendor.x", "roots/list"]
)
@pytest.mark.parametrize("name", ["progressToken", "taskId", "cursor", "url", "uri"])
def test_a_known_secret_is_no_handle_of_a_message(knowing: Redact, method: str, name: str) -> None:
    """GRH-out-1"""
    params = {"level": "info", "data": "x", name: f"see {KNOWN}"}
    for found in (
        knowing.event(a_call(), Event(method, params)),
        knowing.said("srv", method, params),
    ):
        said = found.params if isinstance(found, Event) else found
        assert isinstance(said, dict)
        assert said["data"] == "x"
        assert KNOWN not in said[name]


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("elicitation/create", "url"),
        ("elicitation/create", "elicitationId"),
        ("notifications/elicitation/complete", "elicitationId"),
        ("notifications/resources/updated", "uri"),
    ],
)
def test_what_cannot_be_cleaned_is_not_passed_on_with_a_known_secret(
    knowing: Redact, method: str, name: str
) -> None:
    """GRH-out-1"""
    params = {name: f"https://e.test/?t={KNOWN}", "message": "log in"}
    assert knowing.event(a_call(), Event(method, params)) is None
    assert knowing.said("srv", method, params) is None
    looks = {**params, name: f"https://e.test/?state={TOKEN}"}
    event = Event(method, looks)
    assert knowing.event(a_call(), event) is event
    assert knowing.said("srv", method, looks) is looks


def test_a_token_of_progress_is_the_clients_own(knowing: Redact) -> None:
    event = Event("notifications/progress", {"progressToken": KNOWN, "progress": 1})
    assert knowing.event(a_call(), event) is event
