"""What HTTP answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Call, Failure, Target, Tool
from gatewright.mcp.client.http_rules import (
    Pauses,
    answer_in,
    error_in,
    may_repeat,
    messages,
    refusal,
    resume_ms,
    session_is_lost,
    speaks_of_session,
)
from gatewright.mcp.wire.jsonrpc import Malformed, Notification, Response
from tests.servers.rig import make_call

NO_SESSION = Response(b"null", error=b'{"code":-32000,"message":"No valid session"}')
TOOL_FAILED = Response(b"1", error=b'{"code":-32000,"message":"Payment declined"}')
FOREIGN = Response(b"null", error=b'{"code":-32600,"message":"Not found"}')
PAID = Response(b"7", error=b'{"code":-32000,"message":"The customer was not found"}')
PAID_AS_TEXT = Response(b'"7"', error=PAID.error)
DONE = Response(b"7", result=b"{}")
DONE_AS_TEXT = Response(b'"7"', result=b"{}")
FORGOTTEN = Response(b"7", error=b'{"code":-32600,"message":"Session not found"}')
FORGOTTEN_IN_A_TOOL = Response(
    b"7", error=b'{"code":-32000,"message":"Session with given id not found."}'
)
OTHER = Response(b"1", error=b'{"code":-32602,"message":"no"}')


@pytest.mark.parametrize(
    ("status", "error", "had", "lost"),
    [
        (404, None, True, True),
        (404, OTHER, True, True),
        (404, None, False, False),
        (400, NO_SESSION, True, True),
        (400, NO_SESSION, False, False),
        (400, OTHER, True, False),
        (400, None, True, False),
        (400, TOOL_FAILED, True, False),  # a tool that ran has the same code
        (500, NO_SESSION, True, False),
        (404, FOREIGN, True, True),
        (404, PAID, True, False),  # the server has read this very request
        (404, PAID_AS_TEXT, True, False),
        (404, DONE, True, False),
        (404, DONE_AS_TEXT, True, False),
        (400, DONE, True, False),
        (404, FORGOTTEN, True, False),  # it may be a session that the tool knows
        (400, FORGOTTEN_IN_A_TOOL, True, False),
    ],
)
def test_a_session_is_lost_when_a_request_that_had_one_is_refused_for_it(
    status: int, error: Response | None, had: bool, lost: bool
) -> None:
    assert session_is_lost(status, error, had, 7) is lost


@pytest.mark.parametrize(
    ("status", "said", "speaks"),
    [
        (404, FORGOTTEN, True),
        (400, FORGOTTEN_IN_A_TOOL, True),
        (400, FORGOTTEN, False),
        (404, PAID, False),
        (404, DONE, False),
        (404, None, False),
        (400, NO_SESSION, False),  # it answers nobody, so it is no answer to this request
        (500, FORGOTTEN, False),
    ],
)
def test_an_answer_to_the_request_itself_may_speak_of_a_session(
    status: int, said: Response | None, speaks: bool
) -> None:
    assert speaks_of_session(status, said, 7) is speaks


def test_an_error_is_found_in_a_body_whatever_its_id() -> None:
    assert error_in(b'{"jsonrpc":"2.0","error":{"code":1}}') == Response(
        b"null", error=b'{"code":1}'
    )
    for body in (b"", b"oops", b"[]", b'{"jsonrpc":"2.0","id":1,"result":{}}'):
        assert error_in(body) is None


def test_an_answer_to_the_request_itself_is_found_before_errors_of_others() -> None:
    other = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'
    own = b'{"jsonrpc":"2.0","id":"7","result":{}}'
    assert answer_in(own, 7) == DONE_AS_TEXT
    assert answer_in(b"[" + other + b"," + own + b"]", 7) == DONE_AS_TEXT
    assert answer_in(other, 7) == Response(b"1", error=b'{"code":1,"message":"no"}')
    assert answer_in(b'{"jsonrpc":"2.0","id":1,"result":{}}', 7) is None


@pytest.mark.parametrize(
    ("call", "may"),
    [
        (None, True),
        (make_call("list", "tools/list"), True),
        (make_call("resource", "resources/read"), True),
        (make_call("prompt", "prompts/get"), True),
        (make_call("method", "vendor/thing"), False),
        (make_call("tool", "tools/call"), False),
        (make_call("tool", "tools/call", tool=Tool(Target("s", "t"), "t", {})), False),
        (
            make_call("tool", "tools/call", tool=Tool(Target("s", "t"), "t", {}, repeatable=True)),
            True,
        ),
    ],
)
def test_only_what_reads_may_be_sent_twice(call: Call | None, may: bool) -> None:
    assert may_repeat(call) is may


@pytest.mark.parametrize(
    ("status", "headers", "reason", "after"),
    [
        (503, {"Retry-After": "7"}, "upstream_unavailable", 7000),
        (429, {}, "upstream_unavailable", 1000),
        (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "upstream_unavailable", 1000),
        (503, {"Retry-After": "999999999"}, "upstream_unavailable", 1000),
        (401, {}, "upstream_error", None),
        (500, {}, "upstream_error", None),
    ],
)
def test_a_refusal_names_its_status(
    status: int, headers: dict[str, str], reason: str, after: int | None
) -> None:
    found = refusal("s", status, headers, None)
    assert isinstance(found, Failure)
    assert (found.reason, found.retry_after_ms) == (reason, after)
    assert str(status) in found.message


def test_the_servers_own_error_goes_before_the_status() -> None:
    assert refusal("s", 400, {}, OTHER) is OTHER


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (b"", []),
        (b"  \n", []),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', [Response]),
        (
            b' [{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":1,"result":{}}]',
            [Notification, Response],
        ),
        (b"[]", [Malformed]),
        (b"<html>", [Malformed]),
    ],
)
def test_a_body_holds_no_message_or_one_or_a_batch(data: bytes, kinds: list[Any]) -> None:
    assert [type(one) for one in messages(data)] == kinds


@pytest.mark.parametrize(
    ("said", "waited"), [(None, 1000), (0, 10), (500, 500), (60_000, 60_000), (10**9 - 1, 300_000)]
)
def test_a_stream_is_asked_for_again_when_its_server_wants_within_bounds(
    said: int | None, waited: int
) -> None:
    assert resume_ms(said) == waited


def test_a_stream_that_ends_at_once_and_brings_nothing_is_asked_for_ever_more_seldom() -> None:
    pauses = Pauses()
    assert [pauses.ended(0) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    pauses.hearing(lambda data: None)(b"x")
    assert [pauses.ended(0), pauses.ended(None), pauses.ended(2000)] == [0.1, 1.0, 2.0]
    assert [pauses.ended(0), pauses.ended(10**9 - 1)] == [1.0, 300.0]


def test_a_stream_that_does_not_come_about_is_asked_for_ever_more_seldom() -> None:
    pauses = Pauses()
    assert [pauses.failed() for _ in range(4)] == [0.2, 0.4, 0.8, 1.6]
    assert [pauses.failed() for _ in range(6)][-1] == 30.0


@pytest.mark.parametrize("said", ["\u00b2", "\u0663", "9" * 5000, "-1", " 3", "1e3", ""])
def test_an_odd_retry_after_is_one_second(said: str) -> None:
    found = refusal("s", 503, {"Retry-After": said}, None)
    assert isinstance(found, Failure)
    assert (found.reason, found.retry_after_ms) == ("upstream_unavailable", 1000)
