"""What HTTP answers mean."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gatewright.call import Call, Failure, Target, Tool
from gatewright.mcp.client.http_rules import (
    answer_in,
    answers,
    error_in,
    is_numbered,
    is_own,
    may_repeat,
    messages,
    names_a_request,
    once_more,
    refusal,
    resume_ms,
    session_is_lost,
    speaks_of_session,
)
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Malformed, Message, Notification, Request, Response
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.transport.http_client import AnswerTooLarge, BadAnswer, ConnectionBroken
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
def test_only_what_reads_may_be_sent_twice(call: Call, may: bool) -> None:
    assert may_repeat(call, call.method) is may


@pytest.mark.parametrize(
    ("method", "may"),
    [
        ("tools/list", True),
        ("ping", True),
        ("logging/setLevel", True),
        ("subscriptions/listen", True),
        ("mgp/callback/respond", False),
        ("mgp/events/subscribe", False),
        ("mgp/lifecycle/shutdown", False),
        ("mgp/permission/request", False),
    ],
)
def test_what_the_gateway_asks_itself_is_sent_twice_only_where_that_changes_nothing(
    method: str, may: bool
) -> None:
    assert may_repeat(None, method) is may


@pytest.mark.parametrize(
    ("problem", "goes"),
    [
        (ConnectionBroken("x"), True),
        (ConnectionBroken("x", not_sent=None), True),
        (ConnectionBroken("x", not_sent=True), False),
        (BadAnswer("x"), False),
        (OSError("x"), False),
    ],
)
def test_what_broke_on_its_way_goes_once_more(problem: Exception, goes: bool) -> None:
    assert once_more(problem) is goes


@pytest.mark.parametrize(
    ("message", "numbered"),
    [
        (Request(b"0", "elicitation/create", b"{}"), True),
        (Notification("notifications/cancelled", b"{}"), True),
        (Notification("notifications/tasks/status", b"{}"), True),
        (Notification(CALLBACK, b"{}"), True),
        (Notification("notifications/progress", b"{}"), False),
        (Notification("notifications/message", b"{}"), False),
        (DONE, False),
    ],
)
def test_what_names_something_by_a_number_of_its_session_is_known_by_its_method(
    message: Message, numbered: bool
) -> None:
    assert is_numbered(message) is numbered


@pytest.mark.parametrize(
    ("status", "headers", "reason", "after"),
    [
        (503, {"Retry-After": "7"}, "upstream_unavailable", 7000),
        (429, {}, "upstream_unavailable", 1000),
        (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "upstream_unavailable", 1000),
        (503, {"Retry-After": "999999999"}, "upstream_unavailable", 1000),
        (401, {}, "upstream_error", None),
        (307, {"Location": "https://elsewhere.example"}, "upstream_error", None),
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
    assert ("redirect" in found.message) == (status == 307)
    assert "elsewhere.example" not in found.message, "callers have no use for it"


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


@pytest.mark.parametrize("said", ["\u00b2", "\u0663", "9" * 5000, "-1", " 3", "1e3", ""])
def test_an_odd_retry_after_is_one_second(said: str) -> None:
    found = refusal("s", 503, {"Retry-After": said}, None)
    assert isinstance(found, Failure)
    assert (found.reason, found.retry_after_ms) == ("upstream_unavailable", 1000)


_EVENT = b'data: {"jsonrpc":"2.0","id":7,"result":{}}\n\n'


@pytest.mark.parametrize(
    "body",
    [
        b"data: x\n\n" * (2**24 // 9),
        b"a\n" * 2**23,
        b"id: 1\r" * 2000 + _EVENT * 500,
        b"<p>" + b"word\n" * (2**24 // 5),
        b'{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"session","data":[%b1]}}'
        % (b"[]," * (2**24 // 3)),
        b" " * 2**24,
    ],
    ids=["events", "lines", "an answer", "a page", "an error", "nothing"],
)
def test_a_refusal_that_is_too_long_to_be_read_may_be_an_answer(body: bytes) -> None:
    """Its events and lines were read at once: for seconds, in which nobody else was served. What it may answer is not made again."""
    began = time.process_time()
    said = answer_in(body, 7)
    assert (said is not None and said.id, error_in(body)) == (b"7", None)
    assert session_is_lost(404, said, True, 7) is False
    assert names_a_request(body) is True
    assert time.process_time() - began < 0.1


def test_an_answer_in_a_short_stream_is_found_and_none_is_in_a_page() -> None:
    assert answer_in(_EVENT * 100, 7) == Response(b"7", b"{}")
    page = b"<!doctype html>\n" + b"<p>word</p>\n" * 50_000
    assert (answer_in(page, 7), names_a_request(page)) == (None, False)


@pytest.mark.parametrize("line", [b"\n", b":\r", b"id\n", b"data\n\n"])
def test_lines_that_hold_no_data_are_not_gone_through(line: bytes) -> None:
    """A mebibyte of them took up to 0.4 s, several times for one refusal."""
    body = b"x" + line * (DECODED_BYTES // len(line) - 1)
    began = time.process_time()
    assert (answer_in(body, 7), names_a_request(body)) == (None, False)
    assert time.process_time() - began < 0.1


def test_a_long_stream_behind_a_byte_order_mark_may_be_an_answer() -> None:
    assert names_a_request(b"\xef\xbb\xbf" + _EVENT + b": word\n" * 5000) is True


@pytest.mark.parametrize(
    ("body", "own"),
    [
        (b"", False),
        (b"<p>" + b"\ndata: x" * 5000, False),
        (b'{"jsonrpc":"2.0","id":7,"result":"' + b"-" * 2**20 + b'"}', False),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no"}}', True),
        (b'{"jsonrpc":"2.0","id":"7","error":{"code":-32603,"message":"no"}}', True),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}', False),
    ],
)
def test_a_refused_request_has_ended_where_its_server_is_known_to_have_answered_it(
    body: bytes, own: bool
) -> None:
    """A long page of a proxy counts as an answer where it must not be made again; here that let a caller go who may be asked for."""
    assert is_own(answer_in(body, 7), 7) is own


@pytest.mark.parametrize("long", ["1e1," * 200_000 + "1", '"' + "m" * 500_000 + '"'])
def test_an_error_of_which_much_is_said_is_read_no_further_than_its_words(long: str) -> None:
    error = b'{"code":-32000,"message":"session","data":[%b]}' % long.encode()
    began = time.process_time()
    assert session_is_lost(400, Response(b"null", error=error), True, 7) is True
    error = b'{"code":-32000,"message":[%b]}' % long.encode()
    assert session_is_lost(400, Response(b"null", error=error), True, 7) is False
    assert time.process_time() - began < 0.05


@pytest.mark.parametrize(
    ("begins", "is_one"),
    [
        (None, True),
        (b'{"jsonrpc":"2.0","id":7,"result":{"content', True),
        (b' { "jsonrpc" : "2.0" , "id" : 7 , "result" : [', True),
        (b'{"result":{"content":[{', True),
        (b'{"jsonrpc":"2.0","id":8,"result":{"content', False),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{', False),
        (b"", False),
    ],
)
def test_of_what_is_too_long_an_event_is_an_answer_where_it_begins_like_one(
    begins: bytes | None, is_one: bool
) -> None:
    problem = AnswerTooLarge("too long")
    problem.begins = begins
    assert answers(problem, 7) is is_one
    assert answers(BadAnswer("no HTTP"), 7) is False
