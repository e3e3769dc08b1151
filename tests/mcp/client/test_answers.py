"""What a server's answer means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Refusal
from gatewright.mcp.client.answers import is_large, read_large, read_reply
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Response


def read(result: bytes, kind: str = "tool", modern: bool = False) -> Any:
    return read_reply(Response(b"1", result), kind, modern)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b'{"content":[]}', False),
        (b'{"content":[],"isError":true}', True),
        (b'{"content":[],"isError":false}', False),
        (b'{"content":[],"isError":"true"}', False),
        (b'{"structuredContent":{"isError":true}}', False),
        (b'{"content":[{"text":"\\"isError\\":true"}]}', False),
        (b'{"isErro\\u0072":true}', True),
        (b'{"isError":false,"isError":true}', True),
    ],
)
def test_only_the_results_own_member_says_that_a_tool_failed(raw: bytes, error: bool) -> None:
    assert read(raw) == Answer(raw, error)


@pytest.mark.parametrize("kind", ["tool", "prompt", "method"])
@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":[]}',
        b'{"content":["\xc3\xbc"],"isError":true}',
        b'{"isErro\\u0072":true}',
        b'{"isError":true',
        b"[1]",
        b'{"content":["\xff"]}',
    ],
)
async def test_a_large_answer_means_the_same(raw: bytes, kind: str) -> None:
    reply = Response(b"1", raw)
    assert await read_large(reply, kind, False) == read_reply(reply, kind, False)


async def test_a_verdict_is_no_large_answer() -> None:
    verdict = Refusal("resource_exhausted", "full")
    assert not is_large(verdict)
    assert await read_large(verdict, "tool", False) is verdict
    assert is_large(Response(b"1", b'{"a":"%b"}' % (b"x" * 300_000)))


def test_a_prompt_may_have_any_member_of_that_name() -> None:
    assert read(b'{"isError":true}', "prompt") == Answer(b'{"isError":true}')


def test_the_era_of_the_answer_is_kept() -> None:
    assert read(b"{}", modern=True) == Answer(b"{}", modern=True)


def test_an_unknown_method_may_answer_anything() -> None:
    assert read(b"[1]", "method") == Answer(b"[1]")


@pytest.mark.parametrize(
    "error",
    [
        *(b'"text"', b"[]", b'{"message":"\xff"}', b"", b"{}", b'{"code":1}', b'{"message":"x"}'),
        *(b'{"code":%b,"message":"x"}' % one for one in (b'"1"', b"1.5", b"1e3", b"true", b"null")),
        *(b'{"code":1,"message":%b}' % one for one in (b"1", b"null", b"{}", b'["x"]')),
        b'{"code":%b,"message":"x"}' % (b"9" * 20),
    ],
)
def test_an_error_that_cannot_be_read_is_named_and_not_passed_on(error: bytes) -> None:
    outcome = read_reply(Response(b"1", error=error), "tool", False)
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.error) == ("upstream_error", None)


def test_verdicts_pass_as_they_are() -> None:
    for verdict in (Refusal("resource_exhausted", "full"), Failure("upstream_timeout")):
        assert read_reply(verdict, "tool", False) is verdict


def test_an_error_that_is_too_long_is_said_to_be() -> None:
    error = json.dumps({"code": 1, "message": "no", "data": "a" * DECODED_BYTES}).encode()
    found = read_reply(Response(b"1", b"", error), "tool", False)
    assert isinstance(found, Failure)
    assert found.error is None
    assert f"at most {DECODED_BYTES}" in found.message
